#include "catalog/image_folder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "catalog/file_metadata.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "sync/adaptive_workers.hpp"

namespace shardkit::catalog {
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

std::vector<Entry> list_folder(const io::File& folder) {
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

FolderId folder_id(const io::File& folder) {
  struct stat info {};
  if (::fstat(folder.fd(), &info) != 0) throw system_error(errno, "stat", folder.path());
  return {info.st_dev, info.st_ino};
}

/// Collects a class folder and those below it.
class ClassWalker {
 public:
  ClassWalker(std::string class_path, Context& ctx) : class_path_(std::move(class_path)), ctx_(ctx) {}

  void walk(const std::string& relative) {
    const std::string path = relative.empty() ? class_path_ : io::join_path(class_path_, relative);
    const io::File folder = io::File::open_read(path, O_DIRECTORY);
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
        warn_hidden(ctx_, io::join_path(path, entry.name), "would read the images in it");
      } else {
        walk(io::join_path(relative, entry.name));
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
    item.files.push_back({0, 0, item.add_name(io::join_path(folder, name)), false});
    const std::string_view stem = formats::split_extension(name).stem;
    for (const std::string_view suffix : suffixes) {
      const std::string beside = std::string(stem).append(suffix);
      const auto at = std::ranges::lower_bound(names, beside);
      if (at == names.end() || *at != beside) continue;
      item.sidecars.push_back({image, {0, 0, item.add_name(io::join_path(folder, *at)), false}});
      const auto index = static_cast<std::size_t>(at - names.begin());
      if (!taken[index]) --ignored;
      taken[index] = true;
    }
  }
  return ignored;
}

/// Names of the class folders of `root`, sorted bytewise. Adds other files to `ignored`; warns of hidden folders.
/// Throws Error{not_found} when there is none.
std::vector<std::string> list_class_folders(const std::string& root, Context& ctx, std::uint64_t& ignored) {
  const io::File folder = io::File::open_read(root, O_DIRECTORY);
  std::vector<std::string> classes;
  for (Entry& entry : list_folder(folder)) {
    if (entry.kind == EntryKind::file) {
      ++ignored;
    } else if (entry.name.starts_with('.')) {
      warn_hidden(ctx, io::join_path(root, entry.name), "would count it and shift every label after it");
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

/// Fills names, files and side-cars (those of ScanOptions) of one class, all but sizes and times, and returns how many
/// files it ignored.
std::uint64_t list_class(const std::string& root, ScannedClass& item, const std::vector<std::string>& sidecars,
                         Context& ctx) {
  ClassWalker walker(io::join_path(root, item.folder), ctx);
  walker.walk("");
  std::uint64_t ignored = 0;
  for (const auto& [folder, names] : walker.files()) ignored += add_folder(item, folder, names, sidecars);
  item.names.shrink_to_fit();
  item.files.shrink_to_fit();
  return ignored;
}

constexpr std::array<std::string_view, 6> kSetNames = {"dev", "test", "train", "val", "valid", "validation"};
constexpr std::string_view kTrain = "train";

bool is_set_name(std::string_view name) { return std::ranges::find(kSetNames, name) != kSetNames.end(); }

bool holds_images(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (is_image_name(entry->path().filename().native()) && !entry->is_directory(error)) return true;
    if (error) return false;  // the scan will tell
  }
  return false;
}

/// The class folders of a set; none where it holds files alone.
std::vector<std::string> class_folders(const std::string& folder) {
  Context quiet;  // the scan warns of what is hidden
  std::uint64_t ignored = 0;
  try {
    return list_class_folders(folder, quiet, ignored);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return {};
    throw;
  }
}

void warn_of_absent_classes(const std::string& set, const std::vector<std::string>& here,
                            const std::vector<std::string>& all, Context& ctx) {
  std::vector<std::string> absent;
  std::ranges::set_difference(all, here, std::back_inserter(absent));
  if (absent.empty()) return;
  ctx.warn("set_lacks_classes",
           fmt::format("'{}' lacks {} of the {} class folders, the first being '{}': labels are those of all sets "
                       "together, where torchvision's ImageFolder would number the classes of this one anew",
                       set, absent.size(), all.size(), absent.front()));
}

}  // namespace

SetFolders find_set_folders(const std::string& root, Context& ctx) {
  static_cast<void>(io::File::open_read(root, O_DIRECTORY));  // throws where there is no such folder
  const std::vector<std::string> folders = class_folders(root);
  const std::string train = io::join_path(root, std::string(kTrain));
  if (folders.size() < 2 || !std::ranges::all_of(folders, is_set_name) ||
      !std::ranges::binary_search(folders, kTrain) || class_folders(train).empty() || holds_images(train)) {
    return {};
  }
  SetFolders sets;
  std::vector<std::vector<std::string>> classes;
  for (const std::string& name : folders) {
    std::vector<std::string> here = class_folders(io::join_path(root, name));
    if (here.empty()) {
      ctx.warn("set_without_classes",
               fmt::format("'{}' left out: it has no class folders, so its images have no labels",
                           io::join_path(root, name)));
      continue;
    }
    std::vector<std::string> all;
    std::ranges::set_union(sets.classes, here, std::back_inserter(all));
    sets.classes = std::move(all);
    sets.names.push_back(name);
    classes.push_back(std::move(here));
  }
  for (std::size_t i = 0; i < sets.names.size(); ++i) {
    warn_of_absent_classes(io::join_path(root, sets.names[i]), classes[i], sets.classes, ctx);
  }
  return sets;
}

namespace {

/// Lists the classes, several at once.
void list_classes(const std::string& root, const ScanOptions& options, Context& ctx, ImageFolderScan& scan) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> ignored{0};
  sync::AdaptiveWorkers workers(scan_limits(options.cores), ctx.stop_token());
  workers.run([&](sync::WaitMeter& meter, const std::stop_token&) {
    const std::size_t mine = next.fetch_add(1);
    if (mine >= scan.classes.size()) return false;
    const sync::WaitMeter::Scope waiting(meter);
    ignored += list_class(root, scan.classes[mine], options.sidecars, ctx);
    return true;
  });
  scan.ignored += ignored;
}

void check_classes(const ImageFolderScan& scan, const std::string& root, const ScanOptions& options) {
  if (scan.images() == 0 && scan.problems.empty()) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("no images below '{}': expected {}/<class>/<image>.jpg with one folder per class", root, root),
        root);
  }
  for (const ScannedClass& item : scan.classes) {
    if (!item.files.empty() || options.allow_empty) continue;
    const std::string path = io::join_path(root, item.name);
    throw Error(ErrorCode::corrupt,
                fmt::format("class folder '{}' has no images; remove it, or accept it with --allow-empty", path), path);
  }
}

/// Sorts (key hash, file) pairs and calls `same` for each file that shares its key with another.
template <class Same>
bool find_equal_keys(std::vector<std::pair<std::uint64_t, std::uint32_t>>& keys, Same same) {
  std::sort(keys.begin(), keys.end());
  bool found = false;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool before = i > 0 && keys[i - 1].first == keys[i].first;
    const bool after = i + 1 < keys.size() && keys[i + 1].first == keys[i].first;
    if (before || after) found = same(keys[i].second) || found;
  }
  return found;
}

}  // namespace

