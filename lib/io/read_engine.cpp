#include "io/read_engine.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/page_cache.hpp"

namespace shardkit::io {

ReadFile::ReadFile(File file, std::uint32_t step) : file_(std::move(file)), size_(file_.size()), step_(step) {}

ReadWindow ReadFile::window(std::uint64_t offset, std::size_t length) const {
  if (offset > size_ || length > size_ - offset) {
    throw Error(ErrorCode::io, At{file_.path(), size_},
                "'{}' has {} bytes, but was longer when it was listed: it changed while being read", file_.path(),
                size_);
  }
  const std::uint64_t begin = offset / step_ * step_;
  const std::uint64_t end = (offset + length + step_ - 1) / step_ * step_;
  return {begin, static_cast<std::size_t>(end - begin), static_cast<std::size_t>(offset - begin), length};
}

bool ReadFile::wants_more(const ReadWindow& window, std::size_t done, std::size_t got) const {
  if (done >= window.skip + window.wanted) return false;
  if (got == 0 || done % step_ != 0) report_shrunk(window.begin + done);
  return true;
}

void ReadFile::report_failure(int error_number, std::uint64_t offset) const {
  const Error error = system_error(error_number, "read", file_.path());
  throw Error(error.code(), At{file_.path(), offset}, "{} at byte {}", error.what(), offset);
}

void ReadFile::report_shrunk(std::uint64_t offset) const {
  throw Error(ErrorCode::io, At{file_.path(), offset},
              "'{}' ends before byte {}, but had {} bytes when it was opened: it changed while being read",
              file_.path(), offset, size_);
}

std::size_t window_bytes(std::size_t most, std::size_t step) { return (most + step - 1) / step * step + step; }

namespace {

[[noreturn]] void refuse_direct(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::unsupported, At{path}, "'{}' cannot be read with O_DIRECT: {}", path, why);
}

/// Probes by reading: file systems older than STATX_DIOALIGN return EINVAL for unsuitable alignments.
std::uint32_t probe_step(const File& file) {
  AlignedBuffer buffer;
  for (std::uint32_t step = 512; step <= AlignedBuffer::kAlignment; step *= 2) {
    if (::pread(file.fd(), buffer.get(step).data(), step, step) >= 0) return step;
    if (errno != EINVAL) throw system_error(errno, "read", file.path());
  }
  refuse_direct(file.path(), "no alignment up to 4096 bytes is accepted");
}

/// Fills `target`, which has space for the window, until the needed bytes are there; returns the number of reads.
using Read = std::uint64_t (*)(const ReadFile& file, const ReadWindow& window, MutableBytes target);

/// A Read by pread(2).
std::uint64_t pread_window(const ReadFile& file, const ReadWindow& window, MutableBytes target) {
  std::uint64_t reads = 0;
  for (std::size_t done = 0;;) {
    const ssize_t got =
        ::pread(file.file().fd(), target.data() + done, window.length - done, static_cast<off_t>(window.begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) file.report_failure(errno, window.begin + done);
    ++reads;
    done += static_cast<std::size_t>(got);
    if (!file.wants_more(window, done, static_cast<std::size_t>(got))) return reads;
  }
}

constexpr std::uint64_t kSmallestPage = 4096;

class MappedFile final : public ReadFile {
 public:
  MappedFile(File opened, bool random) : ReadFile(std::move(opened)) {
    if (size() == 0) return;
    map_ = ::mmap(nullptr, size(), PROT_READ, MAP_SHARED, file().fd(), 0);
    if (map_ == MAP_FAILED) {
      const int failure = errno;
      map_ = nullptr;
      refuse(failure);
    }
    ::madvise(map_, size(), random ? MADV_RANDOM : MADV_SEQUENTIAL);
  }
  ~MappedFile() override {
    if (map_ != nullptr) ::munmap(map_, size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* at(std::uint64_t offset) const { return static_cast<const std::byte*>(map_) + offset; }

 private:
  [[noreturn]] void refuse(int failure) const {
    const Error error = system_error(failure, "map", file().path());
    if (failure != ENODEV) throw error;
    throw Error(ErrorCode::unsupported, At{file().path()}, "{}; use --engine pread", error.what());
  }

  void* map_ = nullptr;
};

/// A Read that copies from a mapping of the whole file, like memory-mapped data sets: each page is loaded by a fault,
/// with the kernel's read-ahead. A file that is cut behind the last page ends the process by SIGBUS, as it ends loaders
/// that map files.
std::uint64_t copy_window(const ReadFile& file, const ReadWindow& window, MutableBytes target) {
  std::memcpy(target.data(), static_cast<const MappedFile&>(file).at(window.begin), window.length);
  const bool at_end = window.begin + window.length + kSmallestPage > file.size();
  if (at_end && file.file().size() < window.begin + window.length) file.report_shrunk(file.file().size());
  return 1;
}

/// A lane with one read at a time.
class SyncLane final : public ReadLane {
 public:
  SyncLane(Read read, std::size_t most) : read_(read) { buffer_.get(window_bytes(most)); }

  void submit(const ReadRequest& request) override {
    started_ = std::chrono::steady_clock::now();
    window_ = request.file->window(request.offset, request.length);
    request_ = request;
  }

  ReadCompletion wait() override {
    const ReadRequest request = std::exchange(request_, {});
    const MutableBytes target = buffer_.get(window_.length);
    const std::uint64_t reads = read_(*request.file, window_, target);
    return {target.subspan(window_.skip, window_.wanted),
            request.tag,
            request.offset,
            started_,
            std::chrono::steady_clock::now(),
            reads};
  }

  unsigned under_way() const override { return request_.file != nullptr ? 1 : 0; }

 private:
  Read read_;
  AlignedBuffer buffer_;
  ReadRequest request_;
  ReadWindow window_;
  std::chrono::steady_clock::time_point started_;
};

/// Calls that return with the bytes: pread(2), or a copy from a mapping.
class SyncEngine final : public ReadEngine {
 public:
  SyncEngine(EngineKind kind, const ReadEngineOptions& options)
      : maps_(kind == EngineKind::mmap), random_(options.random), opener_(options) {}
  unsigned depth() const override { return 1; }
  std::shared_ptr<const ReadFile> open(const std::string& path) const override {
    if (maps_) return std::make_shared<MappedFile>(File::open_read(path), random_);
    return opener_.open(path);
  }
  std::unique_ptr<ReadLane> make_lane(std::size_t most) const override {
    return std::make_unique<SyncLane>(maps_ ? copy_window : pread_window, most);
  }

 private:
  const bool maps_;
  const bool random_;
  FileOpener opener_;
};

}  // namespace

std::shared_ptr<const ReadFile> FileOpener::open_direct(const std::string& path) const {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (fd < 0 && errno == EINVAL) refuse_direct(path, "its file system does not support it");
  if (fd < 0) throw system_error(errno, "open", path);
  File file(fd, path);
  const std::uint32_t step = step_of(file);
  return std::make_shared<ReadFile>(std::move(file), step);
}

std::uint32_t FileOpener::step_of(const File& file) const {
  const FileSystemKind kind = file_system_kind(file);
  if (kind == FileSystemKind::memory)
    refuse_direct(file.path(), "its file system keeps files in memory and ignores the flag");
  if (kind == FileSystemKind::zfs)
    refuse_direct(file.path(), "ZFS accepts the flag but may read through its own cache (ARC)");
  struct statx info {};
  const bool asked = ::statx(file.fd(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0;
  const bool reported = asked && (info.stx_mask & STATX_DIOALIGN) != 0;
  if (reported && info.stx_dio_offset_align == 0) refuse_direct(file.path(), "its file system does not support it");
  if (reported && info.stx_dio_mem_align > AlignedBuffer::kAlignment) {
    refuse_direct(file.path(), "it needs memory aligned to more than 4096 bytes");
  }
  if (reported && info.stx_dio_offset_align > AlignedBuffer::kAlignment) {
    refuse_direct(file.path(), fmt::format("it needs reads aligned to {} bytes", info.stx_dio_offset_align));
  }
  if (reported) return info.stx_dio_offset_align;
  if (kind == FileSystemKind::overlay) {
    refuse_direct(file.path(), "overlay accepts the flag, but the file system below may ignore it");
  }
  return probed_step(file);
}

/// Probing reads, so each device is probed only once: a loader that opens a file per sample would pay each time.
std::uint32_t FileOpener::probed_step(const File& file) const {
  const struct stat info = file.info();
  const std::scoped_lock lock(mutex_);
  const auto known = by_device_.find(info.st_dev);
  if (known != by_device_.end()) return known->second;
  const std::uint32_t step = probe_step(file);
  // A read after the end of a small file may succeed with any alignment: that proves nothing for other files.
  if (static_cast<std::uint64_t>(info.st_size) > AlignedBuffer::kAlignment) by_device_[info.st_dev] = step;
  return step;
}

std::shared_ptr<const ReadFile> FileOpener::open(const std::string& path) const {
  if (options_.direct) return open_direct(path);
  File file = File::open_read(path);
  ::posix_fadvise(file.fd(), 0, 0, options_.random ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
  return std::make_shared<ReadFile>(std::move(file));
}

std::unique_ptr<ReadEngine> make_read_engine(EngineKind kind, const ReadEngineOptions& options) {
  if (options.depth > 1 && !engine_takes_depth(kind)) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format(
            "engine '{}' allows one read in flight per thread; use more --threads, or --engine uring with --depth",
            enum_name(kind)));
  }
  if (kind == EngineKind::mmap && options.direct) {
    throw Error(ErrorCode::unsupported,
                "engine 'mmap' reads through the page cache; --direct needs --engine pread or uring");
  }
  if (kind == EngineKind::uring) return make_uring_engine(options);
  return std::make_unique<SyncEngine>(kind, options);
}

}  // namespace shardkit::io
