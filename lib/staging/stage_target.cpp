#include "staging/stage_target.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "formats/index_kinds.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/file_copy.hpp"
#include "staging/lost_journal.hpp"
#include "staging/meeting_names.hpp"
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

using Pins = std::map<std::string, std::string>;  // by name

Pins pins_of(const std::vector<StageFile>& files) {
  Pins pins;
  for (const StageFile& file : files) pins.emplace(file.object.name, file.pin());
  return pins;
}

/// Whether pins are those of one file, or of indexes of one shard, which may have been copied.
bool is_same_file(const std::string& name, std::string_view pin, std::string_view other) {
  const bool is_index = name.ends_with(".tar.index");
  return pin == other || (is_index && pin.substr(0, pin.find('/')) == other.substr(0, other.find('/')));
}

/// Whether all files that stages brought are also wanted, with these pins, or describe the whole set, such as manifests.
/// False if there are none.
bool only_grows(const StageJournal::State& state, const Pins& pins) {
  return !state.files.empty() && std::ranges::all_of(state.files, [&](const auto& item) {
    const auto pin = pins.find(item.first);
    return formats::is_set_file(item.first) || (pin != pins.end() && is_same_file(item.first, pin->second, item.second.pin));
  });
}

Hash128 hash_of_file(const std::string& path, const std::stop_token& stop) {
  Xxh3Stream hash;
  io::FileSource(io::File::open_regular(path)).stream_all([&](Bytes piece) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while checking", path);
    hash.update(piece);
  });
  return hash.digest();
}

/// The hash of a file that the manifest shows to be right; empty for any other.
std::optional<Hash128> right_hash(const StageFile& file, const std::string& path, const std::stop_token& stop) {
  if (size_on_disk(path) != file.object.size || (!file.hash && !file.indexed)) return std::nullopt;
  const Hash128 hash = hash_of_file(path, stop);
  return mismatch(file, path, hash) ? std::nullopt : std::optional(hash);
}

/// A link counts, wherever it leads.
bool something_stands_at(const std::string& path) {
  return std::filesystem::symlink_status(path).type() != std::filesystem::file_type::not_found;
}

Error stranger_error(const std::string& path) {
  return Error(ErrorCode::conflict, At{path},
               "'{}' already exists, was not created by shardctl stage and has other bytes, or cannot be "
               "checked; choose an empty folder, or move it elsewhere",
               path);
}

}  // namespace

std::optional<std::string> index_fault(const formats::ManifestShard& shard, ByteSource& index,
                                       const std::string& path) try {
  const formats::ShardSummary summary = formats::read_shard_index(index, path, {});
  if (summary.name == shard.name && summary.bytes == shard.bytes && summary.xxh3_128 == shard.xxh3_128)
    return std::nullopt;
  return fmt::format("the manifest lists shard '{}' with XXH3-128 {}, but the file describes '{}' with {}", shard.name,
                     to_hex(shard.xxh3_128), summary.name, to_hex(summary.xxh3_128));
} catch (const Error& error) {
  if (error.code() != ErrorCode::corrupt) throw;
  return error.what();
}

std::optional<std::string> mismatch(const StageFile& file, const std::string& path, const Hash128& found) {
  if (file.hash && !(found == *file.hash)) {
    return fmt::format("the manifest has XXH3-128 {}, but the file has {}", to_hex(*file.hash), to_hex(found));
  }
  if (!file.indexed) return std::nullopt;
  io::FileSource index(path);
  return index_fault(*file.indexed, index, path);
}

bool is_still_coming(const std::string& folder, const std::string& name) {
  return !something_stands_at(io::join_path(folder, name)) && size_on_disk(partial_path(folder, name));
}

std::string partial_path(const std::string& folder, const std::string& name) {
  return io::join_path(io::join_path(folder, kPartialFolderPath), to_hex(xxh3_128(as_bytes(name))) + kPartialExtension);
}

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

std::string StageTarget::partial_path(const std::string& name) const { return staging::partial_path(folder_, name); }

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