std::uint64_t ImageFolderScan::images() const {
  std::uint64_t count = 0;
  for (const ScannedClass& item : classes) count += item.files.size();
  return count;
}

std::string ScannedClass::path_of(const ScannedFile& file) const { return io::join_path(folder, name_of(file)); }

std::uint32_t ScannedClass::add_name(std::string_view path) {
  if (names.size() > std::numeric_limits<std::uint32_t>::max() - 8192) {
    throw Error(ErrorCode::unsupported,
                fmt::format("class '{}' has more than 4 GiB of file names; split it into several", name), name);
  }
  const auto offset = static_cast<std::uint32_t>(names.size());
  names += path;
  names += '\0';
  return offset;
}

std::string image_key(const ScannedClass& owner, const ScannedFile& file) {
  const std::string path = owner.path_of(file);
  std::string key = formats::image_key(owner.name, path);
  return file.marked ? formats::marked_key(key, path) : key;
}

bool is_image_name(std::string_view name) {
  return name.find('.') != std::string_view::npos &&
         formats::is_image_extension(formats::split_extension(name).extension);
}

ImageFolderScan scan_image_folder(const std::string& root, const ScanOptions& options, Context& ctx) {
  ImageFolderScan scan;
  ctx.progress().start("scan");
  for (std::string& name : list_class_folders(root, ctx, scan.ignored)) {
    ScannedClass& item = scan.classes.emplace_back();
    item.folder = name;
    item.name = std::move(name);
  }
  list_classes(root, options, ctx, scan);
  ctx.throw_if_stopped();
  check_classes(scan, root, options);
  read_metadata(root, scan, options.cores, ctx);
  return scan;
}

void mark_collisions(ImageFolderScan& scan) {
  // Keys of different classes differ in their first part, so each class is looked at alone. Marking a key may make it
  // equal to a name that was unique before, hence the loop; each round marks at least one more.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  for (ScannedClass& owner : scan.classes) {
    for (bool again = true; again;) {
      keys.clear();
      for (std::uint32_t i = 0; i < owner.files.size(); ++i) {
        keys.emplace_back(xxh3_64(as_bytes(image_key(owner, owner.files[i]))), i);
      }
      bool stuck = false;
      again = find_equal_keys(keys, [&](std::uint32_t file) {
        stuck = stuck || owner.files[file].marked;
        return !std::exchange(owner.files[file].marked, true);
      });
      if (!again && stuck) {
        throw Error(ErrorCode::conflict,
                    fmt::format("two images of class '{}' get the same key; rename one of them", owner.name),
                    owner.name);
      }
    }
  }
}

}  // namespace shardkit::catalog
