#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <dirent.h>
#include <sys/types.h>

namespace shardkit {

/// The same for all paths that lead to a folder.
using FolderId = std::pair<dev_t, ino_t>;

/// An entry of a folder.
struct FolderEntry {
  std::shared_ptr<const std::string> folder;  ///< as it was given; the entries of a folder share it
  std::string name;                           ///< in it
  unsigned char type = DT_UNKNOWN;            ///< as readdir(3) gives it: not all file systems have types

  std::string path() const { return folder->ends_with('/') ? *folder + name : *folder + '/' + name; }
  /// DT_REG, DT_DIR, ... after following links, with a call where `type` does not tell. DT_UNKNOWN for what leads
  /// nowhere, or this user may not follow.
  unsigned char followed_type() const;
  bool is_folder() const { return followed_type() == DT_DIR; }
};

/// The entries of `folder` except "." and "..", in the order of the file system. After an error those before it, or
/// none. Sets `id`, if given, once the folder is open. Where memory is short this throws std::bad_alloc, while the
/// iterators of libstdc++ 12 end the program: they allocate in functions that are noexcept.
std::vector<FolderEntry> folder_entries(const std::string& folder, std::error_code& error, FolderId* id = nullptr);

/// True for folders that operating systems and file servers make beside data and that never contain any, in any case of
/// letters: wastes ($Recycle.Bin, RECYCLER, #recycle, @Recycle, .Trash-1000), snapshots (#snapshot, .snapshot), and
/// indexes (@eaDir, __MACOSX, System Volume Information). Often only root may read them (lost+found).
bool is_made_by_system(std::string_view folder_name);

/// The absolute path without links, "." and "..", so that two paths can be compared. What does not exist is known only
/// by its name. (std::filesystem::weakly_canonical() alone leaves a path relative if nothing of it exists.)
std::filesystem::path resolved_path(const std::string& path);

/// True for names that never contain data: hidden ones, and those of is_made_by_system().
bool is_hidden_or_system(std::string_view name);

}  // namespace shardkit
