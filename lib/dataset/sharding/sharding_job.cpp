#include "dataset/sharding/sharding_job.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::size_t kMostListed = 1000;

/// Where the scheduler knows a number but not how many there are, the plan may.
std::optional<Part> choose_part(const WriteOptions& options, std::optional<std::uint64_t> planned) {
  if (!options.in_parts()) return std::nullopt;
  const bool automatic = options.part.empty() || options.part == "auto";
  const std::optional<std::uint64_t> parts = options.parts || !automatic ? options.parts : planned;
  return parse_part(automatic ? "auto" : options.part, parts, system::process_environment());
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

}  // namespace

ShardingJob::ShardingJob(const char* verb, std::string target, const WriteOptions& options,
                         std::optional<std::uint64_t> parts, io::FileSystem& files, Context& ctx)
    : verb_(verb),
      target_(std::move(target)),
      kinds_(parse_index_kinds(options.index)),
      part_(choose_part(options, parts)),
      recheck_(options.recheck),
      cores_(system::thread_count(options.threads)),
      files_(files),
      ctx_(ctx),
      start_(std::chrono::steady_clock::now()) {}

TargetSet& ShardingJob::add_set(const std::string& name) {
  if (name.empty()) return sets_.emplace_back(files_, name, target_);
  const ShardTarget whole(files_, target_);
  if (std::filesystem::exists(whole.path_of(formats::kManifestName)) || whole.has_plan()) {
    throw Error(ErrorCode::conflict,
                fmt::format("'{}' is the folder of one set of shards; choose another for several sets", target_),
                target_);
  }
  return sets_.emplace_back(files_, name, io::join_path(target_, name));
}

void ShardingJob::resume(WrittenSets& result, const std::string& beside) {
  result.phases_seconds.scan = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::uint64_t bytes = 0;
  for (TargetSet& set : sets_) {
    const std::vector<formats::PlanShard>& planned = set.target.plan().shards();
    const auto [begin, end] = shards_of(part_.value_or(Part{}), planned.size());
    ctx_.progress().start("check");
    for (std::size_t shard = begin; shard < end; ++shard) {
      ctx_.throw_if_stopped();
      if (!set.shards.emplace_back(set.target.finished(shard, recheck_))) bytes += planned[shard].bytes;
    }
  }
  check_room(target_, bytes, beside);
}

/// Fills in the summaries that the set lacks.
ShardsWritten ShardingJob::write_shards_of(TargetSet& set, SampleSource& source, WrittenSets& result) {
  const std::vector<formats::PlanShard>& planned = set.target.plan().shards();
  const std::size_t begin = shards_of(part_.value_or(Part{}), planned.size()).first;
  std::vector<std::size_t> missing;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  // less when samples are left out
  for (std::size_t i = 0; i < set.shards.size(); ++i) {
    if (set.shards[i]) continue;
    missing.push_back(begin + i);
    samples += planned[begin + i].samples;
    bytes += planned[begin + i].bytes;
  }
  ctx_.progress().start(verb_, samples, bytes);
  const auto start = std::chrono::steady_clock::now();
  ShardsWritten written =
      write_shards({set.target.plan(), source, set.target.folder(), cores_, need_md5(kinds_)}, missing, files_, ctx_);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  samples_written_ += samples;
  bytes_written_ += ctx_.progress().bytes;
  for (std::size_t i = 0; i < missing.size(); ++i) set.shards[missing[i] - begin] = std::move(written.summaries[i]);
  result.shards_written += missing.size();
  result.shards_reused += set.shards.size() - missing.size();
  return written;
}

std::vector<formats::IndexSkip> ShardingJob::write(TargetSet& set, SampleSource& source, WrittenSets& result) {
  const ShardsWritten written = write_shards_of(set, source, result);
  std::vector<formats::ShardSummary> summaries;
  for (std::optional<formats::ShardSummary>& shard : set.shards) summaries.push_back(std::move(*shard));
  std::vector<formats::IndexSkip> skipped = set.target.skipped_in(summaries);
  const formats::Manifest manifest = set.target.manifest_of(summaries, skipped);
  write_reader_indexes(files_, set.target.folder(), manifest.shards, kinds_, !part_, cores_, ctx_);
  const std::string path = part_ ? set.target.publish_part(*part_, manifest) : set.target.publish_manifest(manifest);

  result.sets.push_back({set.name, manifest.samples, manifest.shards.size(), manifest.bytes, path, manifest.plan_hash});
  result.samples += manifest.samples;
  result.shards += manifest.shards.size();
  result.bytes += manifest.bytes;
  result.phases_seconds.read += written.read_seconds;
  result.phases_seconds.write += written.write_seconds;
  result.phases_seconds.sync += written.sync_seconds;
  result.reads_in_flight = std::max<std::uint64_t>(result.reads_in_flight, written.in_flight);
  const double elapsed = std::max(seconds_, 1e-9);
  result.files_per_second = static_cast<double>(samples_written_) / elapsed;
  result.bytes_per_second = static_cast<double>(bytes_written_) / elapsed;
  return skipped;
}

void list_skipped(std::vector<SkippedFile>& listed, const std::vector<formats::IndexSkip>& skipped,
                  const std::string& folder) {
  for (const formats::IndexSkip& skip : skipped) {
    if (listed.size() == kMostListed) break;
    listed.push_back({folder + skip.path, skip.reason});
  }
}

void SkippedFile::describe(FieldVisitor& v) {
  v.field({"path", "relative to the source"}, path);
  v.field({"reason", "why it is in no shard"}, reason);
}

void WritePhases::describe(FieldVisitor& v) {
  v.field({"scan", Unit::seconds, "listing the source and making the plan, wall time"}, scan);
  v.field({"read", Unit::seconds, "reading the source, summed over threads"}, read);
  v.field({"write", Unit::seconds, "hashing and writing shards, summed over threads"}, write);
  v.field({"sync", Unit::seconds, "making shards durable, beside the other phases"}, sync);
}

void WrittenSet::describe(FieldVisitor& v) {
  v.field({"name", "of the set, such as train; empty where the target is the only one"}, name);
  v.field({"samples", Unit::count, "in its shards of this part"}, samples);
  v.field({"shards", Unit::count, "of this part, those found finished included"}, shards);
  v.field({"bytes", Unit::bytes, "of those shards"}, bytes);
  v.field({"manifest", "the file that describes the shards"}, manifest);
  v.field({"plan_hash", "of the plan that was followed"}, plan_hash);
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
  v.field({"sets", "the target, or each of its sets"}, sets);
}

}  // namespace shardkit::dataset
