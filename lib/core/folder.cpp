#include "core/folder.hpp"

#include <cerrno>
#include <memory>

#include <dirent.h>
#include <sys/stat.h>

namespace shardkit {

bool FolderEntry::is_folder() const {
  if (type != DT_LNK && type != DT_UNKNOWN) return type == DT_DIR;
  struct stat info {};
  return ::stat(path().c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::vector<FolderEntry> folder_entries(const std::string& folder, std::error_code& error) {
  std::vector<FolderEntry> entries;
  error.clear();
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), &::closedir);
  errno = opened ? 0 : errno;
  while (opened) {
    errno = 0;
    const dirent* const entry = ::readdir(opened.get());  // NOLINT: no other thread uses this folder
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back({folder, std::string(name), entry->d_type});
  }
  if (errno != 0) error = std::error_code(errno, std::generic_category());
  return entries;
}

}  // namespace shardkit
