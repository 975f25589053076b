#include "catalog/image_folder.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "catalog/class_listing.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "sync/adaptive_workers.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

/// Files whose metadata one worker asks for at a time: enough to share one open folder, few enough to spread a class.
constexpr std::size_t kBatch = 32;

/// The folder, its listing, and the wait meter's.
constexpr unsigned kDescriptorsPerRead = 3;

InFlightLimits in_flight_limits(unsigned cores) { return {cores, 8, most_reads_in_flight(kDescriptorsPerRead)}; }

/// Lists the classes, several at once.
void list_classes(const std::string& root, const ScanOptions& options, Context& ctx, ImageFolderScan& scan) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> ignored{0};
  AdaptiveWorkers workers(in_flight_limits(options.cores), ctx.stop_token());
  workers.run([&](WaitMeter& meter, const std::stop_token&) {
    const std::size_t mine = next.fetch_add(1);
    if (mine >= scan.classes.size()) return false;
    const WaitMeter::Scope waiting(meter);
    ignored += list_class(root, scan.classes[mine], options.sidecars, ctx);
    return true;
  });
  scan.ignored += ignored;
}

/// One batch of files of one class whose metadata is to be read.
struct StatBatch {
  ScannedClass* owner = nullptr;
  std::size_t begin = 0;  ///< images first, then side-cars
  std::size_t end = 0;
};

/// Deals the files of all classes out in batches. Thread-safe.
class BatchDealer {
 public:
  explicit BatchDealer(std::vector<ScannedClass>& classes) : classes_(classes) {}

  bool next(StatBatch& batch) {
    const std::scoped_lock lock(mutex_);
    while (class_ < classes_.size()) {
      ScannedClass& owner = classes_[class_];
      const std::size_t count = owner.files.size() + owner.sidecars.size();
      if (file_ < count) {
        batch = {&owner, file_, std::min(file_ + kBatch, count)};
        file_ = batch.end;
        return true;
      }
      ++class_;
      file_ = 0;
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::vector<ScannedClass>& classes_;
  std::size_t class_ = 0;
  std::size_t file_ = 0;
};

/// Marks a file that cannot be read; removed from its class when all are known.
constexpr std::int64_t kUnreadable = INT64_MIN;

class MetadataReader {
 public:
  MetadataReader(const std::string& root, ImageFolderScan& scan, Context& ctx) : root_(root), scan_(scan), ctx_(ctx) {}

  void run(unsigned cores) {
    BatchDealer dealer(scan_.classes);
    AdaptiveWorkers workers(in_flight_limits(cores), ctx_.stop_token());
    workers.run([&](WaitMeter& meter, const std::stop_token&) {
      StatBatch batch;
      if (!dealer.next(batch)) return false;
      const WaitMeter::Scope waiting(meter);
      read(batch);
      ctx_.progress().items += batch.end - batch.begin;
      return true;
    });
  }

 private:
  void read(const StatBatch& batch) {
    ScannedClass& owner = *batch.owner;
    const std::string folder_path = join_path(root_, owner.name);
    const File folder = File::open_read(folder_path, O_DIRECTORY);
    for (std::size_t i = batch.begin; i < batch.end; ++i) {
      const std::size_t images = owner.files.size();
      ScannedFile& file = i < images ? owner.files[i] : owner.sidecars[i - images].file;
      const char* name = owner.names.data() + file.name_offset;
      struct stat info {};
      if (::fstatat(folder.fd(), name, &info, 0) != 0) {
        add_problem(owner, file, system_error(errno, "read", join_path(folder_path, name)));
      } else if (!S_ISREG(info.st_mode)) {
        const std::string path = join_path(folder_path, name);
        add_problem(owner, file, Error(ErrorCode::corrupt, fmt::format("'{}' is not a regular file", path), path));
      } else {
        file.size = static_cast<std::uint64_t>(info.st_size);
        file.mtime_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
      }
    }
  }

  void add_problem(const ScannedClass& owner, ScannedFile& file, Error error) {
    if (!is_bad_file(error.code())) throw Error(error);
    file.mtime_ns = kUnreadable;
    const std::scoped_lock lock(mutex_);
    scan_.problems.push_back({fmt::format("{}/{}", owner.name, owner.name_of(file)), std::move(error)});
  }

  const std::string& root_;
  ImageFolderScan& scan_;
  Context& ctx_;
  std::mutex mutex_;
};

/// Drops the files that could not be read, and side-cars of images that were dropped.
void drop_unreadable(ScannedClass& owner) {
  std::vector<std::uint32_t> new_index(owner.files.size());
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < owner.files.size(); ++i) {
    new_index[i] = kept;
    if (owner.files[i].mtime_ns != kUnreadable) owner.files[kept++] = owner.files[i];
  }
  std::erase_if(owner.sidecars, [&](const ScannedSidecar& sidecar) {
    const std::uint32_t at = new_index[sidecar.image];
    const std::uint32_t after = sidecar.image + 1 < new_index.size() ? new_index[sidecar.image + 1] : kept;
    return at == after || sidecar.file.mtime_ns == kUnreadable;
  });
  for (ScannedSidecar& sidecar : owner.sidecars) sidecar.image = new_index[sidecar.image];
  owner.files.resize(kept);
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

std::string image_key(const ScannedClass& owner, const ScannedFile& file) {
  const std::string_view name = owner.name_of(file);
  const std::string_view base = name.substr(name.rfind('/') + 1);
  const std::string path = fmt::format("{}/{}", owner.name, name);
  std::string key = portable_key(owner.name, split_extension(base).stem, path);
  return file.marked ? marked_key(key, path) : key;
}

bool is_image_name(std::string_view name) {
  return name.find('.') != std::string_view::npos && is_image_extension(split_extension(name).extension);
}

ImageFolderScan scan_image_folder(const std::string& root, const ScanOptions& options, Context& ctx) {
  ImageFolderScan scan;
  ctx.progress().start("scan");
  for (std::string& name : list_class_folders(root, ctx, scan.ignored)) {
    scan.classes.emplace_back().name = std::move(name);
  }
  list_classes(root, options, ctx, scan);
  ctx.throw_if_stopped();
  check_classes(scan, root, options);
  MetadataReader(root, scan, ctx).run(options.cores);
  ctx.throw_if_stopped();
  if (!scan.problems.empty()) {
    for (ScannedClass& item : scan.classes) drop_unreadable(item);
    std::ranges::sort(scan.problems, {}, &ScanProblem::path);
  }
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
