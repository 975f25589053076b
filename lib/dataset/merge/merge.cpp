#include "dataset/merge/merge.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "dataset/sharding/sharding_job.hpp"

namespace shardkit::dataset {
namespace {

struct FoundPart {
  Part part;
  std::string path;
  formats::Manifest manifest;
};

std::vector<FoundPart> find_parts(const ShardTarget& target) {
  std::vector<FoundPart> parts;
  for (const auto& entry : std::filesystem::directory_iterator(target.state_path(""))) {
    const std::string name = entry.path().filename();
    if (const std::optional<Part> part = parse_part_file_name(name)) {
      const std::string path = target.state_path(name);
      parts.push_back({*part, path, formats::read_manifest(io::read_text_file(path), path)});
    }
  }
  std::ranges::sort(parts, {}, [](const FoundPart& found) { return found.part.index; });
  return parts;
}

/// Parts of one split must be there from first to last.
void check_split(const std::vector<FoundPart>& parts, const std::string& plan_hash, const std::string& folder) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::conflict, fmt::format("cannot merge '{}': {}", folder, why), folder);
  };
  const std::uint64_t count = parts.front().part.count;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i].part;
    if (part.count != count) {
      refuse(fmt::format("it has parts of {} and parts of {}, which overlap; remove those of one split", count,
                         part.count));
    }
    if (part.index != i) refuse(fmt::format("part {}/{} is missing; run it", i, count));
    if (parts[i].manifest.plan_hash != plan_hash) {
      refuse(fmt::format("part {}/{} is of another plan; run it again", part.index, count));
    }
  }
  if (parts.size() != count) refuse(fmt::format("part {}/{} is missing; run it", parts.size(), count));
}

/// Whether the manifest of this plan is there already.
bool is_merged(const ShardTarget& target) {
  const std::string path = target.path_of(formats::kManifestName);
  return std::filesystem::exists(path) &&
         formats::read_manifest(io::read_text_file(path), path).plan_hash == to_hex(target.plan().hash());
}

void refuse_without_plan(const ShardTarget& target) {
  if (target.has_plan()) return;
  throw Error(
      ErrorCode::not_found,
      fmt::format("'{}' has no .shardkit/plan, so that no convert or reshard wrote parts there; of a split merge "
                  "each of its folders",
                  target.folder()),
      target.folder());
}

void refuse_missing_shard(const TargetSet& set) {
  const auto missing = std::ranges::find_if(set.shards, [](const auto& shard) { return !shard; });
  if (missing == set.shards.end()) return;
  const auto number = static_cast<std::size_t>(missing - set.shards.begin());
  const std::string path = set.target.path_of(set.target.plan().shard_name(number));
  throw Error(ErrorCode::not_found, fmt::format("shard '{}' is missing or damaged; run its part again", path), path);
}

}  // namespace

void MergeOptions::describe(FieldVisitor& v) {
  v.field({"DST", "folder that the parts of a convert or reshard wrote to", Role::positional, kOutputFolder}, target);
  v.field({"recheck", "read every shard and compare its checksum"}, recheck);
}

void MergeResult::describe(FieldVisitor& v) {
  v.field({"parts", Unit::count, "that were joined; 0 when that had been done before"}, parts);
  v.field({"shards", Unit::count, "in the set"}, shards);
  v.field({"samples", Unit::count, "in the set"}, samples);
  v.field({"bytes", Unit::bytes, "of all shards"}, bytes);
  v.field({"skipped", Unit::count, "source files left out"}, skipped);
  v.field({"manifest", "the file that describes the set"}, manifest);
}

MergeResult merge(const MergeOptions& options, Context& ctx) {
  const auto files = io::posix_file_system();
  WriteOptions whole_set;
  whole_set.recheck = options.recheck;
  ShardingJob job("merge", options.target, whole_set, {}, *files, ctx);
  TargetSet& set = job.add_set("");
  refuse_without_plan(set.target);
  set.target.open_plan();
  const std::vector<FoundPart> parts = find_parts(set.target);
  if (is_merged(set.target)) {
    // The parts that are left are those that an earlier merge had not removed yet when it ended.
  } else if (!parts.empty()) {
    check_split(parts, to_hex(set.target.plan().hash()), options.target);
  } else {
    throw Error(ErrorCode::not_found,
                fmt::format("'{}' has no parts to merge; run convert or reshard with --part I/N first", options.target),
                options.target);
  }
  job.find_finished();
  refuse_missing_shard(set);
  std::vector<formats::IndexSkip> skipped;
  const formats::Manifest manifest = set.target.manifest_of(set.shards, skipped);
  merge_reader_indexes(*files, options.target, manifest.shards, ctx);
  const std::string path = job.publish(set, manifest);
  for (const FoundPart& found : parts) files->remove(found.path);
  return {parts.size(), manifest.shards.size(), manifest.samples, manifest.bytes, manifest.skipped, path};
}

}  // namespace shardkit::dataset
