#include "dataset/sharding/planned_shards.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

std::vector<ShardSummary> finished_shards(const ConvertTarget& target, std::size_t begin, std::size_t end) {
  std::vector<ShardSummary> summaries;
  for (std::size_t shard = begin; shard < end; ++shard) {
    std::optional<ShardSummary> summary = target.finished(shard, false);
    if (!summary) {
      throw Error(ErrorCode::io,
                  fmt::format("shard '{}' in '{}' is gone or changed right after it was written; does another program "
                              "write there? Run the same command again",
                              target.plan().shard_name(shard), target.folder()),
                  target.folder());
    }
    summaries.push_back(std::move(*summary));
  }
  return summaries;
}

}  // namespace

PlannedRest still_to_write(const ConvertTarget& target, const std::optional<Part>& part, bool recheck, Context& ctx) {
  const std::vector<PlanShard>& planned = target.plan().shards();
  const auto [begin, end] = shards_of(part.value_or(Part{}), planned.size());
  ctx.progress().start("check");
  PlannedRest rest;
  for (std::size_t shard = begin; shard < end; ++shard) {
    ctx.throw_if_stopped();
    if (target.finished(shard, recheck)) continue;
    rest.shards.push_back(shard);
    rest.samples += planned[shard].samples;
    rest.bytes += planned[shard].bytes;
  }
  return rest;
}

void check_room(const std::string& folder, std::uint64_t bytes, const std::string& beside) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.available >= bytes) return;
  throw Error(ErrorCode::no_space,
              fmt::format("'{}' has {} free, the shards need {}{}; make room or work in parts", folder,
                          format_size(space.available), format_size(bytes), beside),
              folder);
}

PlannedReport write_planned_shards(const PlannedWork& work, const PlannedRest& rest, FileSystem& files, Context& ctx) {
  const auto [begin, end] = shards_of(work.part.value_or(Part{}), work.target.plan().shards().size());
  PlannedReport report;
  report.shards_written = rest.shards.size();
  report.shards_reused = end - begin - rest.shards.size();
  report.samples_written = rest.samples;
  ctx.progress().start(work.phase, rest.samples, rest.bytes);
  const auto start = std::chrono::steady_clock::now();
  const ShardJobSetup setup{work.target.plan(), work.source, work.target.folder(), work.cores, work.kinds.wids};
  report.job = ShardJob(setup, files, ctx).run(rest.shards);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.bytes_written = ctx.progress().bytes;

  const std::vector<ShardSummary> summaries = finished_shards(work.target, begin, end);
  report.manifest = work.target.manifest_of(summaries);
  report.skipped = work.target.skipped_in(summaries);
  write_foreign_indexes(files, work.target.folder(), report.manifest.shards, work.kinds, !work.part, work.cores, ctx);
  if (work.part) {
    work.target.publish_part(*work.part, report.manifest);
    report.manifest_path = work.target.state_path(part_file_name(*work.part));
  } else {
    work.target.publish_manifest(report.manifest);
    report.manifest_path = work.target.path_of(kManifestName);
  }
  return report;
}

}  // namespace shardkit
