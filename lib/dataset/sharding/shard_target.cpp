#include "dataset/sharding/shard_target.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "dataset/sharding/bad_files.hpp"
#include "dataset/sharding/plan_difference.hpp"
#include "formats/index_kinds.hpp"
#include "formats/wids_index.hpp"
#include "io/temporary_folder.hpp"

namespace shardkit::dataset {
namespace {

constexpr const char* kDiscarding = "discard";  // in place of a plan

Hash128 hash_of(ByteSource& file) {
  Xxh3Stream hash;
  file.stream_all([&](Bytes piece) { hash.update(piece); });
  return hash.digest();
}

Error append_ended(const std::string& folder) {
  return Error(ErrorCode::in_use, At{folder},
               "another --append into '{}' ended while this command ran; run this command again", folder);
}

Hash128 plan_hash(io::OutputFiles& files, const std::string& path) {
  const auto file = files.open(path);
  return formats::PlanReader(*file, path).hash();
}

/// Where a plan that is added behind `before` begins.
formats::PlanStart start_behind(const formats::PlanReader& before) {
  return {before.first_shard() + before.shards().size(), before.hash()};
}

/// The same for a plan in a file; empty if it is damaged. `whole`: also if only lines of its samples are damaged, which
/// are read for that.
std::optional<formats::PlanStart> start_if_intact(io::OutputFiles& files, const std::string& path, bool whole) try {
  const auto file = files.open(path);
  const formats::PlanReader plan(*file, path);
  if (whole) plan.check_bytes();
  return start_behind(plan);
} catch (const Error& error) {
  if (error.code() != ErrorCode::corrupt) throw;
  return std::nullopt;
}

}  // namespace

std::unique_ptr<io::RunFile> begin_run(io::OutputFiles& files, const std::string& folder) {
  const std::string state = io::join_path(folder, formats::kStateFolder);
  files.create_directories(state);
  if (!files.is_local()) return nullptr;
  io::remove_stale_temps(files, folder);
  io::remove_stale_temps(files, state);
  return std::make_unique<io::RunFile>(files, state);
}

void append_skipped(io::OutputFiles& files, const std::string& index_path, std::vector<formats::IndexSkip>& skipped) {
  const auto index = files.open(index_path);
  formats::ShardIndexVisitor visitor;
  visitor.skip = [&](formats::IndexSkip&& skip) { skipped.push_back(std::move(skip)); };
  formats::read_shard_index(*index, index_path, visitor);
}

ShardTarget::ShardTarget(io::OutputFiles& files, std::string folder, bool dry_run)
    : files_(files), folder_(std::move(folder)), dry_run_(dry_run) {
  while (files_.exists(path_of(formats::plan_path(number_ + 1)))) ++number_;
}

void ShardTarget::prepare() {
  refuse_foreign();
  if (dry_run_) return;
  is_new_ = !files_.exists(folder_);
  run_ = begin_run(files_, folder_);
}

void ShardTarget::remove_if_empty() {
  run_.reset();
  if (!files_.is_local()) return;
  std::error_code not_empty;
  if (is_new_ && std::filesystem::remove(state_path(""), not_empty)) std::filesystem::remove(folder_, not_empty);
}

void ShardTarget::refuse_foreign() const {
  if (number_ > 0 || has_plan() || !files_.exists(folder_)) return;
  if (files_.size_of(folder_)) {
    throw Error(ErrorCode::conflict, At{folder_}, "'{}' is not a folder; choose an empty folder", folder_);
  }
  for (const std::string& name : files_.names_in(folder_)) {
    if (name.starts_with('.') || is_made_by_system(name)) continue;
    if (const std::string plan = io::join_path(path_of(name), formats::plan_path(0)); files_.exists(plan)) {
      const auto file = files_.open(plan);
      const auto options = formats::PlanReader(*file, plan).head().options;
      const auto split = options.find("split");
      throw Error(ErrorCode::conflict, At{folder_},
                  "'{}' contains the set '{}' of an earlier run: {}choose an empty folder", folder_, name,
                  split == options.end() ? "" : fmt::format("repeat its --split {}, or ", split->second));
    }
    throw Error(
        ErrorCode::conflict, At{folder_},
        "'{}' contains other files, such as '{}'; choose an empty folder. Is the order right? The target comes last",
        folder_, name);
  }
}

void ShardTarget::adopt_dry(const std::function<void(ByteSink&)>& write, FileIdentity identity) {
  static const auto local = io::posix_file_system();
  dry_plan_ = std::make_unique<io::AtomicFile>(*local, io::temporary_folder() + "/shardkit-plan");
  write(*dry_plan_);
  dry_plan_->flush();
  plan_file_ = local->open(dry_plan_->temp_path());
  if (has_plan()) {
    auto planned = std::move(plan_file_);
    open_plan();
    try {
      return compare_plan(*planned, dry_plan_->temp_path(), identity);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::conflict || !has_only_plan()) throw;
      plan_file_ = std::move(planned);
    }
  }
  plan_ = std::make_unique<formats::PlanReader>(*plan_file_, dry_plan_->temp_path());
}

