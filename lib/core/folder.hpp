#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace shardkit {

/// An entry of a folder.
struct FolderEntry {
  std::string folder;      ///< as it was given
  std::string name;        ///< in it
  unsigned char type = 0;  ///< DT_REG, DT_DIR, ... of readdir(3); DT_UNKNOWN where the file system has no types

  std::string path() const { return folder.ends_with('/') ? folder + name : folder + '/' + name; }
  /// Follows links. False for one that leads nowhere, or that this user may not follow.
  bool is_folder() const;
};

/// The entries of `folder` except "." and "..", in the order of the file system. After an error those before it, or
/// none. Where memory is short this throws std::bad_alloc, while the iterators of libstdc++ 12 end the program: they
/// allocate in functions that are noexcept.
std::vector<FolderEntry> folder_entries(const std::string& folder, std::error_code& error);

}  // namespace shardkit
