#include "dataset/sharding/generation.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "dataset/sharding/plan_difference.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {
namespace {

std::string state_of(const std::string& folder) { return io::join_path(folder, formats::kStateFolder); }

/// Removes the files of a folder, except hidden ones, which others write, and `last`.
void remove_files(io::OutputFiles& files, const std::string& folder, const std::string& last) {
  if (!files.exists(folder)) return;
  for (const std::string& name : files.names_in(folder)) {
    const std::string path = io::join_path(folder, name);
    if (!name.starts_with('.') && path != last) files.remove(path);
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

formats::Manifest Generation::manifest() const { return manifest_in(files_, folder_); }
formats::Manifest Generation::manifest_of_set() const { return manifest_in(files_, set_); }

bool Generation::is_complete() const try {
  if (!is_begun() || !files_.exists(io::join_path(folder_, formats::kManifestName))) return false;
  const auto file = files_.open(plan_path());
  const formats::Manifest added = manifest();
  return added.plan_hash == to_hex(formats::PlanReader(*file, plan_path()).hash()) &&
         std::ranges::all_of(added.shards, [&](const formats::ManifestShard& shard) {
           return files_.size_of(io::join_path(folder_, shard.name)) == shard.bytes ||
                  files_.size_of(io::join_path(set_, shard.name)) == shard.bytes;
         });
} catch (const Error& error) {
  if (error.code() != ErrorCode::corrupt) throw;
  return false;
}

std::vector<std::string> Generation::plans_of_set() const {
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < number_; ++i) paths.push_back(io::join_path(set_, formats::plan_path(i)));
  return paths;
}

formats::PlanStart Generation::start() const {
  const std::string path = plans_of_set().back();
  const auto file = files_.open(path);
  const formats::PlanReader plan(*file, path);
  return {plan.first_shard() + plan.shards().size(), plan.hash()};
}

void Generation::require_shards_of_set(bool recheck) const {
  const auto has_bytes = [&](const std::string& path, const formats::ManifestShard& shard) {
    Xxh3Stream hash;
    files_.open(path)->stream_all([&](Bytes piece) { hash.update(piece); });
    return hash.digest() == shard.xxh3_128;
  };
  for (const formats::ManifestShard& shard : manifest_of_set().shards) {
    const std::string path = io::join_path(set_, shard.name);
    const std::optional<std::uint64_t> size = files_.size_of(path);
    if (size == shard.bytes && (!recheck || has_bytes(path, shard))) continue;
    throw Error(size ? ErrorCode::corrupt : ErrorCode::not_found, At{path},
                "shard '{}' of the set is {}; repair the set first: `shardctl verify {}` lists what is wrong", path,
                size ? "damaged" : "missing", shell_word(set_));
  }
}

void Generation::refuse_other_options(formats::PlanHead head) const {
  const std::string path = plans_of_set().back();
  const auto file = files_.open(path);
  formats::PlanHead before = formats::PlanReader(*file, path).head();
  for (formats::PlanHead* plan : {&before, &head})
    plan->options.erase("source_folder");  // where the files are tells it
  const std::string difference = option_difference(before, head);
  if (difference.empty()) return;
  throw Error(ErrorCode::conflict, At{set_}, "--append needs the options that '{}' was made with: {}", set_,
              difference);
}

void Generation::make_folder() const {
  if (number_ > 1) Generation(files_, set_, number_ - 2).discard();
  files_.create_directories(state_of(folder_));
  files_.sync_directory(state_of(set_));
  for (const std::string& folder : {folder_, state_of(folder_)}) io::remove_stale_temps(files_, folder);
}

formats::Manifest Generation::whole_manifest() const {
  const formats::Manifest added = manifest();
  formats::Manifest whole = manifest_of_set();
  if (whole.plan_hash == added.plan_hash) return whole;
  const auto file = files_.open(plan_path());
  const formats::PlanStart start = formats::PlanReader(*file, plan_path()).head().start.value();
  if (whole.plan_hash != to_hex(start.plan)) {
    throw Error(ErrorCode::conflict, At{set_},
                "'{}' is another set than when an --append into it began; convert into an empty folder", set_);
  }
  whole = formats::join_manifests(std::move(whole), added);
  whole.skipped -= std::min(whole.skipped, start.readmitted);
  return whole;
}

void Generation::raise_records() const {
  raise(state_of(folder_), state_of(set_), false);
  raise(folder_, set_, false);
}

void Generation::raise_shards() const { raise(folder_, set_, true); }

/// What is named after a shard: the tars, or everything else.
void Generation::raise(const std::string& from, const std::string& to, bool tars) const {
  const auto file = files_.open(plan_path());
  const std::string prefix = formats::PlanReader(*file, plan_path()).head().name;
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

void Generation::end() const {
  constexpr const char* kDivision = ".division";
  if (const std::string division = plan_path() + kDivision; files_.exists(division))
    move(division, ended_plan_path() + kDivision);
  move(plan_path(), ended_plan_path());
  files_.sync_directory(state_of(set_));
  discard();
}

/// The plan goes last: until then, the next run finds an --append that was begun.
void Generation::discard() const {
  remove_files(files_, folder_, {});
  remove_files(files_, state_of(folder_), plan_path());
  if (is_begun()) {
    files_.remove(plan_path());
    files_.sync_directory(state_of(folder_));
  }
  std::error_code not_empty;
  for (const std::string& folder : {state_of(folder_), folder_}) std::filesystem::remove(folder, not_empty);
}

}  // namespace shardkit::dataset
