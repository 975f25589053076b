#pragma once

#include <cstdint>
#include <string>

#include <fcntl.h>

#include "core/bytes.hpp"

namespace shardkit {

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
  explicit FileSource(const std::string& path) : file_(File::open_read(path)), size_(file_.size()) {}
  std::uint64_t size() const override { return size_; }
  std::size_t read_at(std::uint64_t offset, MutableBytes buffer) override { return file_.read_at(offset, buffer); }
  const File& file() const { return file_; }

 private:
  File file_;
  std::uint64_t size_;
};

/// Appends all of `bytes` where the file stands. Throws Error{io, no_space}.
void write_all(const File& file, Bytes bytes);

/// The whole of a small file. Throws Error{corrupt} when it holds more than `limit` bytes.
std::string read_text_file(const std::string& path, std::uint64_t limit = 1U << 30U);

}  // namespace shardkit