void ShardTarget::adopt_plan(const std::function<void(ByteSink&)>& write, FileIdentity identity) {
  if (dry_run_) return adopt_dry(write, identity);
  io::AtomicFile file(files_, plan_path());
  write(file);
  file.flush();
  const Hash128 hash = plan_hash(files_, file.temp_path());
  if (may_discard_) discard_unless(hash);
  bool is_first = false;
  if (run_ || !has_plan()) announce(to_hex(hash));  // in a bucket, a command that is refused hinders no other
  if (!has_plan()) {
    if (!run_) refuse_foreign();  // again: another command may have written there before this one claimed the folder
    refuse_runs_besides(to_hex(hash));
    keep_earlier_manifest();
    is_first = file.commit_new();
  }
  open_plan();
  if (!is_first) {
    try {
      compare_plan(*files_.open(file.temp_path()), file.temp_path(), identity);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::conflict || !has_only_plan()) throw;
      discard_only_plan();
      throw PlanDiscarded();
    }
  }
  follow_plan();
  keep_earlier_manifest();
}

bool ShardTarget::adopt_copy(const formats::PlanReader& given) {
  if (!has_plan()) return false;
  open_plan();
  if (!plan_->is_copy_of(given)) return false;
  if (!dry_run_) follow_plan();
  return true;
}

void ShardTarget::follow_plan() {
  announce(to_hex(plan_->hash()));
  // Others look in the same order, announcement first: of two that begin at once, at least one sees the other.
  refuse_superseded();
  refuse_runs_besides(to_hex(plan_->hash()));
  if (files_.exists(plan_path()) && plan_hash(files_, plan_path()) == plan_->hash()) return;
  throw Error(ErrorCode::in_use, At{folder_}, "the plan of '{}' was discarded meanwhile; run this command again",
              folder_);
}

void ShardTarget::announce(const std::string& plan) {
  if (run_) run_->follow(plan);
  if (!plan.empty()) files_.claim(folder_, "plan " + plan, false);
}

void ShardTarget::announce_part(const Part& part) {
  if (run_) run_->take(part_text(part));
}

std::optional<Division> ShardTarget::division() const {
  if (!files_.exists(division_path())) return std::nullopt;
  return parse_division(io::read_text(files_, division_path()));
}

Division ShardTarget::record_division(const Division& division) {
  if (dry_run_) return this->division().value_or(division);
  io::AtomicFile file(files_, division_path());
  file.write(as_bytes(division_text(division)));
  const bool is_damaged = files_.exists(division_path()) && !this->division();
  if (is_damaged) file.commit();
  return is_damaged || file.commit_new() ? division : this->division().value_or(division);
}

std::vector<io::Run> ShardTarget::live_runs() const {
  if (run_) return run_->others();
  const std::string state = state_path("");
  return files_.is_local() ? io::live_runs(state, io::lock_reach(state), system::system_clock().now())
                           : std::vector<io::Run>();
}

