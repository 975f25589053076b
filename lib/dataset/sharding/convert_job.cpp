#include "dataset/sharding/convert_job.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

#include "catalog/set_listing.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"
#include "system/storage.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::size_t kMostListed = 1000;
constexpr unsigned kLookUps = 16;  // in a bucket, at a time

/// If the scheduler gives a number but not the count, the plan may have it.
std::optional<PartClaim> claim_part(const WriteOptions& options, std::optional<std::uint64_t> planned) {
  if (!options.in_parts()) return std::nullopt;
  const bool automatic = options.part.empty() || options.part == "auto";
  if (automatic && options.parts && planned && *options.parts != *planned) {
    throw usage_error("--plan has {}, but --parts asks for {}; leave out --parts", format_count(*planned, "part"),
                      *options.parts);
  }
  const std::optional<std::uint64_t> parts = options.parts || !automatic ? options.parts : planned;
  return parse_part(automatic ? "auto" : options.part, parts, system::process_environment());
}

/// The free space at `folder`; empty for a bucket. Throws Error{no_space} if it is less than `bytes` of shards in
/// addition to unpacked inputs.
std::optional<std::uint64_t> require_space(const io::OutputFiles& files, const std::string& folder, std::uint64_t bytes,
                                           std::uint64_t unpacked, bool dry_run) {
  if (!files.is_local()) return std::nullopt;
  const std::uint64_t free = system::free_bytes(folder);
  const std::uint64_t left = dry_run ? free - std::min(free, unpacked) : free;  // without it they lie there already
  if (bytes <= left) return free;
  const std::string beside =
      unpacked == 0 ? std::string()
                    : fmt::format(" in addition to the {} of unpacked inputs that stay there until the end",
                                  format_size(unpacked));
  throw Error(ErrorCode::no_space, At{folder},
              "'{}' has {} free, but the shards need {}{}; free space or work in parts", folder, format_size(free),
              format_size(bytes), beside);
}

/// Those that are asked for, and those that the set of an --append has already.
IndexKinds kinds_of_set(io::OutputFiles& files, const IndexKinds& asked, const OutputSet& set) {
  if (!set.added()) return asked;
  IndexKinds kinds;  // both in the order of all kinds, which lie in one array
  std::ranges::set_union(asked, index_kinds_of(files, set.folder(), set.added()->manifest_of_set().shards),
                         std::back_inserter(kinds));
  return kinds;
}

}  // namespace

ConvertJob::ConvertJob(std::string target, const WriteOptions& options, std::optional<std::uint64_t> parts,
                       io::OutputFiles& files, Context& context)
    : target_(std::move(target)),
      kinds_(parse_index_kinds(options.index)),
      recheck_(options.recheck),
      dry_run_(options.dry_run),
      cores_(system::thread_count(options.threads)),
      files_(files),
      context_(context),
      start_(std::chrono::steady_clock::now()) {
  const std::optional<PartClaim> claim = claim_part(options, parts);
  if (!claim) return;
  if (const Part* part = std::get_if<Part>(&*claim)) {
    part_ = *part;
  } else {
    task_ = std::get<ArrayTask>(*claim);
  }
}

std::shared_ptr<const catalog::SeenSet> ConvertJob::look(const std::string& name, catalog::SetVerb verb) {
  std::optional<catalog::SeenSet> seen;
  if (!name.empty() && !group_) {
    group_ = catalog::look_at(files_, target_);
    const auto* group = group_->as<catalog::Group>();
    const bool may_have_sets =
        group != nullptr ? !group->is_staged : group_->as<catalog::Empty>() || group_->as<catalog::Files>();
    if (!may_have_sets) {
      throw Error(ErrorCode::conflict, At{target_}, "{}; choose another folder for several sets",
                  catalog::state_text(*group_));
    }
  }
  if (!name.empty()) {
    for (catalog::GroupMember& member : group_->members)
      if (member.name == name) seen = std::move(member.seen);
  }
  const std::string folder = name.empty() ? target_ : io::join_path(target_, name);
  if (files_.size_of(folder)) throw Error(ErrorCode::conflict, At{folder}, "'{}' is not a folder", folder);
  if (!seen) seen = catalog::look_at(files_, folder);
  catalog::enforce(verb, *seen, context_);
  if (seen->as<catalog::Files>()) refuse_other_indexes(folder);
  return std::make_shared<const catalog::SeenSet>(*std::move(seen));
}

/// Indexes of other readers that others wrote, beside files of another kind.
void ConvertJob::refuse_other_indexes(const std::string& folder) const {
  for (const formats::IndexKind* kind : kinds_) {
    for (const std::string& name : kind->set_files) {
      const std::string path = io::join_path(folder, name);
      if (!files_.exists(path)) continue;
      throw Error(ErrorCode::conflict, At{path},
                  "'{}' is a file of others, and --index needs its name: choose another folder", path);
    }
  }
}

