#include "staging/eviction.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include <sys/stat.h>

#include "catalog/object_names.hpp"
#include "core/error.hpp"
#include "io/contained_folder.hpp"
#include "io/folder_lock.hpp"
#include "io/publish.hpp"
#include "staging/lease.hpp"
#include "staging/stage_journal.hpp"
#include "staging/stage_layout.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kDiskBlock = 512;

bool is_leased(const std::string& folder, WallTime now) {
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
    check_names({name}, folder);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Opens a folder on the way to a file; not open where it is missing or a link is in the way.
File folder_without_links(const ContainedFolder& root, const std::string& relative) {
  try {
    auto folder = root.folder(relative, false);
    return folder ? std::move(*folder) : File();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::conflict) return {};
    throw;
  }
}

/// Removes the file, if that is what stands there.
void remove_file(FileSystem& files, const ContainedFolder& root, const std::string& name) {
  const File folder = folder_without_links(root, folder_of(name));
  if (folder && standing_at(folder, last_part(name)) == Standing::file) files.remove_below(folder, last_part(name));
}

void remove_durably(FileSystem& files, const ContainedFolder& root, const std::string& name) {
  remove_file(files, root, name);
  files.sync_directory(join_path(root.path(), folder_of(name)));
}

/// Removes the folders that files of these names lay in, where nothing else is in them.
void remove_empty_folders(const ContainedFolder& root, const StageJournal::State& journal) {
  std::set<std::string, std::greater<>> folders;  // what is below comes before what is above
  for (const auto& [name, file] : journal.files) {
    for (std::string up = folder_of(name); !up.empty() && folders.insert(up).second;) up = folder_of(up);
  }
  for (const std::string& folder : folders) {
    if (folder_without_links(root, folder_of(folder))) root.remove_if_empty(folder);
  }
}

/// Parts of files, with their logs.
Leftovers sweep_partials(FileSystem& files, const ContainedFolder& root, bool remove) {
  Leftovers found;
  const File partials = folder_without_links(root, kPartialFolderPath);
  if (!partials) return found;
  for (const std::string& name : names_in(partials)) {
    if (standing_at(partials, name) != Standing::file) continue;
    struct stat info {};
    const bool known = ::fstatat(partials.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (known) found += {1, static_cast<std::uint64_t>(info.st_blocks) * kDiskBlock};
    if (remove) files.remove_below(partials, name);
  }
  return found;
}

std::uint64_t ended_leases(const std::string& folder, WallTime now) {
  const auto leases = read_leases(folder);
  return static_cast<std::uint64_t>(
      std::ranges::count_if(leases, [&](const LeaseFile& lease) { return !lease.lives_at(now); }));
}

}  // namespace

bool evict(FileSystem& files, const std::string& folder, WallTime now, const std::stop_token& stop) {
  const ContainedFolder root(folder);
  if (!root.folder(kStateFolderPath, false)) return true;  // gone meanwhile
  FolderLock lock(join_path(folder, kStageLockPath));
  if (!lock.try_take(Hold::exclusive) || is_leased(folder, now)) return false;
  const StageJournal::State journal = StageJournal::read(join_path(folder, kStageJournalPath));
  remove_durably(files, root, kStagedMarkerPath);
  for (const auto& [name, file] : journal.files) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while evicting", folder);
    if (!file.found) remove_staged_file(files, root, name);
  }
  sweep_partials(files, root, true);
  remove_ended_leases(files, folder, now);
  remove_file(files, root, kStagedMarkerLockPath);
  remove_durably(files, root, kStageJournalPath);
  root.remove_if_empty(kPartialFolderPath);
  root.remove_if_empty(kLeaseFolderPath);
  remove_empty_folders(root, journal);
  return true;
}

bool discard(FileSystem& files, const std::string& folder, const std::vector<std::string>& names, WallTime now) {
  const ContainedFolder root(folder);
  FolderLock lock(join_path(folder, kStageLockPath));
  if (!lock.try_take(Hold::exclusive) || is_leased(folder, now)) return false;
  const StageJournal::State journal = StageJournal::read(join_path(folder, kStageJournalPath));
  remove_durably(files, root, kStagedMarkerPath);
  for (const std::string& name : names) {
    if (journal.files.contains(name)) remove_staged_file(files, root, name);
  }
  return true;
}

Leftovers sweep_leftovers(FileSystem& files, const std::string& folder, WallTime now, bool remove) {
  const ContainedFolder root(folder);
  FolderLock lock(join_path(folder, kStageLockPath));
  if (!lock.try_take(Hold::exclusive)) return {};
  Leftovers found;
  found.files += ended_leases(folder, now);
  if (remove) {
    remove_ended_leases(files, folder, now);
    for (const char* place : {"", kStateFolderPath, kLeaseFolderPath}) {
      found.files += remove_stale_temps(files, join_path(folder, place));
    }
  }
  if (!is_leased(folder, now)) found += sweep_partials(files, root, remove);
  return found;
}

void remove_staged_file(FileSystem& files, const ContainedFolder& root, const std::string& name) {
  if (can_be_a_file(name, root.path())) remove_file(files, root, name);
}

Leftovers& Leftovers::operator+=(const Leftovers& more) {
  files += more.files;
  bytes += more.bytes;
  return *this;
}

}  // namespace shardkit
