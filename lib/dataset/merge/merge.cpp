#include "dataset/merge/merge.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/shard_set.hpp"
#include "core/remedies.hpp"
#include "dataset/bucket/output_location.hpp"
#include "dataset/sharding/bad_files.hpp"
#include "dataset/sharding/convert_job.hpp"
#include "dataset/sharding/set_folders.hpp"

namespace shardkit::dataset {
namespace {

struct FoundPart {
  Part part;
  std::string path;
  std::string plan_hash;
};

std::vector<FoundPart> find_parts(const ShardTarget& target) {
  std::vector<FoundPart> parts;
  for (const std::string& name : target.files().names_in(target.state_path(""))) {
    if (const std::optional<Part> part = parse_part_file_name(name)) {
      const std::string path = target.state_path(name);
      parts.push_back({*part, path, formats::read_manifest(io::read_text(target.files(), path), path).plan_hash});
    }
  }
  std::ranges::sort(parts, {}, [](const FoundPart& found) { return found.part.index; });
  return parts;
}

/// Whether all parts of this count exist and are of this plan.
bool is_complete(const std::vector<FoundPart>& parts, std::uint64_t count, const std::string& plan_hash) {
  const auto belongs = [&](const FoundPart& found) {
    return found.part.count == count && found.plan_hash == plan_hash;
  };
  return static_cast<std::uint64_t>(std::ranges::count_if(parts, belongs)) == count;
}

/// The bad files that the part's shards wait for, and what to do; empty if there are none.
std::string waits_for(const ShardTarget& target, const Part& part) {
  std::vector<std::string> files;
  std::string first;
  const auto [begin, end] = shards_of(part, target.plan().shards().size());
  for (std::size_t shard = begin; shard < end; ++shard) {
    const std::string name = target.plan().shard_name(shard);
    for (const BadFile& bad : bad_files_of(target.files(), target.output(), name)) {
      if (bad.state != BadState::open) continue;
      if (files.empty()) first = fmt::format("shard '{}' waits for the bad file '{}' ({})", name, bad.path, bad.reason);
      files.push_back(bad.path);
    }
  }
  if (files.empty()) return {};
  if (files.size() > 1) first += fmt::format(", in all {}", first_of(files, files.size()));
  return first + (files.size() > 1 ? "; correct these files" : "; correct that file") + ", or add --on-bad skip, and ";
}

/// Why a part has not ended, and what to do.
std::string why_missing(const ShardTarget& target, const Part& part) {
  const std::string again = fmt::format("run its command with --part {}", part_text(part));
  if (const std::string bad = waits_for(target, part); !bad.empty())
    return fmt::format("part {} has failed: {}{}", part_text(part), bad, again);
  for (const io::Run& run : target.live_runs()) {
    if (run.part == part_text(part) && run.plan == to_hex(target.plan().hash()))
      return fmt::format("part {} is being written by {}; merge when it has ended", part_text(part), io::describe(run));
  }
  return fmt::format("part {} is missing; {}", part_text(part), again);
}

/// Parts of one count must be there from first to last; then those of others, which are of the same shards, add
/// nothing.
void check_split(const std::vector<FoundPart>& parts, const ShardTarget& target) {
  const std::string plan_hash = to_hex(target.plan().hash());
  const std::string& folder = target.folder();
  std::set<std::uint64_t> counts;
  if (parts.empty()) counts.insert(known_parts(target).value());
  for (const FoundPart& found : parts) counts.insert(found.part.count);
  if (std::ranges::any_of(counts, [&](std::uint64_t count) { return is_complete(parts, count, plan_hash); })) return;
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::conflict, At{folder}, "cannot merge '{}': {}", folder, why);
  };
  if (counts.size() > 1) {
    refuse(fmt::format("it has parts of {}, and none of these divisions is complete; run the other parts of one",
                       fmt::join(counts, " and parts of ")));
  }
  const std::uint64_t count = *counts.begin();
  const std::uint64_t missing = count - parts.size();
  const std::string others = missing < 2 ? ""
                                         : fmt::format(". {} parts of {} are missing: {} lists them", missing, count,
                                                       remedy::in_text(remedy::parts(folder)));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto found = std::ranges::find(parts, i, [](const FoundPart& item) { return item.part.index; });
    if (found == parts.end()) refuse(why_missing(target, {i, count}) + others);
    if (found->plan_hash != plan_hash)
      refuse(fmt::format("part {}/{} belongs to another plan; run it again", i, count));
  }
}

