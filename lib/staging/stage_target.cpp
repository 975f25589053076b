#include "staging/stage_target.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <sys/stat.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "formats/manifest.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/file_copy.hpp"
#include "staging/lost_journal.hpp"
#include "staging/node_cache.hpp"

namespace shardkit::staging {
namespace {

/// The name of `path` below the partial folder, without its ending.
std::string stem_of(const std::filesystem::path& path) { return path.stem().string(); }

void add_once(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& item : more) {
    if (std::ranges::find(all, item) == all.end()) all.push_back(item);
  }
}

std::map<std::string, std::string> pins_of(const std::vector<StageFile>& files) {
  std::map<std::string, std::string> pins;
  for (const StageFile& file : files) pins.emplace(file.object.name, file.pin());
  return pins;
}

bool is_manifest(const std::string& name) { return name.substr(name.rfind('/') + 1) == formats::kManifestName; }

std::string weaker(const std::string& a, const std::string& b) {
  return std::ranges::find(kVerifiedLevels, a) < std::ranges::find(kVerifiedLevels, b) ? a : b;
}

}  // namespace

StageTarget::StageTarget(io::FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {
  while (folder_.size() > 1 && folder_.ends_with('/'))
    folder_.pop_back();  // so that it equals a file's parent_folder()
}

bool StageTarget::is_own_state(const std::string& name) {
  for (const char* own : {kStagedMarkerPath, kStagedMarkerLockPath, kStageJournalPath, kStageLockPath}) {
    if (name == own) return true;
  }
  return name.starts_with(formats::kUploadsFolder) || name.starts_with(kPartialFolderPath + std::string("/")) ||
         name.starts_with(kLeaseFolderPath + std::string("/"));
}

std::string StageTarget::path_of(const std::string& name) const { return io::join_path(folder_, name); }

std::string StageTarget::partial_path(const std::string& name) const {
  return io::join_path(path_of(kPartialFolderPath), to_hex(xxh3_128(as_bytes(name))) + kPartialExtension);
}

std::string StageTarget::part_log_path(const std::string& name) const {
  return io::join_path(path_of(kPartialFolderPath), to_hex(xxh3_128(as_bytes(name))) + kPartLogExtension);
}

bool StageTarget::holds(const StagedSetId& set, const std::vector<ExpectedFile>& expected) const {
  const auto found = marker();
  if (!found || !(found->manifest == set.hash)) return false;
  const StageJournal::State state = StageJournal::read(path_of(kStageJournalPath));
  const auto is_right = [&](const ExpectedFile& file) {
    return is_there(file.name, state) && (!file.pin || is_same_version(state.files.at(file.name).pin, *file.pin));
  };
  return state.set && state.set->is(set) && std::ranges::all_of(expected, is_right);
}

void StageTarget::join(const StagedSetId& set, const std::vector<StageFile>& wanted, const CheckReplace& check_replace,
                       const std::stop_token& stop) {
  files_.create_directories(folder_);
  contained_ = std::make_unique<io::ContainedFolder>(folder_);
  contained_->folder(kStateFolderPath, true);
  lock_.emplace(path_of(kStageLockPath));
  while (!take_alone(set, wanted, check_replace)) {
    if (lock_->try_take(io::LockMode::shared)) {
      const StageJournal::State state = StageJournal::read(path_of(kStageJournalPath));
      if (state.set && state.set->is(set)) break;
      lock_->release();
    }
    io::wait_for_lock(folder_, stop);
  }
  journal_ = std::make_unique<StageJournal>(files_, path_of(kStageJournalPath));
}

void StageTarget::release() {
  journal_.reset();
  contained_.reset();
  lock_.reset();
}

/// Prepares the folder if no other process works in it; false if one does.
bool StageTarget::take_alone(const StagedSetId& set, const std::vector<StageFile>& wanted,
                             const CheckReplace& check_replace) {
  if (!lock_->try_take(io::LockMode::exclusive)) return false;
  adopt(set, wanted, check_replace);
  lock_->try_take(io::LockMode::shared);  // no other can be in the way of ours
  return true;
}

void StageTarget::adopt(const StagedSetId& set, const std::vector<StageFile>& wanted,
                        const CheckReplace& check_replace) {
  const auto found = marker();
  StageJournal::State state = journal_of(folder_);
  const bool grows = only_grows(state, wanted);
  if (grows) {
    // Nothing that anybody reads is replaced or removed.
  } else if (found && !(found->manifest == set.hash)) {
    check_replace(*found, true);
  } else if (!found && state.set && !state.set->is(set)) {
    check_replace({.source = state.set->source, .manifest = state.set->hash}, false);
  }
  contained_->folder(kPartialFolderPath, true);
  for (const std::string& folder : {folder_, path_of(kStateFolderPath), path_of(kPartialFolderPath)}) {
    io::remove_stale_temps(files_, folder);
  }
  const bool is_same = state.set && state.set->is(set);
  if (found && !(is_same && all_there(state))) {
    files_.remove(path_of(kStagedMarkerPath));
    files_.sync_directory(path_of(kStateFolderPath));
  }
  if (is_same) {
    remove_partials(state, nullptr);  // all the rest is of use, for other parts of the set too
  } else {
    std::set<std::string> kept;
    for (const StageFile& file : wanted) kept.insert(stem_of(partial_path(file.object.name)));
    forget_outdated(state, wanted, grows);
    remove_partials(state, &kept);
  }
  if (!is_same) files_.remove(path_of(kHitsPath));
  state.set = set;
  StageJournal::rewrite(files_, path_of(kStageJournalPath), state);
}

/// Removes files of a copy of another set that these files do not need. Only files named in the journal are ours.
void StageTarget::forget_outdated(StageJournal::State& state, const std::vector<StageFile>& wanted, bool grows) {
  const auto pins = pins_of(wanted);
  std::erase_if(state.files, [&](const auto& item) {
    const auto pin = pins.find(item.first);
    if (pin != pins.end() && pin->second == item.second.pin) return false;
    if (grows && is_manifest(item.first)) return false;  // the newer one will replace it
    if (!item.second.found) remove_staged_file(files_, *contained_, item.first);
    return true;
  });
}

bool StageTarget::only_grows(const StageJournal::State& state, const std::vector<StageFile>& wanted) {
  const auto pins = pins_of(wanted);
  return !state.files.empty() && std::ranges::all_of(state.files, [&](const auto& item) {
    const auto pin = pins.find(item.first);
    return is_manifest(item.first) || (pin != pins.end() && pin->second == item.second.pin);
  });
}

/// Whether a file is in place, unchanged as far as can be known without reading it.
bool StageTarget::is_there(const std::string& name, const StageJournal::State& state) const {
  const auto entry = state.files.find(name);
  return entry != state.files.end() && entry->second.is_unchanged_at(path_of(name));
}

/// Whether every file that the journal names is.
bool StageTarget::all_there(const StageJournal::State& state) const {
  return std::ranges::all_of(state.files, [&](const auto& item) { return is_there(item.first, state); });
}

/// The same while other processes stage: they name a file in the journal before they rename it into place.
bool StageTarget::all_there_or_coming(const StageJournal::State& state) const {
  return std::ranges::all_of(state.files, [&](const auto& item) {
    const std::string& name = item.first;
    return is_there(name, state) || size_on_disk(partial_path(name)) || is_there(name, state);
  });
}

/// Removes partial files and logs of files that are in place, and, when `kept` is given, all but those.
void StageTarget::remove_partials(const StageJournal::State& state, const std::set<std::string>* kept) {
  std::set<std::string> in_place;
  for (const auto& [name, file] : state.files) {
    if (is_there(name, state)) in_place.insert(stem_of(partial_path(name)));
  }
  for (const auto& entry : std::filesystem::directory_iterator(path_of(kPartialFolderPath))) {
    const std::string stem = stem_of(entry.path());
    if (in_place.contains(stem) || (kept != nullptr && !kept->contains(stem))) files_.remove(entry.path());
  }
}

bool StageTarget::is_complete(const StageFile& file, const StageJournal::State& journal) const {
  const std::string& name = file.object.name;
  const auto known = journal.files.find(name);
  return known == journal.files.end() ? size_on_disk(path_of(name)) == file.object.size
                                      : known->second.pin == file.pin() && is_there(name, journal);
}

std::uint64_t StageTarget::bytes_on_disk(const StageFile& file, const StageJournal::State& journal) const {
  if (is_complete(file, journal)) return file.object.size;
  struct stat partial {};
  if (::stat(partial_path(file.object.name).c_str(), &partial) != 0) return 0;
  return std::min(file.object.size, io::allocated_bytes(partial));
}

std::uint64_t StageTarget::bytes_arrived(const StageFile& file, const StageJournal::State& journal) const {
  if (is_complete(file, journal)) return file.object.size;
  if (!file.is_pinned()) return 0;  // fetched again as a whole
  const std::string& name = file.object.name;
  return arrived_bytes(partial_path(name),
                       PartLog(files_, part_log_path(name)).read({name, file.pin(), file.object.size}));
}

void StageTarget::check_manifest_name(const ManifestSet& set) const {
  const std::string path = path_of(set.name());
  if (journal_->find(set.name()) || !size_on_disk(path)) return;
  if (io::read_text_file(path) == set.text) return;
  throw Error(ErrorCode::conflict, At{path},
              "'{}' already exists and was not created by shardctl stage; choose an empty folder, or move it away: {}",
              path, remedy::in_text(remedy::move_away({path})));
}

void StageTarget::sync_names(const std::vector<StageFile>& wanted) {
  journal_->refresh();
  journal_->sync();
  std::set<std::string> folders{folder_};
  for (const StageFile& file : wanted) {
    for (std::string up = io::parent_folder(path_of(file.object.name)); folders.insert(up).second;)
      up = io::parent_folder(up);
  }
  for (const std::string& folder : folders) files_.sync_directory(folder);
}

void StageTarget::finish(const std::vector<ManifestSet>& sets, StagedMarker marker,
                         const std::vector<StageFile>& wanted, const std::vector<std::string>& whole) {
  const io::FolderLock alone(path_of(kStagedMarkerLockPath), {});  // held for milliseconds
  for (const ManifestSet& set : sets) {
    const std::string path = path_of(set.name());
    io::publish(files_, path, as_bytes(set.text));
    journal_->record(set.name(), {set.text.size(), to_hex(set.hash), set.hash, false, seen_at(path)});
  }
  sync_names(wanted);
  const StageJournal::State state = journal_->state();
  const auto before = this->marker();
  if (before && before->manifest == marker.manifest && all_there_or_coming(state)) {
    if (!marker.subsets.empty()) marker.verified = weaker(before->verified, marker.verified);
    add_once(marker.subsets, before->subsets);
  }
  if (std::ranges::all_of(whole, [&](const std::string& name) { return is_there(name, state); })) {
    marker.subsets.clear();
  }
  for (const auto& [name, file] : state.files) {
    ++marker.files;
    marker.bytes += file.bytes;
  }
  io::publish(files_, path_of(kStagedMarkerPath), as_bytes(write_staged_marker(marker)));
}

void StageTarget::warn_of_strangers(Context& ctx) {
  journal_->refresh();
  const StageJournal::State state = journal_->state();
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".tar") || name.starts_with('.') || entry.is_directory() || state.files.contains(name))
      continue;
    ctx.warn("extra_shard", "'{}' does not belong to the set, but readers of *.tar will read it",
             entry.path().string());
  }
}

}  // namespace shardkit::staging