void StageTarget::give_up() noexcept {
  try {
    const std::string path = path_of(kStageJournalPath);
    if (journal_ && lock_->try_take(io::LockMode::exclusive) && StageJournal::read(path).files.empty()) {
      files_.remove(path);
      for (const char* folder : {kPartialFolderPath, kLeaseFolderPath}) contained_->remove_if_empty(folder);
    }
  } catch (...) {  // a journal that names no file does no harm
  }
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
  if (const auto other = replaced_by(set, wanted, state)) check_replace(*other);
  // of a stage that was killed before it gave them their names
  std::erase_if(state.files, [&](const auto& item) { return is_still_coming(folder_, item.first); });
  contained_->folder(kPartialFolderPath, true);
  for (const std::string& folder : {folder_, path_of(kStateFolderPath), path_of(kPartialFolderPath)}) {
    io::remove_stale_temps(files_, folder);
  }
  const bool is_same = state.set && state.set->is(set);
  const bool stays_whole = is_same || only_grows(state, pins_of(wanted));  // until the new manifest replaces the old one
  if (found && !(stays_whole && all_there(state))) {
    files_.remove(path_of(kStagedMarkerPath));
    files_.sync_directory(path_of(kStateFolderPath));
  }
  if (is_same) {
    remove_partials(state, nullptr);  // all the rest is of use, for other parts of the set too
  } else {
    std::set<std::string> kept;
    for (const StageFile& file : wanted) kept.insert(stem_of(partial_path(file.object.name)));
    if (!stays_whole) forget_outdated(state, wanted);  // newer files replace those of a set that grows
    remove_partials(state, &kept);
    files_.remove(path_of(kHitsPath));
    state.commands.clear();
  }
  state.set = set;
  StageJournal::rewrite(files_, path_of(kStageJournalPath), state);
}

/// Removes files of a copy of another set that these files do not need. Only files named in the journal are ours.
void StageTarget::forget_outdated(StageJournal::State& state, const std::vector<StageFile>& wanted) {
  const auto pins = pins_of(wanted);
  std::erase_if(state.files, [&](const auto& item) {
    const auto pin = pins.find(item.first);
    if (pin != pins.end() && pin->second == item.second.pin) return false;
    if (!item.second.found) remove_staged_file(files_, *contained_, item.first);
    return true;
  });
}

std::optional<StageTarget::OtherSet> StageTarget::replaced_by(const StagedSetId& set,
                                                              const std::vector<StageFile>& wanted,
                                                              const StageJournal::State& journal) const {
  if (only_grows(journal, pins_of(wanted))) return std::nullopt;  // nothing that anybody reads is replaced
  if (const auto found = marker()) return found->manifest == set.hash ? std::nullopt : std::optional(OtherSet{*found});
  if (!journal.set || journal.set->is(set)) return std::nullopt;
  return OtherSet{{.source = journal.set->source, .manifest = journal.set->hash}, false};
}

/// Whether a file is in place, unchanged as far as can be known without reading it.
bool StageTarget::is_there(const std::string& name, const StageJournal::State& state) const {
  const auto entry = state.files.find(name);
  return entry != state.files.end() && is_unchanged_at(entry->second, path_of(name));
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
  return is_complete(file, journal) ? file.object.size : partial_bytes(file);
}

std::uint64_t StageTarget::partial_bytes(const StageFile& file) const {
  const std::string& name = file.object.name;
  return arrived_bytes(partial_path(name), PartLog(files_, part_log_path(name)).read(file));
}

bool StageTarget::is_in_place(const StageFile& file, const std::stop_token& stop) {
  const std::string path = path_of(file.object.name);
  if (!something_stands_at(path)) return false;
  auto known = journal_->find(file.object.name);
  if (!known) {
    journal_->refresh();
    known = journal_->find(file.object.name);
  }
  if (known) {
    if (known->pin != file.pin() || known->bytes != file.object.size) return false;
    return is_unchanged_at(*known, path) || has_right_bytes(file, *known, path, stop);
  }
  if (is_right_copy(file, path, stop)) return true;
  throw stranger_error(path);
}

/// Reads a file whose modification time or inode has changed since it was staged.
bool StageTarget::has_right_bytes(const StageFile& file, StagedFile known, const std::string& path,
                                  const std::stop_token& stop) {
  known.seen = seen_at(path);  // first: a change while it is read is noticed by the next stage
  if (size_on_disk(path) != known.bytes || !(hash_of_file(path, stop) == known.hash)) return false;
  journal_->record(file.object.name, known);
  return true;
}

bool StageTarget::is_right_copy(const StageFile& file, const std::string& path, const std::stop_token& stop) {
  const std::string seen = seen_at(path);
  const auto hash = right_hash(file, path, stop);
  if (hash) journal_->record(file.object.name, {file.object.size, file.pin(), *hash, true, seen});
  return hash.has_value();
}

