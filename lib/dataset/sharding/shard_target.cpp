#include "dataset/sharding/shard_target.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "catalog/set_listing.hpp"
#include "catalog/set_rules.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "dataset/sharding/bad_files.hpp"
#include "dataset/sharding/plan_difference.hpp"
#include "io/temporary_folder.hpp"

namespace shardkit::dataset {
namespace {

constexpr const char* kDiscarding = "discard";  // in place of a plan

}  // namespace

std::unique_ptr<io::RunFile> begin_run(io::OutputFiles& files, const std::string& folder) {
  const std::string state = io::join_path(folder, formats::kStateFolder);
  files.create_directories(state);
  return files.is_local() ? std::make_unique<io::RunFile>(files, state) : nullptr;
}

void remove_leftovers(io::OutputFiles& files, const std::string& folder, io::RunFile& run) {
  for (const std::string& of : {folder, io::join_path(folder, formats::kStateFolder)})
    io::remove_stale_temps(files, of);
  run.remove_dead();
}

void append_skipped(io::OutputFiles& files, const std::string& index_path, std::vector<formats::IndexSkip>& skipped) {
  const auto index = files.open(index_path);
  formats::ShardIndexVisitor visitor;
  visitor.skip = [&](formats::IndexSkip&& skip) { skipped.push_back(std::move(skip)); };
  formats::read_shard_index(*index, index_path, visitor);
}

ShardTarget::ShardTarget(io::OutputFiles& files, std::shared_ptr<const catalog::SeenSet> seen, bool dry_run)
    : ShardTarget(files, seen, dry_run, std::max<std::uint64_t>(seen->plans.size(), 1) - 1) {}

ShardTarget::ShardTarget(io::OutputFiles& files, std::shared_ptr<const catalog::SeenSet> seen, bool dry_run,
                         std::uint64_t plan)
    : files_(files),
      seen_(std::move(seen)),
      folder_(seen_->folder),
      output_(folder_),
      dry_run_(dry_run),
      number_(plan) {
  had_append_ = files_.is_local() && next_generation().is_begun();
}

void ShardTarget::prepare() {
  if (dry_run_ || run_) return;
  is_new_ = !files_.exists(folder_);
  is_state_new_ = !files_.exists(state_path(""));
  run_ = begin_run(files_, folder_);
}

ShardTarget::~ShardTarget() {
  run_.reset();
  std::error_code not_empty;
  const std::filesystem::path state = io::join_path(folder_, formats::kStateFolder);
  if (files_.is_local() && is_state_new_ && std::filesystem::remove(state, not_empty) && is_new_)
    std::filesystem::remove(folder_, not_empty);
}

/// Names that the plan needs, which files of others have.
void ShardTarget::refuse_taken_names(const formats::PlanReader& plan) const {
  for (const std::string& name : files_.names_in(folder_)) {
    const std::optional<std::uint64_t> number = formats::shard_number(plan.head().name, name);
    const bool is_planned =
        number && *number >= plan.first_shard() && *number - plan.first_shard() < plan.shards().size();
    const bool is_needed = (is_planned && (name.ends_with(".tar") || name.ends_with(".idx"))) ||
                           (!added_ && name == formats::kManifestName);
    if (!is_needed || has_plan()) continue;  // else another run with this plan has written it by now
    const std::string path = io::join_path(folder_, name);
    throw Error(ErrorCode::conflict, At{path},
                "'{}' is a file of others, and this command needs its name: move it out of the folder, or choose "
                "another folder",
                path);
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
  if (!has_plan()) refuse_taken_names(*plan_);
}

/// Publishes the first plan; false if there is one by now.
bool ShardTarget::begin(io::AtomicFile& file, const formats::PlanReader& plan) {
  refuse_runs_besides(to_hex(plan.hash()));
  refuse_taken_names(plan);
  return file.commit_new();
}

void ShardTarget::adopt_plan(const std::function<void(ByteSink&)>& write, FileIdentity identity) {
  if (dry_run_) return adopt_dry(write, identity);
  if (added_) added_->make_folder();
  const bool was_open = is_plan_open();
  io::AtomicFile file(files_, plan_path());
  write(file);
  file.flush();
  const std::string path = file.temp_path();
  const auto written = files_.open(path);
  const formats::PlanReader plan(*written, path);
  if (std::exchange(may_discard_, false)) discard_unless(plan.hash());
  if (run_ || !has_plan()) announce(to_hex(plan.hash()));  // in a bucket, a command that is refused hinders no other
  while (has_plan() || !begin(file, plan)) {
    open_plan();
    try {
      compare_plan(*written, path, identity);
      break;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::conflict || !has_only_plan()) throw;
    }
    discard_if([this] { return has_only_plan(); });
    if (was_open) throw TargetChanged();
    announce(to_hex(plan.hash()));
  }
  open_plan();
  follow_plan();
}

bool ShardTarget::adopt_copy(const formats::PlanReader& given) {
  if (!has_plan()) return false;
  open_plan();
  if (!plan_->is_copy_of(given)) return false;
  if (!dry_run_) follow_plan();
  return true;
}

void ShardTarget::follow_plan() {
  prepare();
  if (!plan_) open_plan();
  announce(to_hex(plan_->hash()));
  // Others look in the same order, announcement first: of two that begin at once, at least one sees the other.
  refuse_superseded();
  refuse_runs_besides(to_hex(plan_->hash()));
  if (!files_.exists(plan_path()) || hash_if_intact(files_, plan_path(), false) != plan_->hash()) {
    throw Error(ErrorCode::in_use, At{folder_}, "the plan of '{}' was discarded meanwhile; run this command again",
                folder_);
  }
  if (!run_) return;
  remove_leftovers(files_, folder_, *run_);
  if (number_ > 0) Generation(files_, folder_, number_ - 1).discard();
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
  const std::string state = io::join_path(folder_, formats::kStateFolder);
  return files_.is_local() ? io::live_runs(state, io::lock_reach(state), system::system_clock().now())
                           : std::vector<io::Run>();
}

std::vector<io::Run> ShardTarget::runs_besides(const std::string& plan) const {
  std::vector<io::Run> runs = live_runs();
  if (runs.empty()) return runs;  // as nearly always: the plans need not be read
  std::set<std::string> here;
  bool is_known = true;  // what the runs of each plan announce
  for (const std::string& path : {io::join_path(folder_, formats::plan_path(number_)),
                                  io::join_path(next_generation().folder(), formats::plan_path(0))}) {
    if (!files_.exists(path)) continue;
    const std::optional<Hash128> hash = hash_if_intact(files_, path, false);
    if (hash) here.insert(to_hex(*hash));
    is_known = is_known && hash;
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
  const formats::PlanReader now(other, path);
  if (xxh3_128(*plan_file_) == xxh3_128(other)) return;
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
  if (added_) {
    throw Error(ErrorCode::conflict, At{folder_},
                "another --append into '{}' is not finished: {}; run it with the original source, or add --discard to "
                "this command, which removes what the other one wrote{}",
                folder_, found->text, catalog::state_note(*seen_));
  }
  const bool only_times = found->is_time && !plan_difference(*plan_, now, FileIdentity::size);
  const bool may_append = is_finished && found->files == SourceFiles::added;
  throw Error(ErrorCode::conflict, At{folder_}, "'{}' contains {} of another plan: {}; {}choose an empty folder{}",
              folder_, is_finished ? "a finished set" : "shards", found->text,
              only_times   ? "sizes are equal: if only times differ, add --identity size, or "
              : may_append ? "add new files with --append, or "
              : found->files == SourceFiles::gone
                  ? "restore the missing images, which no option removes from shards, or "
                  : "",
              catalog::state_note(*seen_));
}

bool ShardTarget::is_finished() const try {
  return files_.exists(path_of(formats::kManifestName)) && manifest_now().plan_hash == to_hex(plan_->hash());
} catch (const Error& error) {
  if (error.code() != ErrorCode::corrupt) throw;
  return false;
}

void ShardTarget::begin_append(bool discard) {
  end_append();
  if (!has_plan()) return;
  open_plan();
  if (!plan_->head().inputs.empty()) {
    throw Error(ErrorCode::conflict, At{folder_},
                "'{}' was made by reshard, but --append needs a set made by convert; convert the new files into a "
                "separate folder and join both sets with `shardctl reshard`",
                folder_);
  }
  if (!is_finished()) return;
  plan_.reset();
  added_.emplace(next_generation());
  output_ = added_->folder();
  may_discard_ = discard && added_->is_begun();
  if (!has_plan()) return;
  if (!hash_if_intact(files_, plan_path(), true)) {
    throw Error(ErrorCode::corrupt, At{plan_path()},
                "the plan '{}' of an --append that has not finished is damaged; restore it from a copy, or add "
                "--discard to this command, which removes what that --append wrote",
                plan_path());
  }
  open_plan();
}

bool ShardTarget::continue_append() {
  if (!files_.is_local() || !next_generation().is_begun()) return false;
  added_.emplace(next_generation());
  output_ = added_->folder();
  return true;
}

void ShardTarget::end_append() {
  run_.reset();
  added_.reset();
  output_ = folder_;
  plan_.reset();
  while (files_.exists(path_of(formats::plan_path(number_ + 1)))) ++number_;
}

bool ShardTarget::has_append_ended() const {
  if (!added_ || !added_->has_ended()) return false;
  if (!dry_run_) added_->discard();
  return true;
}

void ShardTarget::cancel_append() {
  if (std::exchange(may_discard_, false) && !dry_run_) {
    prepare();
    discard_unless({});
  }
  end_append();
  open_plan();
  if (!dry_run_) follow_plan();
}

/// The generation, unless its plan is `plan` by now, or another run has discarded it.
void ShardTarget::discard_unless(const Hash128& plan) {
  discard_if([&] { return added_->is_begun() && hash_if_intact(files_, plan_path(), true) != plan; });
}

/// Gives up the current plan and what was written for it. `is_wanted` is asked when others know of that.
void ShardTarget::discard_if(const std::function<bool()>& is_wanted) {
  announce(kDiscarding);
  if (is_wanted()) {
    refuse_runs_besides({});
    refuse_superseded();
    added_ ? added_->discard() : discard_state(files_, state_path(""));
  }
  announce({});
}

/// Whether the first plan of a local folder is all that earlier runs left.
bool ShardTarget::has_only_plan() const {
  if (added_ || number_ > 0 || !files_.is_local() || !live_runs().empty()) return false;
  const catalog::SeenSet now = catalog::look_at(files_, folder_);
  const auto* writing = now.as<catalog::Writing>();
  return writing != nullptr && writing->planned > 0 && writing->missing.size() == writing->planned;
}

void ShardTarget::refuse_superseded() const {
  if (!files_.is_local()) return;
  const Generation next = next_generation();
  if (!next.has_ended() && (added_ || had_append_ || !next.is_begun())) return;
  throw Error(ErrorCode::in_use, At{folder_},
              "convert --append added to '{}' while this command ran; run it again with --append", folder_);
}

bool ShardTarget::has_plan() const { return !may_discard_ && files_.exists(plan_path()); }

void ShardTarget::open_plan() {
  plan_file_ = files_.open(plan_path());
  plan_ = std::make_unique<formats::PlanReader>(*plan_file_, plan_path());
}

std::optional<formats::ShardSummary> ShardTarget::finished(std::size_t shard, FinishedBy check) const {
  const std::string name = plan_->shard_name(shard);
  const std::string index_path = path_of(formats::shard_index_path(name));
  if (!files_.exists(index_path)) return std::nullopt;
  formats::ShardSummary summary;
  try {
    const auto index = files_.open(index_path);
    summary = check == FinishedBy::size ? formats::read_shard_summary(*index, index_path)
                                        : formats::read_shard_index(*index, index_path, {});
  } catch (const Error& error) {
    if (error.code() == ErrorCode::corrupt) return std::nullopt;  // written again
    throw;
  }
  if (summary.plan != to_hex(plan_->hash()) || summary.name != name) return std::nullopt;
  if (summary.samples == 0) return summary;
  const std::string path = path_of(name);
  if (files_.size_of(path) != summary.bytes) return std::nullopt;
  if (check == FinishedBy::bytes && !(xxh3_128(*files_.open(path)) == summary.xxh3_128)) return std::nullopt;
  return summary;
}

void ShardTarget::reopen(std::size_t shard) {
  const std::string name = plan_->shard_name(shard);
  for (const std::string& file : {name, formats::shard_index_path(name), std::string(formats::kManifestName)})
    files_.remove(path_of(file));
  files_.sync_directory(output_);
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
      append_skipped(files_, path_of(formats::shard_index_path(shard->name)), skipped);
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