std::vector<io::Run> ShardTarget::runs_besides(const std::string& plan) const {
  std::vector<io::Run> runs = live_runs();
  if (runs.empty()) return runs;  // as nearly always: the plans need not be read
  std::set<std::string> here;
  bool is_known = true;  // what the runs of each plan announce
  for (std::uint64_t number = number_ - std::min<std::uint64_t>(number_, 1); number <= number_; ++number) {
    const std::string path = path_of(formats::plan_path(number));
    if (!files_.exists(path)) continue;
    const auto behind = start_if_intact(files_, path, false);
    if (behind) here.insert(to_hex(behind->plan));
    is_known = is_known && behind;
  }
  std::erase_if(runs, [&](const io::Run& run) {
    Hash128 hash;
    const bool was_late =
        is_known && parse_hex(run.plan, hash) && !here.contains(run.plan);  // it will be refused itself
    return run.plan.empty() || run.plan == plan || was_late;
  });
  return runs;
}

void ShardTarget::refuse_runs_besides(const std::string& plan, const std::string& why) const {
  const std::vector<io::Run> runs = runs_besides(plan);
  if (runs.empty()) return;
  throw Error(ErrorCode::in_use, At{folder_},
              "another run writes to '{}' with another plan{}{}: {}{} ended, or choose another folder", folder_,
              why.empty() ? "" : ": ", why, io::describe(runs.front()),
              runs.size() > 1 ? fmt::format(", and {}; run this command again when all of them have",
                                            format_count(runs.size() - 1, "other run"))
                              : "; run this command again when it has");
}

void ShardTarget::compare_plan(ByteSource& other, const std::string& path, FileIdentity identity) const {
  if (hash_of(*plan_file_) == hash_of(other)) return;
  const formats::PlanReader now(other, path);
  if (plan_->head().start && !now.head().start && now.head().inputs.empty()) {
    throw Error(ErrorCode::conflict, At{folder_},
                "'{}' has shards that convert --append added: run this command with --append", folder_);
  }
  std::optional<PlanDifference> found;
  try {
    found = plan_difference(*plan_, now, identity);
  } catch (const Error&) {
    refuse_runs_besides(to_hex(now.hash()));
    throw;
  }
  if (!found) return plan_->check_bytes();
  refuse_runs_besides(to_hex(now.hash()), found->text);
  const bool is_finished = now.head().inputs.empty() && this->is_finished();
  if (plan_->head().start && is_finished) throw append_ended(folder_);
  if (plan_->head().start) {
    throw Error(ErrorCode::conflict, At{folder_},
                "another --append into '{}' is not finished: {}; run it with the original source, or add --discard to "
                "this command, which removes what the other one wrote",
                folder_, found->text);
  }
  const bool only_times = found->is_time && !plan_difference(*plan_, now, FileIdentity::size);
  const bool may_append = is_finished && found->files == SourceFiles::added;
  throw Error(ErrorCode::conflict, At{folder_}, "'{}' contains {} of another plan: {}; {}choose an empty folder",
              folder_, is_finished ? "a finished set" : "shards", found->text,
              only_times   ? "sizes are equal: if only times differ, add --identity size, or "
              : may_append ? "add new files with --append, or "
              : found->files == SourceFiles::gone
                  ? "restore the missing images, which no option removes from shards, or "
                  : "");
}

bool ShardTarget::is_finished() const {
  return files_.exists(path_of(formats::kManifestName)) && manifest_now().plan_hash == to_hex(plan_->hash());
}

void ShardTarget::begin_append(bool discard) {
  if (!has_plan()) return;
  if (!open_for_append(discard)) return;
  if (!plan_->head().inputs.empty()) {
    throw Error(ErrorCode::conflict, At{folder_},
                "'{}' was made by reshard, but --append needs a set made by convert; convert the new files into a "
                "separate folder and join both sets with `shardctl reshard`",
                folder_);
  }
  if (!is_finished()) {
    may_discard_ = discard && plan_->head().start.has_value();
    return;
  }
  start_ = start_behind(*plan_);
  plan_.reset();
  ++number_;
}

