#include "catalog/image_folder.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "catalog/class_listing.hpp"
#include "catalog/file_metadata.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"
#include "io/publish.hpp"
#include "sync/adaptive_workers.hpp"

namespace shardkit {
namespace {

/// Lists the classes, several at once.
void list_classes(const std::string& root, const ScanOptions& options, Context& ctx, ImageFolderScan& scan) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> ignored{0};
  AdaptiveWorkers workers(scan_limits(options.cores), ctx.stop_token());
  workers.run([&](WaitMeter& meter, const std::stop_token&) {
    const std::size_t mine = next.fetch_add(1);
    if (mine >= scan.classes.size()) return false;
    const WaitMeter::Scope waiting(meter);
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
    const std::string path = join_path(root, item.name);
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

std::string ScannedClass::path_of(const ScannedFile& file) const { return join_path(folder, name_of(file)); }

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
  std::string key = image_key(owner.name, path);
  return file.marked ? marked_key(key, path) : key;
}

bool is_image_name(std::string_view name) {
  return name.find('.') != std::string_view::npos && is_image_extension(split_extension(name).extension);
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

}  // namespace shardkit
