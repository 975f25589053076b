#include "bench/input/folder_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "core/error.hpp"
#include "io/publish.hpp"

namespace fs = std::filesystem;

namespace shardkit {
namespace {

/// A folder's identity, to notice a link that leads back into a folder that we are inside of.
using FolderId = std::pair<dev_t, ino_t>;

FolderId folder_id(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) throw system_error(errno, "list", folder);
  return {info.st_dev, info.st_ino};
}

class FolderWalk {
 public:
  explicit FolderWalk(Context& context) : context_(context) {}

  void walk(const std::string& folder) {
    const FolderId id = folder_id(folder);
    if (std::ranges::find(inside_, id) != inside_.end()) return;
    if (inside_.empty() || inside_.back().first != id.first) refuse_made_up_files(folder);
    inside_.push_back(id);
    std::error_code error;
    for (fs::directory_iterator item(folder, error), end; !error && item != end; item.increment(error)) {
      context_.throw_if_stopped();
      take(*item, folder);
    }
    if (error) throw system_error(error.value(), "list", folder);
    inside_.pop_back();
  }

  std::vector<std::string> take_files() { return std::move(files_); }

 private:
  void take(const fs::directory_entry& entry, const std::string& folder) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) return;
    std::error_code dangling;
    if (entry.is_directory(dangling)) return walk(join_path(folder, name));
    if (!entry.is_regular_file(dangling)) return;
    files_.push_back(join_path(folder, name));
    context_.progress().items.fetch_add(1, std::memory_order_relaxed);
  }

  Context& context_;
  std::vector<FolderId> inside_;
  std::vector<std::string> files_;
};

}  // namespace

void refuse_made_up_files(const std::string& folder) {
  struct statfs info {};
  if (::statfs(folder.c_str(), &info) != 0) return;
  if (info.f_type != PROC_SUPER_MAGIC && info.f_type != SYSFS_MAGIC) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("'{}' lies on {}, whose files the kernel makes up; name the data's folder", folder,
                          info.f_type == SYSFS_MAGIC ? "sysfs" : "proc"),
              folder);
}

std::vector<std::string> list_files(const std::string& folder, Context& context) {
  FolderWalk walk(context);
  walk.walk(folder);
  std::vector<std::string> files = walk.take_files();
  std::ranges::sort(files);
  return files;
}

}  // namespace shardkit
