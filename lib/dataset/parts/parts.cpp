#include "dataset/parts/parts.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "catalog/set_listing.hpp"
#include "catalog/set_rules.hpp"
#include "core/error.hpp"
#include "core/number_ranges.hpp"
#include "dataset/bucket/output_location.hpp"
#include "dataset/sharding/bad_files.hpp"
#include "dataset/sharding/part.hpp"
#include "dataset/sharding/shard_target.hpp"
#include "formats/manifest.hpp"
#include "io/file.hpp"
#include "io/run_file.hpp"

namespace shardkit::dataset {
namespace {

/// The target or one of its sets, with what it says about parts.
struct Set {
  Set(io::OutputFiles& files, catalog::SeenSet seen)
      : target(files, std::make_shared<const catalog::SeenSet>(std::move(seen))) {}

  ShardTarget target;
  std::map<std::string, io::Run> runs;  ///< live, by part
  bool is_merged = false;
  bool is_unmerged = false;  ///< only the manifest is missing

  bool is_whole() const { return is_merged || is_unmerged; }
};

std::deque<Set> open_sets(const std::string& folder, io::OutputFiles& files, Context& context) {
  catalog::SeenSet seen = catalog::look_at(files, folder);
  catalog::enforce(catalog::SetVerb::parts, seen, context);
  std::deque<Set> sets;
  for (catalog::GroupMember& member : seen.members) sets.emplace_back(files, std::move(member.seen));
  if (sets.empty()) sets.emplace_back(files, std::move(seen));
  for (Set& set : sets) {
    set.target.continue_append();
    const auto* damaged = set.target.seen().as<catalog::Damaged>();
    set.is_unmerged = set.target.seen().as<catalog::Unmerged>() || (damaged && damaged->missing.empty());
    if (!set.target.has_plan()) {
      set.is_merged = set.target.seen().manifest.has_value();
      continue;
    }
    set.target.open_plan();
    set.is_merged = set.target.is_finished();
    for (const io::Run& run : set.target.live_runs()) {
      if (run.plan == to_hex(set.target.plan().hash())) set.runs.emplace(run.part, run);
    }
  }
  return sets;
}

/// How many parts write the target, whose plan is open: as its array tasks recorded it, else as the plan says, else as
/// in the division of which most is there or was begun, also by a run that was killed. Empty if nothing shows it.
std::optional<std::uint64_t> known_parts(const ShardTarget& target) {
  if (const auto division = target.division()) return division->parts;
  if (const auto planned = target.plan().head().parts) return planned;
  std::map<std::uint64_t, std::uint64_t> there;  // parts, by the count of their division
  const auto consider = [&](const std::optional<Part>& part) {
    if (part) ++there[part->count];
  };
  const std::string state = io::join_path(target.folder(), formats::kStateFolder);
  for (const io::Run& run : target.files().is_local() ? io::announced_runs(state) : std::vector<io::Run>()) {
    if (run.plan == to_hex(target.plan().hash())) consider(parse_part_text(run.part));
  }
  for (const std::string& name : target.files().names_in(target.state_path(""))) consider(parse_part_file_name(name));
  const auto share = [](const auto& division) {
    return static_cast<double>(division.second) / static_cast<double>(division.first);
  };
  const auto most = std::ranges::max_element(there, {}, share);
  return most == there.end() ? std::nullopt : std::optional(most->first);
}

/// As array tasks recorded it, else as the plan or parts say, else one part of all. No parts: the set is finished, and
/// has no records of parts.
Division find_division(const std::deque<Set>& sets) {
  for (const Set& set : sets) {
    if (const auto division = set.target.division()) return *division;
  }
  for (const Set& set : sets) {
    const auto count = set.target.is_plan_open() ? known_parts(set.target) : std::nullopt;
    if (count) return {*count, {0, 1, *count - 1}, 1};
  }
  return {std::ranges::all_of(sets, &Set::is_whole) ? 0U : 1U, {0, 1, 0}, 1};
}

/// Whether the part ended and its record can be merged.
bool is_recorded(const Set& set, const Part& part) {
  const std::string path = set.target.state_path(part_file_name(part));
  io::OutputFiles& files = set.target.files();
  if (!files.exists(path)) return false;
  try {
    formats::read_manifest(io::read_text(files, path), path);
    return true;
  } catch (const Error&) {  // damaged: the part writes it again
    return false;
  }
}

/// Adds what the set has of a part; returns whether all of it is there.
bool add_shards(const Set& set, const Part& part, PartRow& row) {
  if (!set.target.is_plan_open()) return set.is_merged;
  const auto [begin, end] = shards_of(part, set.target.plan().shards().size());
  row.shards += end - begin;
  bool is_whole = set.is_merged || (set.is_unmerged && set.runs.empty()) || is_recorded(set, part);
  for (std::size_t shard = begin; shard < end; ++shard) {
    if (set.target.finished(shard, FinishedBy::size)) {
      ++row.shards_done;
      continue;
    }
    is_whole = false;
    const auto bad = bad_files_of(set.target.files(), set.target.output(), set.target.plan().shard_name(shard));
    if (std::ranges::find(bad, BadState::open, &BadFile::state) != bad.end()) row.state = PartState::failed;
  }
  return is_whole;
}

PartRow row_of(const std::deque<Set>& sets, const Part& part, std::uint64_t task) {
  PartRow row{part.index, task};
  bool is_whole = true;
  for (const Set& set : sets) {
    is_whole = add_shards(set, part, row) && is_whole;
    if (const auto run = set.runs.find(part_text(part)); run != set.runs.end()) row.run = io::describe(run->second);
  }
  if (!row.run.empty()) row.state = PartState::in_progress;
  if (is_whole) row.state = PartState::done;
  return row;
}

void count(const PartRow& row, PartsResult& result) {
  constexpr std::array counts{&PartsResult::done, &PartsResult::in_progress, &PartsResult::failed,
                              &PartsResult::missing};  // by PartState
  ++(result.*counts[static_cast<std::size_t>(row.state)]);
  result.shards += row.shards;
  result.shards_done += row.shards_done;
}

}  // namespace

void PartsOptions::describe(FieldList& v) {
  v.field({"TARGET",
           "folder or s3://bucket/prefix that the parts of a convert or reshard write to, or that contains its sets",
           Role::positional},
          target);
  v.field({"missing",
           "print only the ids of array tasks whose parts are missing or failed, such as 3,7-9; nothing if there are "
           "none"},
          missing);
  access.describe(v);
}

void PartRow::describe(FieldList& v) {
  v.field({"part", "number of the part, from 0"}, part);
  v.field({"task", "id of the array task that writes it"}, task);
  v.field({"state",
           "done; in_progress: a live run writes it; failed: bad files keep its shards open; missing: not begun, or "
           "interrupted"},
          state);
  v.field({"shards", Unit::count, "shards of the part, in all sets"}, shards);
  v.field({"shards_done", Unit::count, "finished ones of these"}, shards_done);
  v.field({"run", "the live run; empty without one"}, run);
}

void PartsResult::describe(FieldList& v) {
  v.field({"parts", Unit::count, "parts of the target"}, parts);
  v.field({"done", Unit::count, "parts that have finished"}, done);
  v.field({"in_progress", Unit::count, "parts that a live run writes"}, in_progress);
  v.field({"failed", Unit::count, "parts with shards that bad files keep open"}, failed);
  v.field({"missing", Unit::count, "parts that have not begun or were interrupted"}, missing);
  v.field({"shards", Unit::count, "shards of all parts"}, shards);
  v.field({"shards_done", Unit::count, "finished ones of these"}, shards_done);
  v.field({"merged", "whether all sets have the manifest that `shardctl merge` writes"}, merged);
  v.field({"missing_tasks", "ids of array tasks whose parts are missing or failed, such as 3,7-9"}, missing_tasks);
  v.field({"rows", "one row per part"}, rows);
}

PartsResult parts(const PartsOptions& options, Context& context) {
  const auto [files, folder] = open_output_location(options.target, options.access, context);
  const std::deque<Set> sets = open_sets(folder, *files, context);
  const Division division = find_division(sets);
  PartsResult result;
  result.parts = division.parts;
  result.merged = std::ranges::all_of(sets, &Set::is_merged);
  std::vector<std::uint64_t> tasks;
  context.progress().start("check", division.parts);
  for (std::uint64_t part = 0; part < division.parts; ++part) {
    context.throw_if_stopped();
    const std::uint64_t task = division.id_of(part);
    result.rows.push_back(row_of(sets, {part, division.parts}, task));
    count(result.rows.back(), result);
    const PartState state = result.rows.back().state;
    const bool is_open = state == PartState::missing || state == PartState::failed;
    if (is_open && (tasks.empty() || tasks.back() != task)) tasks.push_back(task);
    ++context.progress().items;
  }
  result.missing_tasks = number_ranges(tasks);
  return result;
}

}  // namespace shardkit::dataset
