#include "bench/read/folder_walk.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "bench/input/input_files.hpp"
#include "core/error.hpp"
#include "io/file.hpp"
#include "io/page_cache.hpp"
#include "io/publish.hpp"

namespace shardkit::bench {
namespace {

using FolderId = std::pair<dev_t, ino_t>;

struct PendingFolder {
  std::string path;
  std::vector<FolderId> inside_of;  ///< the folders that led here, to notice links that lead back
};

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

struct FolderEntry {
  std::string name;
  unsigned char type = DT_UNKNOWN;
};

/// Opens, reads and closes a folder.
std::vector<FolderEntry> entries_of(const std::string& path, FolderId& id) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
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
    context.progress().items.store(listing.files.size(), std::memory_order_relaxed);
  }
  std::ranges::sort(listing.files);
  return listing;
}

namespace {

using SteadyClock = std::chrono::steady_clock;

/// Residency is asked of one file in so many: it costs a call that loaders do not make. It is not timed.
constexpr std::uint64_t kAskOneIn = 16;

}  // namespace

void FolderTally::merge(const FolderTally& other) {
  open.merge(other.open);
  stat.merge(other.stat);
  read.merge(other.read);
  close.merge(other.close);
  whole.merge(other.whole);
  bytes += other.bytes;
  kernel_reads += other.kernel_reads;
  asked_bytes += other.asked_bytes;
  cached_bytes += other.cached_bytes;
  residency_unknown = residency_unknown || other.residency_unknown;
}

FolderWork::FolderWork(const std::vector<std::string>& files, const ReadOptions& options, Context& context)
    : files_(files), most_(options.samples.value_or(files.size())), context_(context) {
  most_ = std::min<std::uint64_t>(most_, files.size());
  if (options.budget) deadline_ = moment_in(*options.budget);
}

void FolderWork::run(FolderTally& tally, const std::stop_token& stop) {
  io::AlignedBuffer buffer;
  while (!stop.stop_requested() && !(deadline_ && SteadyClock::now() >= *deadline_)) {
    const std::uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= most_) return;
    read_file(index, buffer.get(kBlock), tally);
    context_.progress().items.fetch_add(1, std::memory_order_relaxed);
  }
}

void FolderWork::read_file(std::uint64_t index, MutableBytes buffer, FolderTally& tally) {
  const std::string& path = files_[index];
  const auto begin = SteadyClock::now();
  io::File file = io::File::open_read(path);
  const auto opened = SteadyClock::now();
  const std::uint64_t size = file.size();
  const auto stated = SteadyClock::now();
  if (index % kAskOneIn == 0) {
    const auto cached = io::cached_bytes(file);
    tally.residency_unknown = tally.residency_unknown || !cached;
    tally.cached_bytes += cached.value_or(0);
    tally.asked_bytes += size;
  }
  const auto asked = SteadyClock::now();
  std::uint64_t done = 0;
  for (std::size_t got = 1; done < size && got > 0; done += got) {
    got = file.read_at(done, buffer.first(std::min<std::uint64_t>(buffer.size(), size - done)));
    ++tally.kernel_reads;
    context_.progress().bytes.fetch_add(got, std::memory_order_relaxed);
  }
  const auto read = SteadyClock::now();
  if (done < size) {
    throw Error(ErrorCode::io, fmt::format("'{}' ends at byte {} of {}: it changes while it is read", path, done, size),
                path, done);
  }
  file = io::File();
  const auto closed = SteadyClock::now();
  tally.open.record(opened - begin);
  tally.stat.record(stated - opened);
  tally.read.record(read - asked);
  tally.close.record(closed - read);
  tally.whole.record((stated - begin) + (closed - asked));
  tally.bytes += done;
}

}  // namespace shardkit::bench
