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

/// An open file descriptor that closes itself. Movable, not copyable. Reading by offset is thread-safe.
class File {
 public:
  /// Opens for reading with O_CLOEXEC | `extra_flags`. Throws Error{not_found, denied, io, ...}.
  static File open_read(const std::string& path, int extra_flags = 0);
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

  /// Size in bytes by fstat.
  std::uint64_t size() const;

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
  /// Tells the kernel to read ahead where all of the file is wanted.
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

/// The whole of a small file. Throws Error{corrupt} when it holds more than `limit` bytes.
std::string read_text_file(const std::string& path, std::uint64_t limit = 1U << 30U);

/// When a file was last modified, in nanoseconds since 1970, as plans keep it.
inline std::int64_t mtime_ns(const struct stat& info) {
  return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

/// Memory that direct I/O accepts: starts on a page. Grows on demand, never shrinks; what it held is lost then.
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

/// Folders below a folder under names that a stranger chose; FileSystem makes the files in them. No link is ever
/// followed on the way: each component is opened by itself from its parent's descriptor with O_NOFOLLOW, so that a link
/// planted below the folder leads nowhere, however it came there. Thread-safe.
class ContainedFolder {
 public:
  /// Opens the folder at `path`, which the user named and which may be a link itself.
  explicit ContainedFolder(std::string path) : path_(std::move(path)), root_(File::open_read(path_, O_DIRECTORY)) {}

  const std::string& path() const { return path_; }

  /// Opens the folder `relative` ("" is the folder itself, else "a/b" without "." and ".."). What is missing on the way
  /// is made with mode 0777 less umask when `make`, else the answer is empty. Throws Error{conflict} where a link or a
  /// file stands in the way.
  std::optional<File> folder(std::string_view relative, bool make) const;

  /// Removes the folder `relative`, which is not the folder itself, when it is empty; else, and when it is gone, does
  /// nothing. Throws as folder().
  void remove_if_empty(std::string_view relative) const;

  /// The folder itself.
  const File& root() const { return root_; }

 private:
  std::string path_;
  File root_;
};

/// What stands under one name of a folder; a link is itself.
enum class Standing { nothing, file, other };
Standing standing_at(const File& folder, const std::string& name);

/// Names of all that lies in `folder`, wherever that was moved since it was opened; none when it was removed meanwhile.
std::vector<std::string> names_in(const File& folder);

/// Opens a file of `folder` for reading, never through a link.
File open_below(const File& folder, const std::string& name);

}  // namespace shardkit::io
