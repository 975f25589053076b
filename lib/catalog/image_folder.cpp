#include "catalog/image_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "catalog/file_metadata.hpp"
#include "core/hash.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {
namespace {

constexpr std::array<std::string_view, 2> kUsualSidecars = {".json", ".txt"};

/// A folder's identity, to notice when a link leads back to a folder that we are already inside of.
using FolderId = std::pair<dev_t, ino_t>;

FolderId folder_id(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) throw system_error(errno, "list", folder);
  return {info.st_dev, info.st_ino};
}

/// Files of a class by folder (relative to the class), both sorted: the order of torchvision's sorted(os.walk()). Their
/// names are without the folder.
using FilesByFolder = std::map<std::string, std::vector<io::ObjectInfo>>;

/// Collects a local class folder and those below it. Sizes and times are not looked at.
class ClassWalker {
 public:
  ClassWalker(std::string class_path, Context& ctx) : class_path_(std::move(class_path)), ctx_(ctx) {}

  void walk(const std::string& relative) {
    const std::string path = relative.empty() ? class_path_ : io::join_path(class_path_, relative);
    const FolderId id = folder_id(path);
    if (std::ranges::find(inside_, id) != inside_.end()) {
      throw Error(ErrorCode::conflict,
                  fmt::format("'{}' leads back into a folder that contains it; remove the link", path), path);
    }
    inside_.push_back(id);
    for (ListedEntry& entry : list_folder(path)) {
      if (entry.kind == EntryKind::file) {
        files_[relative].push_back({std::move(entry.name), 0, {}});
      } else if (is_system_folder(entry.name)) {
        warn_of_system_folder(ctx_, io::join_path(path, entry.name), "would read the images in it");
      } else {
        walk(io::join_path(relative, entry.name));
      }
    }
    inside_.pop_back();
  }

  FilesByFolder take() { return std::move(files_); }

 private:
  std::string class_path_;
  Context& ctx_;
  std::vector<FolderId> inside_;
  FilesByFolder files_;
};

/// The first system folder on the way to a file; empty when there is none.
std::string system_part(const std::string& folder) {
  for (std::size_t begin = 0; begin < folder.size();) {
    const std::size_t end = std::min(folder.find('/', begin), folder.size());
    if (is_system_folder(std::string_view(folder).substr(begin, end - begin))) return folder.substr(0, end);
    begin = end + 1;
  }
  return {};
}

/// The files of a class in a store, with sizes and versions.
FilesByFolder list_stored_class(const SourceFolder& source, const std::string& name, Context& ctx) {
  std::vector<io::ObjectInfo> objects = source.store->list(name);
  std::vector<std::string> names;
  for (const io::ObjectInfo& object : objects) names.push_back(object.name);
  check_names(names, source.path_of(name));
  FilesByFolder files;
  std::set<std::string> hidden;
  for (io::ObjectInfo& object : objects) {
    const std::size_t slash = object.name.rfind('/');
    const std::string folder = slash > name.size() ? object.name.substr(name.size() + 1, slash - name.size() - 1) : "";
    const std::string skipped = system_part(folder);
    if (skipped.empty()) {
      object.name.erase(0, slash + 1);
      files[folder].push_back(std::move(object));
    } else if (hidden.insert(skipped).second) {
      warn_of_system_folder(ctx, source.path_of(io::join_path(name, skipped)), "would read the images in it");
    }
  }
  return files;
}

/// The start of the names that macOS gives to its notes on files: "._photo.jpg" is no photo.
constexpr std::string_view kAppleDouble = "._";

