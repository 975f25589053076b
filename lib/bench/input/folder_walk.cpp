#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "bench/input/input_files.hpp"
#include "core/error.hpp"
#include "io/publish.hpp"

namespace shardkit::bench {
namespace {

using FolderId = std::pair<dev_t, ino_t>;

struct PendingFolder {
  std::string path;
  std::vector<FolderId> inside_of;  ///< the folders that led here, to notice links that lead back
};

struct FolderEntry {
  std::string name;
  unsigned char type = DT_UNKNOWN;
};

/// Throws Error{unsupported} for a folder of a file system whose files the kernel makes up: their links lead
/// everywhere, and nothing of them is stored. Passes over what cannot be asked.
void refuse_made_up_files(const std::string& folder) {
  struct statfs info {};
  if (::statfs(folder.c_str(), &info) != 0) return;
  if (info.f_type != PROC_SUPER_MAGIC && info.f_type != SYSFS_MAGIC) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("'{}' lies on {}, whose files the kernel makes up; name the data's folder", folder,
                          info.f_type == SYSFS_MAGIC ? "sysfs" : "proc"),
              folder);
}

/// Opens, reads and closes a folder.
std::vector<FolderEntry> entries_of(const std::string& path, FolderId& id) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  struct stat info {};
  if (!folder || ::fstat(::dirfd(folder.get()), &info) != 0) throw system_error(errno, "list", path);
  id = {info.st_dev, info.st_ino};
  std::vector<FolderEntry> entries;
  errno = 0;
  while (const dirent* const entry = ::readdir(folder.get())) {  // NOLINT: each thread has a folder of its own
    if (entry->d_name[0] != '.') entries.push_back({entry->d_name, entry->d_type});
  }
  if (errno != 0) throw system_error(errno, "list", path);
  return entries;
}

/// Links and file systems that do not say have to be asked.
unsigned char type_of(const std::string& path, unsigned char said) {
  if (said != DT_LNK && said != DT_UNKNOWN) return said;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return DT_UNKNOWN;  // a link that leads nowhere
  if (S_ISDIR(info.st_mode)) return DT_DIR;
  return S_ISREG(info.st_mode) ? DT_REG : DT_UNKNOWN;
}

}  // namespace

FolderListing walk_folders(const std::vector<std::string>& roots, Context& context) {
  FolderListing listing;
  std::vector<PendingFolder> pending;
  for (const std::string& root : roots) pending.push_back({root, {}});
  while (!pending.empty()) {
    context.throw_if_stopped();
    const PendingFolder folder = std::move(pending.back());
    pending.pop_back();
    const auto begin = std::chrono::steady_clock::now();
    FolderId id;
    const auto entries = entries_of(folder.path, id);
    if (std::ranges::find(folder.inside_of, id) != folder.inside_of.end()) continue;
    if (folder.inside_of.empty() || folder.inside_of.back().first != id.first) refuse_made_up_files(folder.path);
    const std::size_t known = listing.files.size();
    std::vector<PendingFolder> below;
    for (const FolderEntry& entry : entries) {
      const std::string path = io::join_path(folder.path, entry.name);
      const unsigned char type = type_of(path, entry.type);
      if (type == DT_REG) listing.files.push_back(path);
      if (type == DT_DIR) below.push_back({path, folder.inside_of});
    }
    listing.latency.record(std::chrono::steady_clock::now() - begin);
    for (PendingFolder& next : below) {
      next.inside_of.push_back(id);
      pending.push_back(std::move(next));
    }
    context.progress().items.fetch_add(listing.files.size() - known, std::memory_order_relaxed);
  }
  std::ranges::sort(listing.files);
  return listing;
}

}  // namespace shardkit::bench
