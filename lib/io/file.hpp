#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "core/bytes.hpp"

namespace shardkit::io {

/// The longest name and the longest path that file systems of Linux accept: NAME_MAX, and PATH_MAX without its NUL.
inline constexpr std::size_t kLongestComponent = 255;
inline constexpr std::size_t kLongestPath = 4095;

/// An open file descriptor that closes itself. Movable, not copyable. Reading by offset is thread-safe.
class File {
 public:
  /// Opens for reading with O_CLOEXEC | `extra_flags`. Throws Error{not_found, denied, io, ...}.
  static File open_read(const std::string& path, int extra_flags = 0);
  /// The same for a regular file only, without waiting for the writer of a pipe, and if possible without changing the
  /// access time. Throws Error{corrupt} for anything else.
  static File open_regular(const std::string& path);
  /// Opens `name` relative to the folder `folder_fd`; `path` is the whole path, for messages.
  static File open_read_at(int folder_fd, const char* name, const std::string& path, int extra_flags = 0);

  File() = default;
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }

  /// As fstat tells it.
  struct stat info() const;
  std::uint64_t size() const { return static_cast<std::uint64_t>(info().st_size); }

  /// pread until the buffer is full or the file ends; returns the bytes read. Throws Error{io} with path and offset.
  std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const;

 private:
  int fd_ = -1;
  std::string path_;
};

/// A file as ByteSource. Its size is taken when it is opened.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : FileSource(File::open_read(path)) {}
  explicit FileSource(File file) : file_(std::move(file)), size_(file_.size()) {}
  std::uint64_t size() const override { return size_; }
  std::size_t read_at(std::uint64_t offset, MutableBytes buffer) override { return file_.read_at(offset, buffer); }
  /// Tells the kernel to read ahead if all of the file will be read.
  std::uint64_t stream(std::uint64_t offset, std::uint64_t length, const BodyWriter& write) override {
    if (length > size_) ::posix_fadvise(file_.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
    return ByteSource::stream(offset, length, write);
  }
  const File& file() const { return file_; }

 private:
  File file_;
  std::uint64_t size_;
};

/// Appends all of `bytes` where the file stands. Throws Error{io, no_space}.
void write_all(const File& file, Bytes bytes);

/// The content of a small file. Throws Error{corrupt} if it has more than `limit` bytes.
std::string read_text_file(const std::string& path, std::uint64_t limit = 1U << 30U);
std::string read_text_file(const File& file, std::uint64_t limit = 1U << 30U);

/// Modification time of a file, in nanoseconds since 1970, as in plans.
inline std::int64_t mtime_ns(const struct stat& info) {
  return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

/// Bytes that the file occupies on disk: fewer than its size if it has holes.
inline std::uint64_t allocated_bytes(const struct stat& info) {
  constexpr std::uint64_t kUnit = 512;  // of st_blocks, whatever the block size of the file system
  return static_cast<std::uint64_t>(info.st_blocks) * kUnit;
}

/// Memory for direct I/O: starts on a page. Grows on demand, never shrinks; then its content is lost.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 4096;

  /// At least `bytes` of memory, valid until the next call that asks for more.
  MutableBytes get(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      size_ = 0;
      memory_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment})));
      size_ = bytes;
    }
    return {memory_.get(), bytes};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

/// Access to folders below a folder with untrusted names; FileSystem creates the files in them. Links are never
/// followed: each component is opened from its parent's descriptor with O_NOFOLLOW, so that a link planted below the
/// folder leads nowhere. Thread-safe.
class ContainedFolder {
 public:
  /// Opens the folder at `path`, which the user gave and which may be a link itself.
  explicit ContainedFolder(std::string path) : path_(std::move(path)), root_(File::open_read(path_, O_DIRECTORY)) {}

  const std::string& path() const { return path_; }

  /// Opens the folder `relative` ("" is the folder itself, else "a/b" without "." and ".."). With `make`, missing
  /// folders are created with mode 0777 minus umask; otherwise the result is empty. Throws Error{conflict} if there is
  /// a link or a file in the path.
  std::optional<File> folder(std::string_view relative, bool make) const;

  /// Removes the folder `relative`, which is not the folder itself, if it is empty; otherwise, or if it does not exist,
  /// does nothing. Throws like folder().
  void remove_if_empty(std::string_view relative) const;

  /// The folder itself.
  const File& root() const { return root_; }

 private:
  std::string path_;
  File root_;
};

/// What exists with one name in a folder; links are not followed.
enum class Standing { nothing, file, other };
Standing standing_at(const File& folder, const std::string& name);

/// Names of everything in `folder`, wherever it was moved since it was opened; none if it was removed.
std::vector<std::string> names_in(const File& folder);

/// Opens a file of `folder` for reading, never through a link.
File open_below(const File& folder, const std::string& name);

}  // namespace shardkit::io