/// Adds the images of one folder with their side-cars, and counts the files that are neither. What ends like a side-car
/// that was asked for is no image of its own.
void add_folder(ScannedClass& item, const std::string& folder, const std::vector<io::ObjectInfo>& found,
                const SourceFolder& source, const std::vector<std::string>& sidecars, IgnoredFiles& ignored) {
  std::vector<std::string_view> suffixes(kUsualSidecars.begin(), kUsualSidecars.end());
  suffixes.insert(suffixes.end(), sidecars.begin(), sidecars.end());
  const auto is_sidecar = [&](std::string_view name) {
    return std::ranges::any_of(sidecars, [&](const std::string& suffix) { return name.ends_with(suffix); });
  };
  const auto scanned = [&](const io::ObjectInfo& object) {
    ScannedFile file{0, 0, item.add_name(io::join_path(folder, object.name))};
    if (source.store) item.note(file, object);
    return file;
  };
  std::vector<bool> taken(found.size());
  for (const io::ObjectInfo& object : found) {
    if (!is_image_name(object.name) || is_sidecar(object.name) || object.name.starts_with(kAppleDouble)) continue;
    taken[static_cast<std::size_t>(&object - found.data())] = true;
    const auto image = static_cast<std::uint32_t>(item.files.size());
    item.files.push_back(scanned(object));
    const std::string_view stem = formats::split_extension(object.name).stem;
    for (const std::string_view suffix : suffixes) {
      const std::string beside = std::string(stem).append(suffix);
      const auto at = std::ranges::lower_bound(found, beside, {}, &io::ObjectInfo::name);
      if (at == found.end() || at->name != beside) continue;
      item.sidecars.push_back({image, scanned(*at)});
      taken[static_cast<std::size_t>(at - found.begin())] = true;
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!taken[i]) count_ignored(ignored, found[i].name);
  }
}

/// Puts in the files of a class that the source is known to have, or was known to have when its plan was made.
void add_known(const FileStates& known, const std::string& class_folder, FilesByFolder& files) {
  const std::string start = class_folder + '/';
  for (auto file = known.lower_bound(start); file != known.end() && file->first.starts_with(start); ++file) {
    const std::size_t slash = file->first.rfind('/') + 1;
    const std::string name = file->first.substr(slash);
    std::vector<io::ObjectInfo>& found =
        files[slash == start.size() ? std::string() : file->first.substr(start.size(), slash - start.size() - 1)];
    auto at = std::ranges::lower_bound(found, name, {}, &io::ObjectInfo::name);
    if (at == found.end() || at->name != name) at = found.insert(at, {name, 0, {}});
    at->size = file->second.size;
    at->version = file->second.version.value_or("");
  }
}

/// Fills names, files and side-cars (those of ScanOptions) of one class, of a local one all but sizes and times;
/// returns what it ignored.
IgnoredFiles list_class(const SourceFolder& source, ScannedClass& item, const std::vector<std::string>& sidecars,
                        Context& ctx) {
  FilesByFolder files;
  if (source.store) {
    files = list_stored_class(source, item.folder, ctx);
  } else {
    ClassWalker walker(source.path_of(item.folder), ctx);
    walker.walk("");
    files = walker.take();
  }
  add_known(source.known, item.folder, files);
  IgnoredFiles ignored;
  for (const auto& [folder, found] : files) add_folder(item, folder, found, source, sidecars, ignored);
  item.names.shrink_to_fit();
  item.versions.shrink_to_fit();
  item.files.shrink_to_fit();
  return ignored;
}

/// Lists the classes, several at once.
void list_classes(const SourceFolder& source, const ScanOptions& options, Context& ctx, ImageFolderScan& scan) {
  std::mutex mutex;
  for_each_waiting(scan.classes.size(), options.cores, ctx, [&](std::size_t at) {
    const IgnoredFiles ignored = list_class(source, scan.classes[at], options.sidecars, ctx);
    const std::scoped_lock lock(mutex);
    for (const auto& [kind, files] : ignored) scan.ignored[kind] += files;
  });
}

void check_classes(const ImageFolderScan& scan, const SourceFolder& source, const ScanOptions& options) {
  if (scan.images() == 0 && scan.problems.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("no images below '{}': expected {}/<class>/<image>.jpg with one folder per class",
                            source.path, source.path),
                source.path);
  }
  for (const ScannedClass& item : scan.classes) {
    if (!item.files.empty() || options.allow_empty) continue;
    const std::string path = source.path_of(item.name);
    throw Error(ErrorCode::corrupt,
                fmt::format("class folder '{}' has no images; remove it, or accept it with --allow-empty", path), path);
  }
}

}  // namespace

std::uint64_t ImageFolderScan::images() const {
  std::uint64_t count = 0;
  for (const ScannedClass& item : classes) count += item.files.size();
  return count;
}

std::optional<std::string> ScannedClass::version_of(const ScannedFile& file) const {
  if (versions.empty()) return std::nullopt;
  return versions.data() + file.mtime_ns;
}

