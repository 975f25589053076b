#include "dataset/planned_shards.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

std::vector<std::size_t> unfinished(const PlannedWork& work, std::size_t begin, std::size_t end, Context& ctx) {
  ctx.progress().start("check");
  std::vector<std::size_t> todo;
  for (std::size_t shard = begin; shard < end; ++shard) {
    ctx.throw_if_stopped();
    if (!work.target.finished(shard, work.recheck)) todo.push_back(shard);
  }
  return todo;
}

void check_room(const std::string& folder, std::uint64_t need) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.available >= need) return;
  throw Error(ErrorCode::no_space,
              fmt::format("'{}' has {} free, the shards need {}; make room or work in parts", folder,
                          format_size(space.available), format_size(need)),
              folder);
}

void write_shards(const PlannedWork& work, const std::vector<std::size_t>& todo, PlannedReport& report,
                  FileSystem& files, Context& ctx) {
  const std::vector<PlanShard>& planned = work.target.plan().shards();
  std::uint64_t bytes = 0;
  for (const std::size_t shard : todo) {
    report.samples_written += planned[shard].samples;
    bytes += planned[shard].bytes;
  }
  check_room(work.target.folder(), bytes);
  ctx.progress().start(work.phase, report.samples_written, bytes);
  const auto start = std::chrono::steady_clock::now();
  const ShardJobSetup setup{work.target.plan(), work.source, work.target.folder(), work.cores, work.kinds.wids};
  report.job = ShardJob(setup, files, ctx).run(todo);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.bytes_written = ctx.progress().bytes;
}

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

PlannedReport write_planned_shards(const PlannedWork& work, FileSystem& files, Context& ctx) {
  const auto [begin, end] = shards_of(work.part.value_or(Part{}), work.target.plan().shards().size());
  const std::vector<std::size_t> todo = unfinished(work, begin, end, ctx);
  PlannedReport report;
  report.shards_written = todo.size();
  report.shards_reused = end - begin - todo.size();
  write_shards(work, todo, report, files, ctx);

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