/// Opens the current plan. False if it is damaged and that of an unfinished --append that `discard` may remove.
bool ShardTarget::open_for_append(bool discard) try {
  open_plan();
  if (number_ > 0 && !is_finished()) plan_->check_bytes();
  return true;
} catch (const Error& error) {
  const auto open = [&](std::uint64_t number) { return files_.open(path_of(formats::plan_path(number))); };
  if (error.code() != ErrorCode::corrupt || error.path() != plan_path() || number_ == 0 ||
      !formats::is_append_unfinished(manifest_now().plan_hash, number_, open))
    throw;
  if (!discard) {
    throw Error(ErrorCode::corrupt, At{plan_path()},
                "the plan '{}' of an --append that has not finished is damaged; restore it from a copy, or add "
                "--discard to this command, which removes what that --append wrote",
                plan_path());
  }
  plan_.reset();
  const std::string before = earlier_plans().back();
  const auto file = files_.open(before);
  start_ = start_behind(formats::PlanReader(*file, before));
  may_discard_ = true;
  return false;
}

/// Of the plan before the current one.
formats::PlanHead ShardTarget::head_before() const {
  const std::string path = earlier_plans().back();
  const auto file = files_.open(path);
  return formats::PlanReader(*file, path).head();
}

formats::Manifest ShardTarget::manifest_now() const {
  const std::string path = path_of(formats::kManifestName);
  return formats::read_manifest(io::read_text(files_, path), path);
}

void ShardTarget::cancel_append() {
  prepare();
  if (may_discard_ && !dry_run_) discard_unless({});
  --number_;
  open_plan();
  if (!dry_run_) follow_plan();
}

/// Removes what an unfinished --append made, unless its plan is `plan` by now.
void ShardTarget::discard_unless(const Hash128& plan) {
  may_discard_ = false;
  announce(kDiscarding);
  if (files_.exists(plan_path())) {  // else another run discards it too
    const auto behind = start_if_intact(files_, plan_path(), true);
    if (!behind || !(behind->plan == plan)) {
      refuse_runs_besides({});
      if (manifest_now().plan_hash != to_hex(start_->plan)) throw append_ended(folder_);
      remove_unpublished(behind ? behind->shards : std::numeric_limits<std::uint64_t>::max());
      has_discarded_ = true;
    }
  }
  announce({});
}

/// Shards with a file here or in the state folder, numbered behind those of the plan before and below `end`. Found by
/// their names: the plan that names them may be damaged.
std::set<std::string> ShardTarget::added_shards(std::uint64_t end) const {
  const std::string prefix = head_before().name;
  std::set<std::string> shards;
  for (const std::string& folder : {folder_, state_path("")}) {
    for (const std::string& name : files_.names_in(folder)) {
      const auto number = formats::shard_number(prefix, name);
      if (number && *number >= start_->shards && *number < end) shards.insert(formats::shard_name(prefix, *number));
    }
  }
  for (const formats::ManifestShard& shard : manifest_now().shards) shards.erase(shard.name);
  return shards;
}

/// Removes shards of the unfinished plan, whose numbers are below `end`, and its state. The plan goes last: until then,
/// the next run finds an unfinished --append.
void ShardTarget::remove_unpublished(std::uint64_t end) const {
  for (const std::string& shard : added_shards(end)) {
    for (const formats::IndexKind& kind : formats::index_kinds())
      if (kind.shard_file != nullptr) files_.remove(path_of(kind.shard_file(shard)));
    files_.remove(path_of(formats::shard_md5_path(shard)));
    files_.remove(path_of(formats::shard_index_path(shard)));
    keep_bad_files(files_, folder_, shard, {});
    files_.remove(path_of(shard));
  }
  files_.remove(earlier_manifest_path());
  remove_state_of_plan();
}

/// Whether the first plan of a local folder is all that earlier runs left: no manifest, no shard or index, no part.
bool ShardTarget::has_only_plan() const {
  if (number_ > 0 || !files_.is_local() || files_.exists(path_of(formats::kManifestName))) return false;
  for (const std::string& folder : {folder_, state_path("")}) {
    for (const std::string& name : files_.names_in(folder)) {
      const bool is_list_of_bad_files = name.ends_with(kBadListEnding);
      if (parse_part_file_name(name) || (!is_list_of_bad_files && formats::shard_number(plan_->head().name, name)))
        return false;
    }
  }
  return live_runs().empty();
}