void ScannedClass::note(ScannedFile& file, const io::ObjectInfo& object) {
  file.size = object.size;
  file.mtime_ns = static_cast<std::int64_t>(versions.size());
  versions.append(object.version).push_back('\0');
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

std::string image_key(const ImageFolderScan& scan, const ScannedClass& owner, const ScannedFile& file) {
  return formats::image_key(scan.keys, owner.name, owner.path_of(file), file.mark);
}

bool is_image_name(std::string_view name) {
  return name.find('.') != std::string_view::npos &&
         formats::is_image_extension(formats::split_extension(name).extension);
}

ImageFolderScan scan_image_folder(const SourceFolder& source, const ScanOptions& options, Context& ctx) {
  ImageFolderScan scan;
  ctx.progress().start("scan");
  std::vector<std::string> folders = class_folders(source, "", ctx, scan.ignored);
  if (folders.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("'{}' has no class folders: expected {}/<class>/<image>.jpg", source.path, source.path),
                source.path);
  }
  for (std::string& name : folders) {
    ScannedClass& item = scan.classes.emplace_back();
    item.folder = name;
    item.name = std::move(name);
  }
  list_classes(source, options, ctx, scan);
  check_classes(scan, source, options);
  if (!source.store) read_metadata(source, scan, options.cores, ctx);
  return scan;
}

namespace {

/// The next mark of an image that shares its key with others: the extension first where keys are nested.
formats::KeyMark next_mark(formats::KeyRule rule, formats::KeyMark mark) {
  const bool extension = rule == formats::KeyRule::nested && mark == formats::KeyMark::none;
  return extension ? formats::KeyMark::extension : formats::KeyMark::hash;
}

using KeyedFiles = std::span<const std::pair<std::uint64_t, std::uint32_t>>;  ///< hash of the key, number of the file

/// Gives images of one key their next mark; throws Error{conflict} where they have the last.
bool mark_group(formats::KeyRule rule, ScannedClass& owner, KeyedFiles files) {
  formats::KeyMark least = formats::KeyMark::hash;
  for (const formats::KeyMark mark : {formats::KeyMark::extension, formats::KeyMark::none}) {
    if (std::ranges::any_of(files, [&](const auto& file) { return owner.files[file.second].mark == mark; }))
      least = mark;
  }
  if (least == formats::KeyMark::hash) {
    const std::string one = owner.path_of(owner.files[files[0].second]);
    const std::string other = owner.path_of(owner.files[files[1].second]);
    throw Error(ErrorCode::conflict, fmt::format("'{}' and '{}' get the same key; rename one of them", one, other),
                one);
  }
  for (const auto& [hash, number] : files) {
    ScannedFile& file = owner.files[number];
    if (file.mark == least) file.mark = next_mark(rule, file.mark);
  }
  return true;
}

/// Marks the images of one class until all keys differ; returns whether any had to be marked. Of images that share a
/// key those with the least mark get another, so that "a.jpg.png" gives way to "a.jpg" that is marked for "a.png".
/// Marking may make a key equal to one that was unique before, hence the loop.
bool mark_equal_keys(const ImageFolderScan& scan, ScannedClass& owner) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  bool marked = false;
  for (bool again = true; again;) {
    keys.clear();
    for (std::uint32_t i = 0; i < owner.files.size(); ++i) {
      keys.emplace_back(xxh3_64(as_bytes(image_key(scan, owner, owner.files[i]))), i);
    }
    std::ranges::sort(keys);
    again = false;
    for (auto begin = keys.begin(); begin != keys.end();) {
      const auto end = std::find_if(begin, keys.end(), [&](const auto& key) { return key.first != begin->first; });
      again = (end - begin > 1 && mark_group(scan.keys, owner, {begin, end})) || again;
      begin = end;
    }
    marked = marked || again;
  }
  return marked;
}

}  // namespace

void choose_keys(ImageFolderScan& scan, std::optional<bool> nested) {
  const auto in_folder = [](const ScannedClass& owner) {
    return std::ranges::any_of(
        owner.files, [&](const ScannedFile& file) { return owner.name_of(file).find('/') != std::string_view::npos; });
  };
  const bool wanted = nested.value_or(std::ranges::any_of(scan.classes, in_folder));
  scan.keys = wanted ? formats::KeyRule::nested : formats::KeyRule::flat;
  bool marked = false;
  // Keys of different classes differ in their first part, so each class is looked at alone.
  for (ScannedClass& owner : scan.classes) marked = mark_equal_keys(scan, owner) || marked;
  if (!marked || nested || scan.keys == formats::KeyRule::nested) return;
  for (ScannedClass& owner : scan.classes) {
    for (ScannedFile& file : owner.files) file.mark = formats::KeyMark::none;
  }
  choose_keys(scan, true);
}

}  // namespace shardkit::catalog