OutputSet& ConvertJob::add_set(const std::string& name, std::shared_ptr<const catalog::SeenSet> seen, Plans plans) {
  for (std::uint64_t plan = 0; plans == Plans::all && plan + 1 < seen->plans.size(); ++plan)
    sets_.emplace_back(name, false, files_, seen, dry_run_, plan).open_plan();
  return sets_.emplace_back(name, true, files_, std::move(seen), dry_run_);
}

bool ConvertJob::continue_append(OutputSet& set, const MakeIndexes& make_indexes) {
  if (dry_run_ || !set.continue_append()) return false;
  const auto* appended = set.seen().as<catalog::Appended>();
  if (appended == nullptr || !appended->is_joined) return true;
  set.follow_plan();
  end_append(set, make_indexes);
  return true;
}

bool ConvertJob::has_append_ended() const {
  return std::ranges::any_of(sets_, [](const OutputSet& set) { return set.has_append_ended(); });
}

void ConvertJob::begin_append(OutputSet& set, bool discard) {
  continue_append(set, indexes_of(set));
  set.begin_append(discard);
}

void ConvertJob::prepare(OutputSet& set) {
  require_part();
  set.prepare();
  // Before there is a plan, so that nobody finds a plan of parts whose division is not known.
  if (part_) set.announce_part(*part_);
}

void ConvertJob::require_part() {
  if (!task_) return;
  const ArrayTask task = with_planned_parts(*task_);
  const auto is_recorded = [](const OutputSet& set) { return set.is_last && set.division(); };
  if (std::ranges::none_of(sets_, is_recorded)) division_of(task);
}

/// The task with the number of parts that a plan in the target has.
ArrayTask ConvertJob::with_planned_parts(ArrayTask task) {
  for (OutputSet& set : sets_) {
    if (!set.is_plan_open() && set.has_plan()) set.open_plan();
    if (!set.is_last || !set.is_plan_open()) continue;
    const std::optional<std::uint64_t> planned = set.plan().head().parts;
    if (planned && task.parts && *planned != *task.parts) {
      throw usage_error("the plan of '{}' has {}, but --parts asks for {}; leave out --parts", set.folder(),
                        format_count(*planned, "part"), *task.parts);
    }
    if (planned) task.parts = planned;
  }
  return task;
}

void ConvertJob::settle_part() {
  if (task_) part_ = part_of_task(with_planned_parts(*task_));
  if (!part_) return;
  for (OutputSet& set : sets_) set.announce_part(*part_);
}

/// One division for all sets: the first that is recorded, or what this task knows.
Part ConvertJob::part_of_task(const ArrayTask& task) {
  std::optional<Division> recorded;
  for (const OutputSet& set : sets_) {
    if (!recorded && set.is_last) recorded = set.division();
  }
  const Division division = recorded ? *recorded : division_of(task);
  const Part part = part_of(task, division, target_);
  for (OutputSet& set : sets_) {
    if (set.is_last && !(set.record_division(division) == division)) {
      throw Error(ErrorCode::conflict, At{set.folder()},
                  "another array job divides '{}' into other parts than this one; use --part I/N", set.folder());
    }
  }
  return part;
}

bool ConvertJob::lacks_shards(const OutputSet& set) const {
  if (!set.seen().manifest || set.added() || !set.is_plan_open()) return false;
  for (std::size_t shard = 0; shard < set.plan().shards().size(); ++shard)
    if (!set.finished(shard, check())) return true;
  return false;
}

std::uint64_t ConvertJob::find_finished() {
  std::uint64_t bytes = 0;
  context_.progress().next_stage();
  for (OutputSet& set : sets_) {
    const std::vector<formats::PlanShard>& planned = set.plan().shards();
    const auto [begin, end] = shards_of(part_.value_or(Part{}), planned.size());
    context_.progress().start("check", end - begin);
    set.shards.resize(end - begin);
    sync::for_each_index(end - begin, files_.is_local() ? cores_ : kLookUps, context_.stop_token(),
                         [&](std::size_t i, std::size_t) {
                           set.shards[i] = set.finished(begin + i, check());
                           ++context_.progress().items;
                         });
    for (std::size_t i = 0; i < set.shards.size(); ++i) bytes += set.shards[i] ? 0 : planned[begin + i].bytes;
  }
  return bytes;
}

