#include "core/folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/stat.h>

#include "core/text.hpp"

namespace shardkit {

unsigned char FolderEntry::followed_type() const {
  if (type != DT_LNK && type != DT_UNKNOWN) return type;
  struct stat info {};
  if (::stat(path().c_str(), &info) != 0) return DT_UNKNOWN;
  return static_cast<unsigned char>(IFTODT(info.st_mode));  // a macro of glibc that gives an unsigned int
}

std::vector<FolderEntry> folder_entries(const std::string& folder, std::error_code& error, FolderId* id) {
  std::vector<FolderEntry> entries;
  error.clear();
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), &::closedir);
  struct stat info {};
  if (!opened || (id != nullptr && ::fstat(::dirfd(opened.get()), &info) != 0)) {
    error = std::error_code(errno, std::generic_category());
    return entries;
  }
  if (id != nullptr) *id = {info.st_dev, info.st_ino};
  const auto shared = std::make_shared<const std::string>(folder);
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(opened.get());  // NOLINT: no other thread uses this folder
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back({shared, std::string(name), entry->d_type});
  }
  if (errno != 0) error = std::error_code(errno, std::generic_category());
  return entries;
}

bool is_made_by_system(std::string_view folder_name) {
  constexpr auto names = std::to_array<std::string_view>({"$recycle.bin",
                                                          "recycler",
                                                          "recycled",
                                                          "#recycle",
                                                          "@recycle",
                                                          "@recently-snapshot",
                                                          "#snapshot",
                                                          "@tmp",
                                                          "@eadir",
                                                          "lost+found",
                                                          "system volume information",
                                                          "__macosx",
                                                          ".trash",
                                                          ".trashes",
                                                          ".snapshot",
                                                          ".snapshots",
                                                          ".zfs",
                                                          ".spotlight-v100",
                                                          ".fseventsd",
                                                          ".temporaryitems",
                                                          ".documentrevisions-v100"});
  const std::string name = lower_case(folder_name);
  return name.starts_with(".trash-") || std::ranges::find(names, name) != names.end();
}

std::filesystem::path resolved_path(const std::string& path) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
}

bool is_hidden_or_system(std::string_view name) { return name.starts_with('.') || is_made_by_system(name); }

}  // namespace shardkit
