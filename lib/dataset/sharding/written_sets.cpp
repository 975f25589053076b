#include "dataset/sharding/written_sets.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit::dataset {
namespace {

std::vector<formats::ShardSummary> finished_shards(const ConvertTarget& target, std::size_t begin, std::size_t end) {
  std::vector<formats::ShardSummary> summaries;
  for (std::size_t shard = begin; shard < end; ++shard) {
    std::optional<formats::ShardSummary> summary = target.finished(shard, false);
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
  const std::vector<formats::PlanShard>& planned = target.plan().shards();
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

PlannedReport write_planned_shards(const PlannedWork& work, const PlannedRest& rest, io::FileSystem& files,
                                   Context& ctx) {
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

  const std::vector<formats::ShardSummary> summaries = finished_shards(work.target, begin, end);
  report.manifest = work.target.manifest_of(summaries);
  report.skipped = work.target.skipped_in(summaries);
  write_foreign_indexes(files, work.target.folder(), report.manifest.shards, work.kinds, !work.part, work.cores, ctx);
  if (work.part) {
    work.target.publish_part(*work.part, report.manifest);
    report.manifest_path = work.target.state_path(part_file_name(*work.part));
  } else {
    work.target.publish_manifest(report.manifest);
    report.manifest_path = work.target.path_of(formats::kManifestName);
  }
  return report;
}

namespace {

constexpr std::size_t kMostListed = 1000;

}  // namespace

void list_skipped(std::vector<SkippedFile>& listed, const std::vector<formats::IndexSkip>& skipped,
                  const std::string& folder) {
  for (const formats::IndexSkip& skip : skipped) {
    if (listed.size() == kMostListed) break;
    listed.push_back({folder + skip.path, skip.reason});
  }
}

void WrittenSets::add(const std::string& name, const PlannedReport& report) {
  const formats::Manifest& manifest = report.manifest;
  sets.push_back(
      {name, manifest.samples, manifest.shards.size(), manifest.bytes, report.manifest_path, manifest.plan_hash});
  samples += manifest.samples;
  shards += manifest.shards.size();
  bytes += manifest.bytes;
  shards_written += report.shards_written;
  shards_reused += report.shards_reused;
  phases_seconds.read += report.job.read_seconds;
  phases_seconds.write += report.job.write_seconds;
  phases_seconds.sync += report.job.sync_seconds;
  samples_written_ += report.samples_written;
  bytes_written_ += report.bytes_written;
  seconds_ += report.seconds;
  const double elapsed = std::max(seconds_, 1e-9);
  files_per_second = static_cast<double>(samples_written_) / elapsed;
  bytes_per_second = static_cast<double>(bytes_written_) / elapsed;
}

void SkippedFile::describe(FieldVisitor& v) {
  v.field({"path", Unit::none, "relative to the source"}, path);
  v.field({"reason", Unit::none, "why it is in no shard"}, reason);
}

void WritePhases::describe(FieldVisitor& v) {
  v.field({"scan", Unit::seconds, "listing the source and making the plan, wall time"}, scan);
  v.field({"read", Unit::seconds, "reading the source, summed over threads"}, read);
  v.field({"write", Unit::seconds, "hashing and writing shards, summed over threads"}, write);
  v.field({"sync", Unit::seconds, "making shards durable, beside the other phases"}, sync);
}

void WrittenSet::describe(FieldVisitor& v) {
  v.field({"name", Unit::none, "of the set, such as train; empty where the target is the only one"}, name);
  v.field({"samples", Unit::count, "in its shards of this part"}, samples);
  v.field({"shards", Unit::count, "of this part, those found finished included"}, shards);
  v.field({"bytes", Unit::bytes, "of those shards"}, bytes);
  v.field({"manifest", Unit::none, "the file that describes the shards"}, manifest);
  v.field({"plan_hash", Unit::none, "of the plan that was followed"}, plan_hash);
}

void WrittenSets::describe(FieldVisitor& v) {
  v.field({"samples", Unit::count, "in the shards of this part"}, samples);
  v.field({"shards", Unit::count, "of this part, those found finished included"}, shards);
  v.field({"bytes", Unit::bytes, "of those shards"}, bytes);
  v.field({"files_per_second", Unit::per_second, "samples written, over the time from the end of the plan"},
          files_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "tar bytes written, over the same time"}, bytes_per_second);
  v.field({"phases_seconds", Unit::seconds, "where the time went"}, phases_seconds);
  v.field({"shards_written", Unit::count, "by this run"}, shards_written);
  v.field({"shards_reused", Unit::count, "found finished"}, shards_reused);
  v.field({"sets", Unit::none, "the target, or each of its sets"}, sets);
}

}  // namespace shardkit::dataset