void ConvertJob::resume(WrittenSets& result, std::uint64_t unpacked) {
  result.phases_seconds.scan = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const std::uint64_t missing = find_finished();
  std::size_t kept = 0;
  std::size_t all = 0;
  for (const OutputSet& set : sets_) {
    for (const auto& shard : set.shards) kept += shard ? 1 : 0;
    all += set.shards.size();
  }
  if (kept > 0) result.resumed = fmt::format("{} of {} kept", kept, format_count(all, "shard"));
  if (dry_run_ && files_.is_local()) system::require_writable(target_);
  const std::optional<std::uint64_t> free = require_space(files_, target_, missing, unpacked, dry_run_);
  if (!dry_run_) return;
  const std::size_t shards = all - kept;
  std::size_t files = 2 * shards + sets_.size();  // an index for each shard, a manifest for each set
  for (const formats::IndexKind* kind : kinds_)
    files += (kind->shard_file == nullptr ? 0 : shards) + kind->set_files.size() * sets_.size();
  result.dry_run = DryRun{files, shards, missing, free};
}

void ConvertJob::reopen(OutputSet& set, const std::vector<std::size_t>& shards) {
  const auto [begin, end] = shards_of(part_.value_or(Part{}), set.plan().shards().size());
  for (const std::size_t shard : shards) {
    if (shard >= begin && shard < end) set.reopen(shard);
  }
}

std::uint64_t ConvertJob::planned_samples(const OutputSet& set) const {
  const std::vector<formats::PlanShard>& planned = set.plan().shards();
  const auto [begin, end] = shards_of(part_.value_or(Part{}), planned.size());
  std::uint64_t samples = 0;
  for (std::size_t shard = begin; shard < end; ++shard) samples += planned[shard].samples;
  return samples;
}

/// Fills in the summaries that the set lacks.
WriteResult ConvertJob::write_shards_of(OutputSet& set, SampleSource& source, bool md5, WrittenSets& result,
                                        std::uint64_t may_skip) {
  const std::vector<formats::PlanShard>& planned = set.plan().shards();
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
  // Resized images have fewer bytes than planned, so progress counts only samples.
  context_.progress().next_stage();
  const bool resizes = set.plan().head().options.contains("resize");
  context_.progress().start("write", samples, resizes ? 0 : bytes, "samples");
  const auto start = std::chrono::steady_clock::now();
  WriteResult written = write_shards({set.plan(), source, set.output(), cores_, md5, may_skip, [&] { require_runs(); }},
                                     missing, files_, context_);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  samples_written_ += samples;
  bytes_written_ += context_.progress().bytes;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (written.summaries[i]) ++result.shards_written;
    set.shards[missing[i] - begin] = std::move(written.summaries[i]);
  }
  result.shards_reused += set.shards.size() - missing.size();
  return written;
}

SetOutcome ConvertJob::write(OutputSet& set, SampleSource& source, WrittenSets& result, const SkipBudget& budget) {
  const bool md5 = need_md5(kinds_of_set(files_, kinds_, set));
  WriteResult written = write_shards_of(set, source, md5, result, budget.is_spent() ? 0 : budget.most - budget.used);
  SetOutcome outcome{{}, std::move(written.bad)};
  const auto is_unfinished = [&](const OutputSet& other) { return other.name == set.name && !other.has_all_shards(); };
  if (!set.is_last || budget.is_spent() || std::ranges::any_of(sets_, is_unfinished)) return outcome;
  const formats::Manifest manifest = manifest_of(set, outcome.skipped);
  const std::string path = publish(set, manifest, indexes_of(set));

  result.sets.push_back({set.name, manifest.samples, manifest.shards.size(), manifest.bytes, path, manifest.plan_hash});
  result.samples += manifest.samples;
  result.shards += manifest.shards.size();
  result.bytes += manifest.bytes;
  result.phases_seconds.read += written.seconds.read;
  result.phases_seconds.write += written.seconds.write;
  result.phases_seconds.sync += written.seconds.sync;
  result.reads_in_flight = std::max<std::uint64_t>(result.reads_in_flight, written.in_flight);
  const double elapsed = std::max(seconds_, 1e-9);
  result.files_per_second = static_cast<double>(samples_written_) / elapsed;
  result.bytes_per_second = static_cast<double>(bytes_written_) / elapsed;
  return outcome;
}

formats::Manifest ConvertJob::manifest_of(const OutputSet& set, std::vector<formats::IndexSkip>& skipped) const {
  std::optional<formats::Manifest> whole;
  for (const OutputSet& plan : sets_) {
    if (plan.name != set.name) continue;
    formats::Manifest manifest = plan.manifest_of(plan.shards, skipped);
    whole = whole ? add_generation(*std::move(whole), manifest, plan.plan().head()) : std::move(manifest);
  }
  return *std::move(whole);
}

/// Others may have taken a target over.
void ConvertJob::require_runs() const {
  for (const OutputSet& set : sets_) set.require_run();
}

/// Before a manifest.
void ConvertJob::require_current(const OutputSet& set) const {
  require_runs();
  set.refuse_superseded();
}

