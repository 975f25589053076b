#include "io/read_engine.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/page_cache.hpp"

namespace shardkit {
namespace {

[[noreturn]] void refuse_direct(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::unsupported, fmt::format("'{}' cannot be read with O_DIRECT: {}", path, why), path);
}

[[noreturn]] void report_shrunk(const File& file, std::uint64_t offset, std::uint64_t size) {
  throw Error(ErrorCode::io,
              fmt::format("'{}' ends at byte {}, but had {} bytes when it was opened: it changes while it is read",
                          file.path(), offset, size),
              file.path(), offset);
}

/// How much of a request lies within the file.
std::size_t within(std::uint64_t size, std::uint64_t offset, std::size_t length) {
  return offset >= size ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(length, size - offset));
}

class BufferedFile final : public ReadFile {
 public:
  BufferedFile(File file, bool random) : file_(std::move(file)), size_(file_.size()) {
    ::posix_fadvise(file_.fd(), 0, 0, random ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
  }
  const File& file() const override { return file_; }
  std::uint64_t size() const override { return size_; }

  Bytes read(std::uint64_t offset, std::size_t length, AlignedBuffer& buffer) const override {
    const MutableBytes target = buffer.get(within(size_, offset, length));
    const std::size_t got = file_.read_at(offset, target);
    if (got < target.size()) report_shrunk(file_, offset + got, size_);
    return target;
  }

 private:
  File file_;
  std::uint64_t size_;
};

/// What direct reads of a file must be a multiple of.
struct DirectAlignment {
  std::uint32_t memory = 0;
  std::uint32_t offset = 0;
};

/// Asks by reading: file systems older than STATX_DIOALIGN answer EINVAL to what does not suit them.
DirectAlignment probe_alignment(const File& file) {
  AlignedBuffer buffer;
  for (std::uint32_t step = 512; step <= AlignedBuffer::kAlignment; step *= 2) {
    if (::pread(file.fd(), buffer.get(step).data(), step, step) >= 0) return {AlignedBuffer::kAlignment, step};
    if (errno != EINVAL) throw system_error(errno, "read", file.path());
  }
  refuse_direct(file.path(), "no alignment up to 4096 bytes is accepted");
}

/// Finds out how files want to be read directly. Thread-safe.
class DirectAlignments {
 public:
  /// Refuses files of which that cannot be had.
  DirectAlignment of(const File& file) {
    if (lives_in_memory(file)) refuse_direct(file.path(), "its file system keeps files in memory and only pretends");
    struct statx info {};
    const bool asked = ::statx(file.fd(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0;
    const bool told = asked && (info.stx_mask & STATX_DIOALIGN) != 0;
    if (told && info.stx_dio_offset_align == 0) refuse_direct(file.path(), "its file system does not offer it");
    if (told) return {info.stx_dio_mem_align, info.stx_dio_offset_align};
    if (lies_on_overlay(file)) {
      refuse_direct(file.path(), "overlay accepts the flag without saying whether the file system below it obeys");
    }
    return probed(file);
  }

 private:
  /// Probing reads, so that each device is asked once: who opens a file per sample would pay for it each time.
  DirectAlignment probed(const File& file) {
    struct stat info {};
    if (::fstat(file.fd(), &info) != 0) throw system_error(errno, "stat", file.path());
    const std::scoped_lock lock(mutex_);
    const auto known = by_device_.find(info.st_dev);
    if (known != by_device_.end()) return known->second;
    const DirectAlignment alignment = probe_alignment(file);
    // A read behind the end of a small file may succeed whatever its alignment: that says nothing of other files.
    if (static_cast<std::uint64_t>(info.st_size) > AlignedBuffer::kAlignment) by_device_[info.st_dev] = alignment;
    return alignment;
  }

  std::mutex mutex_;
  std::map<dev_t, DirectAlignment> by_device_;
};

/// Widens each request to whole blocks, which the buffer has room for; so nothing is copied, the file's tail included.
class DirectFile final : public ReadFile {
 public:
  DirectFile(File file, DirectAlignments& alignments) : file_(std::move(file)), size_(file_.size()) {
    const DirectAlignment alignment = alignments.of(file_);
    if (alignment.memory > AlignedBuffer::kAlignment) refuse_direct(file_.path(), "it wants memory aligned above 4096");
    step_ = alignment.offset;
  }
  const File& file() const override { return file_; }
  std::uint64_t size() const override { return size_; }

  Bytes read(std::uint64_t offset, std::size_t length, AlignedBuffer& buffer) const override {
    const std::size_t wanted = within(size_, offset, length);
    if (wanted == 0) return {};
    const std::uint64_t begin = offset / step_ * step_;
    const std::uint64_t end = (offset + wanted + step_ - 1) / step_ * step_;
    const MutableBytes target = buffer.get(end - begin);
    const std::size_t got = fill(begin, target, std::min(end, size_) - begin);
    if (begin + got < offset + wanted) report_shrunk(file_, begin + got, size_);
    return target.subspan(offset - begin, wanted);
  }

 private:
  /// Reads until `needed` bytes are there; a read that ends off the grid has met the end of the file.
  std::size_t fill(std::uint64_t begin, MutableBytes target, std::size_t needed) const {
    std::size_t done = 0;
    while (done < needed && done % step_ == 0) {
      const ssize_t got =
          ::pread(file_.fd(), target.data() + done, target.size() - done, static_cast<off_t>(begin + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw system_error(errno, "read", file_.path());
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  File file_;
  std::uint64_t size_;
  std::uint64_t step_ = 512;
};

class PreadEngine final : public ReadEngine {
 public:
  explicit PreadEngine(const ReadEngineOptions& options) : options_(options) {}
  std::string_view name() const override { return "pread"; }

  std::unique_ptr<ReadFile> open(const std::string& path) const override {
    if (!options_.direct) return std::make_unique<BufferedFile>(File::open_read(path), options_.random);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (fd < 0 && errno == EINVAL) refuse_direct(path, "its file system does not offer it");
    if (fd < 0) throw system_error(errno, "open", path);
    return std::make_unique<DirectFile>(File(fd, path), alignments_);
  }

 private:
  ReadEngineOptions options_;
  mutable DirectAlignments alignments_;
};

}  // namespace

std::unique_ptr<ReadEngine> make_read_engine(std::string_view name, const ReadEngineOptions& options) {
  if (name == "pread") return std::make_unique<PreadEngine>(options);
  throw Error(ErrorCode::unsupported, fmt::format("engine '{}' is not in this version; there is: pread", name));
}

}  // namespace shardkit
