#include "dataset/sharding/generation.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "dataset/sharding/plan_difference.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "io/publish.hpp"
#include "io/run_file.hpp"

namespace shardkit::dataset {
namespace {

std::string state_of(const std::string& folder) { return io::join_path(folder, formats::kStateFolder); }

/// Except hidden files, which others write, the records of runs, and the plan.
void remove_files(io::OutputFiles& files, const std::string& folder) {
  if (!files.exists(folder)) return;
  for (const std::string& name : files.names_in(folder)) {
    if (!name.starts_with('.') && !io::is_run_name(name) && name != "plan") files.remove(io::join_path(folder, name));
  }
  files.sync_directory(folder);
}

}  // namespace

Generation::Generation(io::OutputFiles& files, std::string set, std::uint64_t last)
    : files_(files),
      set_(std::move(set)),
      number_(last + 1),
      folder_(io::join_path(set_, formats::append_path(number_))) {}

std::string Generation::plan_path() const { return io::join_path(folder_, formats::plan_path(0)); }
std::string Generation::ended_plan_path() const { return io::join_path(set_, formats::plan_path(number_)); }

formats::Manifest manifest_in(io::OutputFiles& files, const std::string& folder) {
  const std::string path = io::join_path(folder, formats::kManifestName);
  return formats::read_manifest(io::read_text(files, path), path);
}

formats::Manifest Generation::manifest_of_set() const { return manifest_in(files_, set_); }

std::optional<Hash128> hash_if_intact(io::OutputFiles& files, const std::string& path, bool whole) try {
  const auto file = files.open(path);
  const formats::PlanReader plan(*file, path);
  if (whole) plan.check_bytes();
  return plan.hash();
} catch (const Error& error) {
  if (error.code() != ErrorCode::corrupt) throw;
  return std::nullopt;
}

void discard_state(io::OutputFiles& files, const std::string& state) {
  remove_files(files, state);
  const std::string plan = io::join_path(state, "plan");
  if (!files.exists(plan)) return;
  files.remove(plan);
  files.sync_directory(state);
}

std::vector<std::string> Generation::plans_of_set() const {
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < number_; ++i) paths.push_back(io::join_path(set_, formats::plan_path(i)));
  return paths;
}

formats::PlanStart Generation::start(formats::PlanHead head, bool recheck) const {
  const std::string last = plans_of_set().back();
  const auto file = files_.open(last);
  const formats::PlanReader plan(*file, last);
  refuse_other_options(plan.head(), std::move(head), set_);
  for (const formats::ManifestShard& shard :
       recheck ? manifest_of_set().shards : std::vector<formats::ManifestShard>()) {
    const std::string path = io::join_path(set_, shard.name);
    if (xxh3_128(*files_.open(path)) == shard.xxh3_128) continue;
    throw Error(ErrorCode::corrupt, At{path},
                "shard '{}' of the set is damaged: the command without --append, with --recheck, writes it again",
                path);
  }
  return {plan.first_shard() + plan.shards().size(), plan.hash()};
}

void Generation::make_folder() const {
  files_.create_directories(state_of(folder_));
  files_.sync_directory(state_of(set_));
  for (const std::string& folder : {folder_, state_of(folder_)}) io::remove_stale_temps(files_, folder);
}

/// That of the set if the shards are listed there already.
formats::Manifest Generation::whole_manifest(const formats::Manifest& added, const formats::PlanHead& head) const {
  formats::Manifest whole = manifest_of_set();
  if (whole.plan_hash == added.plan_hash) return whole;
  if (whole.plan_hash != to_hex(head.start.value().plan)) {
    throw Error(ErrorCode::conflict, At{set_},
                "'{}' is another set than when an --append into it began; convert into an empty folder", set_);
  }
  return add_generation(std::move(whole), added, head);
}

formats::Manifest add_generation(formats::Manifest set, const formats::Manifest& added, const formats::PlanHead& head) {
  set = formats::join_manifests(std::move(set), added);
  set.skipped -= std::min(set.skipped, head.start->readmitted);
  return set;
}

void refuse_other_options(formats::PlanHead before, formats::PlanHead now, const std::string& folder,
                          const std::string& note) {
  for (formats::PlanHead* of : {&before, &now}) of->options.erase("source_folder");  // where the files are tells it
  const std::string difference = option_difference(before, now);
  if (difference.empty()) return;
  throw Error(ErrorCode::conflict, At{folder}, "'{}' was made with other options: {}{}", folder, difference, note);
}

std::string Generation::end(const MakeIndexes& make_indexes, const std::function<void()>& check,
                            Context& context) const {
  const auto file = files_.open(plan_path());
  const formats::PlanHead head = formats::PlanReader(*file, plan_path()).head();
  const formats::Manifest added = manifest_in(files_, folder_);
  const formats::Manifest whole = whole_manifest(added, head);
  for (const formats::ManifestShard& shard : added.shards) {
    if (files_.exists(io::join_path(folder_, shard.name))) has_same_tar(files_, io::join_path(set_, shard.name), shard);
  }
  raise(state_of(folder_), state_of(set_), head.name, false);
  raise(folder_, set_, head.name, false);
  SetIndexes indexes = make_indexes(set_, whole.shards);
  check();
  raise(folder_, set_, head.name, true);
  publish_set_indexes(files_, set_, std::move(indexes), context, whole.shards.size() - added.shards.size());
  std::string path = publish_manifest(files_, set_, whole);
  constexpr const char* kDivision = ".division";
  if (files_.exists(plan_path() + kDivision)) move(plan_path() + kDivision, ended_plan_path() + kDivision);
  move(plan_path(), ended_plan_path());
  files_.sync_directory(state_of(set_));
  discard();
  return path;
}

/// What is named after a shard: the tars, or everything else.
void Generation::raise(const std::string& from, const std::string& to, const std::string& prefix, bool tars) const {
  std::vector<std::string> names = files_.names_in(from);
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (name.ends_with(".tar") == tars && formats::shard_number(prefix, name))
      move(io::join_path(from, name), io::join_path(to, name));
  }
  files_.sync_directory(to);
}

/// Another process may be quicker.
void Generation::move(const std::string& from, const std::string& to) const try {
  files_.rename(from, to);
} catch (const Error&) {
  if (files_.exists(from) || !files_.exists(to)) throw;
}

void Generation::discard() const {
  remove_files(files_, folder_);
  discard_state(files_, state_of(folder_));
  std::error_code not_empty;
  for (const std::string& folder : {state_of(folder_), folder_}) std::filesystem::remove(folder, not_empty);
}

}  // namespace shardkit::dataset