/// A manifest makes a set of what is there: in a bucket, others may have changed that.
void ConvertJob::require_files(const OutputSet& set, const formats::Manifest& manifest) {
  if (files_.is_local()) return;
  files_.refresh();
  for (const formats::ManifestShard& shard : manifest.shards) {
    const std::string path = set.path_of(shard.name);
    if (files_.size_of(path) == shard.bytes && files_.exists(set.path_of(formats::shard_index_path(shard.name))))
      continue;
    throw Error(ErrorCode::conflict, At{path},
                "'{}' or its index was changed or removed while the set was written, so its manifest is not written; "
                "run the same command again",
                path);
  }
}

MakeIndexes ConvertJob::indexes_of(const OutputSet& set) const {
  return [this, &set](const std::string& folder, const std::vector<formats::ManifestShard>& shards) {
    return write_shard_indexes(files_, folder, shards, kinds_of_set(files_, kinds_, set), cores_, context_);
  };
}

std::string ConvertJob::publish(OutputSet& set, const formats::Manifest& manifest, const MakeIndexes& make_indexes) {
  if (part_ || !set.added()) {  // those of what an --append adds are made when it is in the set
    SetIndexes indexes = make_indexes(set.output(), manifest.shards);
    if (!part_) publish_set_indexes(files_, set.folder(), std::move(indexes), context_);
  }
  require_current(set);
  require_files(set, manifest);
  if (part_) {
    const std::string path = set.state_path(part_file_name(*part_));
    formats::Manifest of_part = manifest;
    of_part.classes.clear();  // the plan has them once for all parts
    io::publish(files_, path, as_bytes(formats::write_manifest(of_part)));
    return path;
  }
  if (set.seen().as<catalog::Damaged>()) files_.give_up(set.path_of(formats::kManifestName));
  const std::string path = publish_manifest(files_, set.output(), manifest);
  return set.added() ? end_append(set, make_indexes) : path;
}

std::string ConvertJob::publish(OutputSet& set, const formats::Manifest& manifest) {
  publish_set_indexes(files_, set.folder(), indexes_of(set)(set.folder(), manifest.shards), context_);
  require_current(set);
  return publish_manifest(files_, set.folder(), manifest);
}

std::string ConvertJob::end_append(OutputSet& set, const MakeIndexes& make_indexes) {
  std::string path = set.added()->end(
      make_indexes, [&] { require_current(set); }, context_);
  set.end_append();
  set.open_plan();
  return path;
}

void list_skipped(std::vector<formats::IndexSkip>& listed, const std::vector<formats::IndexSkip>& skipped,
                  const std::string& folder) {
  for (const formats::IndexSkip& skip : skipped) {
    if (listed.size() == kMostListed) break;
    listed.push_back({folder + skip.path, skip.reason});
  }
}

void WritePhases::describe(FieldList& v) {
  v.field({"scan", Unit::seconds, "time for listing the source and planning"}, scan);
  v.field({"read", Unit::seconds, "time for reading the source, sum of all threads"}, read);
  v.field({"write", Unit::seconds, "time for hashing and writing shards, sum of all threads"}, write);
  v.field({"sync", Unit::seconds, "time for making shards durable, in parallel with the other phases"}, sync);
}

void WrittenSet::describe(FieldList& v) {
  v.field({"name", "name of the set, such as train; empty if the target is the only one"}, name);
  v.field({"samples", Unit::count, "samples in its shards of this part"}, samples);
  v.field({"shards", Unit::count, "shards of this part, including those that were already finished"}, shards);
  v.field({"bytes", Unit::bytes, "bytes of those shards"}, bytes);
  v.field({"manifest", "manifest of the shards"}, manifest);
  v.field({"plan_hash", "hash of the plan"}, plan_hash);
}

void WrittenSets::describe(FieldList& v) {
  v.field({"resumed", "what an earlier run had finished, such as 4 of 9 shards kept; null if nothing"}, resumed);
  v.field({"samples", Unit::count, "samples in the shards of this part"}, samples);
  v.field({"shards", Unit::count, "shards of this part, including those that were already finished"}, shards);
  v.field({"bytes", Unit::bytes, "bytes of those shards"}, bytes);
  v.field({"files_per_second", Unit::per_second, "samples written divided by the time since the end of the plan"},
          files_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "tar bytes written divided by the same time"}, bytes_per_second);
  v.field({"phases_seconds", Unit::seconds, "time by phase"}, phases_seconds);
  v.field({"shards_written", Unit::count, "shards written in this run"}, shards_written);
  v.field({"shards_reused", Unit::count, "shards that were already finished"}, shards_reused);
  v.field({"sets", "the target, or each of its sets"}, sets);
  v.field(kDryRunResult, dry_run);
}

}  // namespace shardkit::dataset