void ShardTarget::discard_only_plan() {
  announce(kDiscarding);
  refuse_runs_besides({});
  for (const std::string& name : files_.names_in(state_path(""))) {
    if (name.ends_with(kBadListEnding)) files_.remove(state_path(name));
  }
  remove_state_of_plan();
  announce({});
}

/// The plan goes last.
void ShardTarget::remove_state_of_plan() const {
  for (const std::string& name : files_.names_in(state_path(""))) {
    if (parse_part_file_name(name)) files_.remove(state_path(name));
  }
  files_.remove(division_path());
  files_.sync_directory(folder_);
  files_.sync_directory(state_path(""));
  files_.remove(plan_path());
  files_.sync_directory(state_path(""));
}

void ShardTarget::refuse_superseded() const {
  if (!files_.exists(path_of(formats::plan_path(number_ + 1)))) return;
  throw Error(ErrorCode::in_use, At{folder_},
              "convert --append added to '{}' while this command ran; run it again with --append", folder_);
}

std::vector<std::string> ShardTarget::earlier_plans() const {
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < number_; ++i) paths.push_back(path_of(formats::plan_path(i)));
  return paths;
}

std::string ShardTarget::earlier_manifest_path() const {
  return state_path(fmt::format("manifest-{}.json", number_ - 1));
}

/// A copy, because --append publishes a manifest in its place. One that was damaged meanwhile is written again.
void ShardTarget::keep_earlier_manifest() const {
  if (!start_ || !files_.exists(path_of(formats::kManifestName)) || manifest_now().plan_hash != to_hex(start_->plan))
    return;
  const std::string copy = earlier_manifest_path();
  const std::string text = io::read_text(files_, path_of(formats::kManifestName));
  if (!files_.exists(copy) || io::read_text(files_, copy) != text) io::publish(files_, copy, as_bytes(text));
}

std::optional<formats::Manifest> ShardTarget::earlier_manifest() const {
  if (!start_) return std::nullopt;
  if (files_.exists(path_of(formats::kManifestName))) {
    formats::Manifest now = manifest_now();
    if (now.plan_hash == to_hex(start_->plan)) return now;  // until --append publishes another one
  }
  const std::string path = earlier_manifest_path();
  return formats::read_manifest(io::read_text(files_, path), path);
}

void ShardTarget::require_earlier_shards(bool recheck) const {
  const std::optional<formats::Manifest> earlier = earlier_manifest();
  if (!earlier) return;
  for (const formats::ManifestShard& shard : earlier->shards) {
    const std::string path = path_of(shard.name);
    const std::optional<std::uint64_t> size = files_.size_of(path);
    if (size == shard.bytes && (!recheck || hash_of(*files_.open(path)) == shard.xxh3_128)) continue;
    throw Error(size ? ErrorCode::corrupt : ErrorCode::not_found, At{path},
                "shard '{}' of the set is {}; repair the set first: `shardctl verify {}` lists what is wrong", path,
                size ? "damaged" : "missing", shell_word(folder_));
  }
}

void ShardTarget::refuse_other_options(formats::PlanHead head) const {
  if (!start_) return;
  formats::PlanHead before = head_before();
  for (formats::PlanHead* plan : {&before, &head})
    plan->options.erase("source_folder");  // where the files are tells it
  const std::string difference = option_difference(before, head);
  if (difference.empty()) return;
  throw Error(ErrorCode::conflict, At{folder_}, "--append needs the options that '{}' was made with: {}", folder_,
              difference);
}

formats::Manifest ShardTarget::whole_manifest(const std::optional<formats::Manifest>& earlier,
                                              const formats::Manifest& added) const {
  if (!earlier) return added;
  formats::Manifest whole = formats::join_manifests(*earlier, added);
  whole.skipped -= std::min(whole.skipped, start_->readmitted);
  return whole;
}

bool ShardTarget::has_plan() const { return !may_discard_ && files_.exists(plan_path()); }

void ShardTarget::open_plan() {
  plan_file_ = files_.open(plan_path());
  plan_ = std::make_unique<formats::PlanReader>(*plan_file_, plan_path());
  start_ = plan_->head().start;
}