void StageTarget::refuse_strangers(const std::vector<ManifestSet>& sets, const std::vector<StageFile>& wanted,
                                   const std::stop_token& stop) const {
  StageJournal::State journal = journal_of(folder_);
  for (const StageFile& file : wanted) {
    const std::string path = path_of(file.object.name);
    if (journal.files.contains(file.object.name) || !something_stands_at(path) || right_hash(file, path, stop))
      continue;
    journal = journal_of(folder_);  // another stage may have brought it just now
    if (!journal.files.contains(file.object.name)) throw stranger_error(path);
  }
  for (const ManifestSet& set : sets) check_manifest_name(set, journal);
}

void StageTarget::publish(const std::vector<CopiedFile>& batch) {
  for (const CopiedFile& copied : batch) {
    const StageFile& file = copied.copy->file();
    const std::string path = path_of(file.object.name);
    // Another process may have put it there since is_in_place() looked; files named in the journal are ours to replace.
    if (!journal_->find(file.object.name) && something_stands_at(path)) throw stranger_error(path);
    journal_->record(file.object.name,
                     {file.object.size, file.pin(), copied.hash, false, seen_at(partial_path(file.object.name))});
  }
  // Before the names: a file in place that no journal knows and no hash vouches for would count as a stranger's.
  journal_->sync();
  for (const CopiedFile& copied : batch) {
    const std::string& name = copied.copy->file().object.name;
    make_parent(name);
    files_.rename(partial_path(name), path_of(name));
    copied.copy->close();
  }
}

void StageTarget::make_parent(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return;
  const std::scoped_lock lock(folders_mutex_);
  std::string folder = name.substr(0, slash);
  if (made_folders_.contains(folder)) return;
  contained_->folder(folder, true);
  made_folders_.insert(std::move(folder));
}

void StageTarget::refuse_meeting_names(const std::vector<StageFile>& wanted) {
  std::vector<std::string> names;
  for (const StageFile& file : wanted) names.push_back(file.object.name);
  const auto pair = find_meeting_names(files_, path_of(kPartialFolderPath), names);
  if (!pair) return;
  throw Error(ErrorCode::unsupported, At{folder_},
              "'{}' and '{}' are one name on the file system of '{}'; choose a folder on a file system that keeps them "
              "apart, or leave one of them out with --exclude",
              pair->first, pair->second, folder_);
}

void StageTarget::check_manifest_name(const ManifestSet& set, const StageJournal::State& journal) const {
  const std::string path = path_of(set.name());
  if (journal.files.contains(set.name()) || !something_stands_at(path)) return;
  if (!size_on_disk(path) || io::read_text_file(path) != set.text) throw stranger_error(path);
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
    const auto known = journal_->find(set.name());
    if (known && known->pin == to_hex(set.hash) && is_unchanged_at(*known, path)) continue;
    check_manifest_name(set, journal_->state());
    io::publish(files_, path, as_bytes(set.text));
    journal_->record(set.name(), {set.text.size(), to_hex(set.hash), set.hash, false, seen_at(path)});
  }
  sync_names(wanted);
  const StageJournal::State state = journal_->state();
  const auto before = this->marker();
  if (before && before->manifest == marker.manifest && all_there_or_coming(state)) {
    if (!marker.subsets.empty()) marker.verified = std::min(before->verified, marker.verified);
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

void StageTarget::warn_of_strangers(Context& context) {
  journal_->refresh();
  std::set<std::string> staged;  // first parts of names
  for (const auto& [name, file] : journal_->state().files) staged.insert(name.substr(0, name.find('/')));
  std::set<std::string> others;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (is_hidden_or_system(name) || staged.contains(name)) continue;
    if (!name.ends_with(".tar") || entry.is_directory()) {
      others.insert(name);
      continue;
    }
    context.warn("extra_shard", "'{}' does not belong to the set, but readers of *.tar will read it",
                 entry.path().string());
  }
  if (others.empty()) return;
  context.warn("other_files",
               "'{}' also contains '{}'{}, which no stage brought: evictions leave it there, and a reader of the whole "
               "folder reads it too",
               folder_, *others.begin(), others.size() > 1 ? fmt::format(" and {} more", others.size() - 1) : "");
}

}  // namespace shardkit::staging
