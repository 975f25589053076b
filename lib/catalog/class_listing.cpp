#include "catalog/class_listing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "formats/portable_name.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit {
namespace {

constexpr std::array<std::string_view, 2> kUsualSidecars = {".json", ".txt"};

enum class EntryKind { folder, file };

struct Entry {
  std::string name;
  EntryKind kind;
};

/// What an entry is, links followed as torchvision does. A broken link counts as a file: reading it will tell.
EntryKind kind_of(int folder_fd, const dirent& entry) {
  if (entry.d_type == DT_DIR) return EntryKind::folder;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return EntryKind::file;
  struct stat info {};
  if (::fstatat(folder_fd, entry.d_name, &info, 0) != 0) return EntryKind::file;
  return S_ISDIR(info.st_mode) ? EntryKind::folder : EntryKind::file;
}

std::vector<Entry> list_folder(const File& folder) {
  const int copy = ::fcntl(folder.fd(), F_DUPFD_CLOEXEC, 0);  // closedir() closes what it is given
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(copy), &::closedir);
  if (!listing) throw system_error(errno, "list", folder.path());
  std::vector<Entry> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back({std::string(name), kind_of(folder.fd(), *entry)});
    errno = 0;
  }
  if (errno != 0) throw system_error(errno, "list", folder.path());
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

void warn_hidden(Context& ctx, const std::string& path, std::string_view torchvision) {
  ctx.warn("hidden_folder_skipped", fmt::format("hidden folder '{}' skipped; torchvision {}", path, torchvision));
}

/// A folder's identity, to notice when a link leads back to a folder that we are already inside of.
using FolderId = std::pair<dev_t, ino_t>;

FolderId folder_id(const File& folder) {
  struct stat info {};
  if (::fstat(folder.fd(), &info) != 0) throw system_error(errno, "stat", folder.path());
  return {info.st_dev, info.st_ino};
}

/// Collects a class folder and those below it.
class ClassWalker {
 public:
  ClassWalker(std::string class_path, Context& ctx) : class_path_(std::move(class_path)), ctx_(ctx) {}

  void walk(const std::string& relative) {
    const std::string path = relative.empty() ? class_path_ : join_path(class_path_, relative);
    const File folder = File::open_read(path, O_DIRECTORY);
    const FolderId id = folder_id(folder);
    if (std::ranges::find(inside_, id) != inside_.end()) {
      throw Error(ErrorCode::conflict,
                  fmt::format("'{}' leads back into a folder that contains it; remove the link", path), path);
    }
    inside_.push_back(id);
    for (Entry& entry : list_folder(folder)) {
      if (entry.kind == EntryKind::file) {
        files_[relative].push_back(std::move(entry.name));
      } else if (entry.name.starts_with('.')) {
        warn_hidden(ctx_, join_path(path, entry.name), "would read the images in it");
      } else {
        walk(join_path(relative, entry.name));
      }
    }
    inside_.pop_back();
  }

  /// File names by folder (relative to the class), both sorted: the order of torchvision's sorted(os.walk()).
  const std::map<std::string, std::vector<std::string>>& files() const { return files_; }

 private:
  std::string class_path_;
  Context& ctx_;
  std::vector<FolderId> inside_;
  std::map<std::string, std::vector<std::string>> files_;
};

/// Adds the images of one folder with their side-cars; returns how many files were neither. What ends like a side-car
/// that was asked for is no image of its own.
std::uint64_t add_folder(ScannedClass& item, const std::string& folder, const std::vector<std::string>& names,
                         const std::vector<std::string>& sidecars) {
  std::vector<std::string_view> suffixes(kUsualSidecars.begin(), kUsualSidecars.end());
  suffixes.insert(suffixes.end(), sidecars.begin(), sidecars.end());
  const auto is_sidecar = [&](std::string_view name) {
    return std::ranges::any_of(sidecars, [&](const std::string& suffix) { return name.ends_with(suffix); });
  };
  std::uint64_t ignored = names.size();
  std::vector<bool> taken(names.size());
  for (const std::string& name : names) {
    if (!is_image_name(name) || is_sidecar(name)) continue;
    --ignored;
    const auto image = static_cast<std::uint32_t>(item.files.size());
    item.files.push_back({0, 0, item.add_name(join_path(folder, name)), false});
    const std::string_view stem = split_extension(name).stem;
    for (const std::string_view suffix : suffixes) {
      const std::string beside = std::string(stem).append(suffix);
      const auto at = std::ranges::lower_bound(names, beside);
      if (at == names.end() || *at != beside) continue;
      item.sidecars.push_back({image, {0, 0, item.add_name(join_path(folder, *at)), false}});
      const auto index = static_cast<std::size_t>(at - names.begin());
      if (!taken[index]) --ignored;
      taken[index] = true;
    }
  }
  return ignored;
}

}  // namespace

std::vector<std::string> list_class_folders(const std::string& root, Context& ctx, std::uint64_t& ignored) {
  const File folder = File::open_read(root, O_DIRECTORY);
  std::vector<std::string> classes;
  for (Entry& entry : list_folder(folder)) {
    if (entry.kind == EntryKind::file) {
      ++ignored;
    } else if (entry.name.starts_with('.')) {
      warn_hidden(ctx, join_path(root, entry.name), "would count it and shift every label after it");
    } else {
      classes.push_back(std::move(entry.name));
    }
  }
  if (classes.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("'{}' has no class folders: expected {}/<class>/<image>.jpg", root, root), root);
  }
  return classes;
}

std::uint64_t list_class(const std::string& root, ScannedClass& item, const std::vector<std::string>& sidecars,
                         Context& ctx) {
  ClassWalker walker(join_path(root, item.folder), ctx);
  walker.walk("");
  std::uint64_t ignored = 0;
  for (const auto& [folder, names] : walker.files()) ignored += add_folder(item, folder, names, sidecars);
  item.names.shrink_to_fit();
  item.files.shrink_to_fit();
  return ignored;
}

}  // namespace shardkit