/// The remedy in a folder without parts.
std::string instead_of_merge(const ShardTarget& target) {
  if (!target.files().exists(target.folder())) return "it does not exist";
  if (target.is_plan_open()) {
    const std::string bad = waits_for(target, {0, 1});
    if (!bad.empty()) return fmt::format("no part has finished: {}run its command again", bad);
    return "no part has finished, or the command had no --part; run it again to finish the set";
  }
  if (target.files().exists(target.path_of(formats::kManifestName))) {
    return "its manifest.json already describes the whole set";
  }
  std::string commands;
  for (const std::string& set : sets_below(target.files(), target.folder())) {
    commands += (commands.empty() ? "" : ", ") + remedy::in_text(remedy::merge(set));
  }
  if (!commands.empty()) return fmt::format("merge each of the sets in it: {}", commands);
  const std::vector<std::string> names = target.files().names_in(target.folder());
  const auto is_shard = [](const std::string& name) {
    return !name.starts_with('.') && (name.ends_with(".tar") || catalog::is_compressed_tar_name(name));
  };
  if (std::ranges::any_of(names, is_shard)) {
    return remedy::in_text(remedy::index({target.folder()})) + " writes a manifest for its shards";
  }
  return "run convert or reshard with --part I/N first";
}

[[noreturn]] void refuse_without_parts(const ShardTarget& target) {
  throw Error(ErrorCode::not_found, At{target.folder()}, "'{}' has no parts to merge: {}", target.folder(),
              instead_of_merge(target));
}

void refuse_missing_shard(const OutputSet& set) {
  const auto missing = std::ranges::find_if(set.shards, [](const auto& shard) { return !shard; });
  if (missing == set.shards.end()) return;
  const auto number = static_cast<std::size_t>(missing - set.shards.begin());
  const std::string path = set.path_of(set.plan().shard_name(number));
  throw Error(ErrorCode::not_found, At{path}, "shard '{}' is missing or damaged; run its part again", path);
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

/// The manifest of what the parts have written; they must all be there.
formats::Manifest join_parts(ConvertJob& job, OutputSet& set, const std::vector<FoundPart>& parts) {
  const bool is_finished = set.is_finished();  // the remaining parts are those that an earlier merge could not remove
  if (!is_finished) {
    if (parts.empty() && !known_parts(set)) refuse_without_parts(set);
    check_split(parts, set);
  }
  job.find_finished();
  refuse_missing_shard(set);
  std::vector<formats::IndexSkip> skipped;
  return is_finished ? set.manifest_now() : set.manifest_of(set.shards, skipped);
}

MergeResult merge_set(ConvertJob& job, OutputSet& set, Context& context) {
  if (!set.has_plan()) refuse_without_parts(set);
  const auto make_indexes = [&](const std::string& folder, const std::vector<formats::ManifestShard>& shards) {
    return find_shard_indexes(set.files(), folder, shards, context);
  };
  job.continue_append(set, make_indexes);
  set.follow_plan();
  const std::vector<FoundPart> parts = find_parts(set);
  const std::string path = job.publish(set, join_parts(job, set, parts), make_indexes);
  for (const FoundPart& found : parts) set.files().remove(found.path);
  const formats::Manifest manifest = set.manifest_now();
  return {parts.size(), manifest.shards.size(), manifest.samples, manifest.bytes, manifest.skipped, path};
}

}  // namespace

MergeResult merge(const MergeOptions& options, Context& context) {
  const auto [files, folder] = open_output_location(options.target, options.access, context);
  MergeOptions at_location = options;
  at_location.target = folder;
  return merge_on(*files, at_location, context);
}

MergeResult merge_on(io::OutputFiles& files, const MergeOptions& options, Context& context) {
  WriteOptions whole_set;
  whole_set.recheck = options.recheck;
  while (true) {
    ConvertJob job(options.target, whole_set, {}, files, context);
    OutputSet& set = job.add_set("");
    try {
      return merge_set(job, set, context);
    } catch (const Error&) {
      if (!set.has_append_ended()) throw;  // else another run has joined the same parts
      context.progress().stage = 0;
    }
  }
}

}  // namespace shardkit::dataset
