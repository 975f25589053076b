#include "dataset/merge/merge.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "dataset/bucket/output_location.hpp"
#include "dataset/sharding/bad_files.hpp"
#include "dataset/sharding/convert_job.hpp"

namespace shardkit::dataset {
namespace {

/// The records of parts.
std::vector<std::string> find_parts(const ShardTarget& target) {
  std::vector<std::string> paths;
  for (const std::string& name : target.files().names_in(target.state_path("")))
    if (parse_part_file_name(name)) paths.push_back(target.state_path(name));
  return paths;
}

/// The bad files that shards of the plan wait for, and what to do; empty if there are none.
std::string waits_for(const OutputSet& set) {
  std::vector<std::string> files;
  std::string first;
  for (std::size_t shard = 0; shard < set.shards.size(); ++shard) {
    if (set.shards[shard]) continue;
    const std::string name = set.plan().shard_name(shard);
    for (const BadFile& bad : bad_files_of(set.files(), set.output(), name)) {
      if (bad.state != BadState::open) continue;
      if (files.empty()) first = fmt::format("shard '{}' waits for the bad file '{}' ({})", name, bad.path, bad.reason);
      files.push_back(bad.path);
    }
  }
  if (files.empty()) return {};
  if (files.size() > 1) first += fmt::format(", in all {}", first_of(files, files.size()));
  return first + (files.size() > 1 ? "; correct these files" : "; correct that file") + ", or add --on-bad skip, and ";
}

/// Throws if a shard is not finished.
void require_shards(const OutputSet& set) {
  const auto missing = std::ranges::find_if(set.shards, [](const auto& shard) { return !shard; });
  if (missing == set.shards.end()) return;
  const auto number = static_cast<std::size_t>(missing - set.shards.begin());
  const std::string path = set.path_of(set.plan().shard_name(number));
  const bool is_writing = set.seen().as<catalog::Writing>() != nullptr;
  const std::string waiting = waits_for(set);
  throw Error(ErrorCode::not_found, At{path}, "{}: {}{}",
              is_writing ? catalog::state_text(set.seen()) : fmt::format("shard '{}' is missing or damaged", path),
              waiting,
              is_writing ? catalog::state_advice(set.seen()) : "run its command again, which writes what is missing");
}

/// A part that has written all its shards may still write indexes for other readers.
void refuse_live_parts(const OutputSet& set) {
  for (const io::Run& run : set.live_runs()) {
    if (run.part.empty() || run.plan != to_hex(set.plan().hash())) continue;
    throw Error(ErrorCode::in_use, At{set.folder()}, "part {} of '{}' is being written by {}; merge when it has ended",
                run.part, set.folder(), io::describe(run));
  }
}

}  // namespace

void MergeOptions::describe(FieldList& v) {
  v.field({"DST", "folder or s3://bucket/prefix that the parts of a convert or reshard wrote to", Role::positional,
           kOutputLocation},
          target);
  v.field({"recheck", "read every shard and compare its checksum"}, recheck);
  access.describe(v);
}

void MergeResult::describe(FieldList& v) {
  v.field({"parts", Unit::count, "parts joined; 0 if they were joined before"}, parts);
  v.field({"shards", Unit::count, "shards in the set"}, shards);
  v.field({"samples", Unit::count, "samples in the set"}, samples);
  v.field({"bytes", Unit::bytes, "bytes of all shards"}, bytes);
  v.field({"skipped", Unit::count, "source files left out"}, skipped);
  v.field({"manifest", "manifest of the set"}, manifest);
}

namespace {

class Merging {
 public:
  Merging(io::OutputFiles& files, const MergeOptions& options, Context& context)
      : files_(files),
        options_(options),
        context_(context),
        job_(options.target, of_whole_set(options), {}, files, context) {}

  const ConvertJob& job() const { return job_; }

  MergeResult run() {
    const auto seen = job_.look("", catalog::SetVerb::merge);
    if (seen->as<catalog::Group>()) return merge_each(*seen);
    if (seen->as<catalog::Complete>() && !seen->has_leftovers && !seen->is_live) return result_of(*seen->manifest);
    const auto find_indexes = [&](const std::string& folder, const std::vector<formats::ManifestShard>& shards) {
      return find_shard_indexes(files_, folder, shards, context_);
    };
    if (seen->plans.empty())
      throw Error(ErrorCode::not_found, At{seen->folder}, "{}: {}", catalog::state_text(*seen),
                  catalog::state_advice(*seen));
    const bool adds = seen->as<catalog::Appending>() || seen->as<catalog::Appended>();
    OutputSet& set = job_.add_set("", seen, adds ? Plans::last : Plans::all);
    if (adds && !job_.continue_append(set, find_indexes)) throw TargetChanged();
    if (!set.is_plan_open()) set.open_plan();
    job_.find_finished();
    std::ranges::for_each(job_.sets(), require_shards);
    set.follow_plan();
    const std::vector<std::string> parts = find_parts(set);
    const bool is_finished = set.is_finished();
    if (!is_finished) refuse_live_parts(set);
    if (!is_finished || !parts.empty()) {  // parts beside a manifest are those that an earlier merge could not remove
      std::vector<formats::IndexSkip> skipped;
      job_.publish(set, is_finished ? set.manifest_now() : job_.manifest_of(set, skipped), find_indexes);
    }
    for (const std::string& part : parts) files_.remove(part);
    return result_of(set.manifest_now(), parts.size());
  }

 private:
  static WriteOptions of_whole_set(const MergeOptions& options) {
    WriteOptions whole_set;
    whole_set.recheck = options.recheck;
    return whole_set;
  }

  MergeResult result_of(const formats::Manifest& manifest, std::uint64_t parts = 0) const {
    return {parts,          manifest.shards.size(), manifest.samples,
            manifest.bytes, manifest.skipped,       io::join_path(options_.target, formats::kManifestName)};
  }

  MergeResult merge_each(const catalog::SeenSet& group) {
    MergeResult all;
    for (const catalog::GroupMember& member : group.members) {
      MergeOptions one = options_;
      one.target = member.seen.folder;
      MergeResult result = merge_on(files_, one, context_);
      all.parts += result.parts;
      all.shards += result.shards;
      all.samples += result.samples;
      all.bytes += result.bytes;
      all.skipped += result.skipped;
      all.manifest = std::move(result.manifest);
    }
    return all;
  }

  io::OutputFiles& files_;
  const MergeOptions& options_;
  Context& context_;
  ConvertJob job_;
};

}  // namespace

MergeResult merge(const MergeOptions& options, Context& context) {
  const auto [files, folder] = open_output_location(options.target, options.access, context);
  MergeOptions at_location = options;
  at_location.target = folder;
  return merge_on(*files, at_location, context);
}

MergeResult merge_on(io::OutputFiles& files, const MergeOptions& options, Context& context) {
  return run_on_targets([&] { return Merging(files, options, context); }, context);
}

}  // namespace shardkit::dataset
