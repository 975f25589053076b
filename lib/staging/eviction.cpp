#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

#include "catalog/object_location.hpp"
#include "core/error.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/lease.hpp"
#include "staging/lost_journal.hpp"
#include "staging/node_cache.hpp"
#include "staging/stage_journal.hpp"

namespace shardkit::staging {
namespace {

bool is_leased(const std::string& folder, system::WallTime now) {
  return std::ranges::any_of(read_leases(folder), [&](const LeaseFile& lease) { return lease.lives_at(now); });
}

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

/// A journal is a file that anybody may have written into.
bool can_be_a_file(const std::string& name, const std::string& folder) {
  try {
    catalog::check_names({name}, folder);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Opens a folder on the path of a file; not open if it is missing or a link is in the path.
io::File folder_without_links(const io::ContainedFolder& root, const std::string& relative) {
  try {
    auto folder = root.folder(relative, false);
    return folder ? std::move(*folder) : io::File();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::conflict) return {};
    throw;
  }
}

/// Removes the file, if it is that kind of file.
void remove_file(io::FileSystem& files, const io::ContainedFolder& root, const std::string& name) {
  const io::File folder = folder_without_links(root, folder_of(name));
  if (folder && io::standing_at(folder, last_part(name)) == io::Standing::file)
    files.remove_below(folder, last_part(name));
}

void remove_durably(io::FileSystem& files, const io::ContainedFolder& root, const std::string& name) {
  remove_file(files, root, name);
  files.sync_directory(io::join_path(root.path(), folder_of(name)));
}

/// Removes the folders of files with these names, if nothing else is in them.
void remove_empty_folders(const io::ContainedFolder& root, const StageJournal::State& journal) {
  std::set<std::string, std::greater<>> folders;  // deeper folders come first
  for (const auto& [name, file] : journal.files) {
    for (std::string up = folder_of(name); !up.empty() && folders.insert(up).second;) up = folder_of(up);
  }
  for (const std::string& folder : folders) {
    if (folder_without_links(root, folder_of(folder))) root.remove_if_empty(folder);
  }
}

/// Parts of files, with their logs.
Leftovers sweep_partials(io::FileSystem& files, const io::ContainedFolder& root, bool remove) {
  Leftovers found;
  const io::File partials = folder_without_links(root, kPartialFolderPath);
  if (!partials) return found;
  for (const std::string& name : io::names_in(partials)) {
    if (io::standing_at(partials, name) != io::Standing::file) continue;
    struct stat info {};
    const bool known = ::fstatat(partials.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (known) found += {1, io::allocated_bytes(info)};
    if (remove) files.remove_below(partials, name);
  }
  return found;
}

/// Temporary files of killed processes; returns their number.
std::uint64_t remove_temps(io::FileSystem& files, const std::string& folder) {
  std::uint64_t removed = 0;
  for (const char* part : {"", kStateFolderPath, kLeaseFolderPath}) {
    removed += io::remove_stale_temps(files, io::join_path(folder, part));
  }
  return removed;
}

/// The journal of a folder; what its marker restores of a lost one is written before that marker is removed.
StageJournal::State restored_journal(io::FileSystem& files, const std::string& folder) {
  const std::string path = io::join_path(folder, kStageJournalPath);
  StageJournal::State journal = journal_of(folder);
  if (journal.files.size() == StageJournal::read(path).files.size()) return journal;
  try {
    StageJournal::rewrite(files, path, journal);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) throw;  // the eviction makes some
  }
  return journal;
}

std::uint64_t ended_leases(const std::string& folder, system::WallTime now) {
  const auto leases = read_leases(folder);
  return static_cast<std::uint64_t>(
      std::ranges::count_if(leases, [&](const LeaseFile& lease) { return !lease.lives_at(now); }));
}

}  // namespace

bool evict(io::FileSystem& files, const std::string& folder, system::WallTime now, const std::stop_token& stop) {
  const io::ContainedFolder root(folder);
  if (!root.folder(kStateFolderPath, false)) return true;  // gone meanwhile
  io::FolderLock lock(io::join_path(folder, kStageLockPath));
  if (!lock.try_take(io::LockMode::exclusive) || is_leased(folder, now)) return false;
  const StageJournal::State journal = restored_journal(files, folder);
  StageJournal::State found = journal;
  std::erase_if(found.files, [](const auto& item) { return !item.second.found; });
  remove_durably(files, root, kStagedMarkerPath);
  for (const auto& [name, file] : journal.files) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while evicting", folder);
    if (!file.found) remove_staged_file(files, root, name);
  }
  sweep_partials(files, root, true);
  remove_ended_leases(files, folder, now);
  remove_temps(files, folder);
  remove_file(files, root, kStagedMarkerLockPath);
  remove_file(files, root, kHitsPath);
  if (found.files.empty()) {
    remove_durably(files, root, kStageJournalPath);
  } else {
    StageJournal::rewrite(files, io::join_path(folder, kStageJournalPath), found);  // they still take space
  }
  root.remove_if_empty(kPartialFolderPath);
  root.remove_if_empty(kLeaseFolderPath);
  remove_empty_folders(root, journal);
  return true;
}

bool discard(io::FileSystem& files, const std::string& folder, const std::vector<std::string>& names,
             system::WallTime now) {
  const io::ContainedFolder root(folder);
  io::FolderLock lock(io::join_path(folder, kStageLockPath));
  if (!lock.try_take(io::LockMode::exclusive)) return false;
  StageJournal::State journal = journal_of(folder);
  for (const std::string& name : names) {
    if (const auto file = journal.files.find(name); file != journal.files.end()) file->second.pin = kDamagedPin;
  }
  StageJournal::rewrite(files, io::join_path(folder, kStageJournalPath), journal);
  remove_durably(files, root, kStagedMarkerPath);
  for (const std::string& name : names) {
    if (journal.files.contains(name) && !is_leased(folder, now)) remove_staged_file(files, root, name);
  }
  return true;
}

Leftovers sweep_leftovers(io::FileSystem& files, const std::string& folder, system::WallTime now, bool remove) {
  const io::ContainedFolder root(folder);
  io::FolderLock lock(io::join_path(folder, kStageLockPath));
  if (!lock.try_take(io::LockMode::exclusive)) return {};
  Leftovers found;
  found.files += ended_leases(folder, now);
  if (remove) {
    remove_ended_leases(files, folder, now);
    found.files += remove_temps(files, folder);
  }
  if (!is_leased(folder, now)) found += sweep_partials(files, root, remove);
  return found;
}

void remove_staged_file(io::FileSystem& files, const io::ContainedFolder& root, const std::string& name) {
  if (can_be_a_file(name, root.path())) remove_file(files, root, name);
}

Leftovers& Leftovers::operator+=(const Leftovers& more) {
  files += more.files;
  bytes += more.bytes;
  return *this;
}

}  // namespace shardkit::staging