std::optional<formats::ShardSummary> ShardTarget::finished(std::size_t shard, bool recheck) const {
  const std::string name = plan_->shard_name(shard);
  const std::string index_path = io::join_path(folder_, formats::shard_index_path(name));
  if (!files_.exists(index_path)) return std::nullopt;
  formats::ShardSummary summary;
  try {
    const auto index = files_.open(index_path);
    summary =
        recheck ? formats::read_shard_index(*index, index_path, {}) : formats::read_shard_summary(*index, index_path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::corrupt) return std::nullopt;  // written again
    throw;
  }
  if (summary.plan != to_hex(plan_->hash()) || summary.name != name) return std::nullopt;
  if (summary.samples == 0) return summary;
  const std::string path = path_of(name);
  if (files_.size_of(path) != summary.bytes) return std::nullopt;
  if (recheck && !(hash_of(*files_.open(path)) == summary.xxh3_128)) return std::nullopt;
  return summary;
}

void ShardTarget::reopen(std::size_t shard) {
  const std::string name = plan_->shard_name(shard);
  const std::string manifest = path_of(formats::kManifestName);
  if (start_) io::publish(files_, manifest, as_bytes(io::read_text(files_, earlier_manifest_path())));
  std::vector<std::string> stale = {path_of(name), io::join_path(folder_, formats::shard_index_path(name))};
  if (!start_) stale.push_back(manifest);
  for (const std::string& path : stale) files_.remove(path);
  files_.sync_directory(folder_);
  files_.sync_directory(state_path(""));
}

std::map<std::string, std::uint64_t> ShardTarget::left_out_by_class(
    const std::set<std::string_view>& shorter, const std::vector<formats::IndexSkip>& skipped) const {
  const formats::PlanHead& head = plan_->head();
  std::map<std::string, std::uint64_t> left_out;
  std::set<std::string_view> paths;
  for (std::size_t i = head.skipped.size(); i < skipped.size(); ++i) {
    const std::string_view path = skipped[i].path;
    paths.insert(path);
    if (!head.listed) ++left_out[std::string(path.substr(0, path.find('/')))];
  }
  if (!head.listed || paths.empty()) return left_out;
  // Paths in a list do not name the class: the plan's lines do.
  for (std::size_t shard = 0; shard < plan_->shards().size(); ++shard) {
    if (!shorter.contains(plan_->shard_name(shard))) continue;
    formats::PlanReader::ShardReader reader = plan_->read_shard(shard);
    for (formats::PlannedSample sample; reader.next(sample);) {
      if (sample.class_index && paths.contains(formats::image_path(head, sample)))
        ++left_out[head.classes[*sample.class_index].name];
    }
  }
  return left_out;
}

formats::Manifest ShardTarget::manifest_of(const std::vector<std::optional<formats::ShardSummary>>& shards,
                                           std::vector<formats::IndexSkip>& skipped) const {
  const formats::PlanHead& head = plan_->head();
  formats::Manifest manifest;
  manifest.options = head.options;
  manifest.plan_hash = to_hex(plan_->hash());
  skipped = head.skipped;
  std::set<std::string_view> shorter;
  for (const std::optional<formats::ShardSummary>& shard : shards) {
    if (shard->skipped > 0) {
      shorter.insert(shard->name);
      append_skipped(files_, io::join_path(folder_, formats::shard_index_path(shard->name)), skipped);
    }
    if (shard->samples == 0) continue;
    manifest.shards.push_back(*shard);
    manifest.samples += shard->samples;
    manifest.bytes += shard->bytes;
  }
  manifest.skipped = skipped.size();
  if (const auto on_bad = manifest.options.find("on_bad");
      manifest.skipped > 0 && head.inputs.empty() && on_bad != manifest.options.end() && on_bad->second == "fail") {
    on_bad->second = "skip";  // of a later run than the one that made the plan
  }
  std::map<std::string, std::uint64_t> left_out = left_out_by_class(shorter, skipped);
  for (const formats::ManifestClass& item : head.classes) {
    manifest.classes.push_back({item.name, item.label, item.samples - left_out[item.name]});
  }
  return manifest;
}

}  // namespace shardkit::dataset
