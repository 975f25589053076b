#include "io/file.hpp"

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"

namespace shardkit::io {
namespace {

File checked(int fd, const std::string& path) {
  if (fd < 0) throw system_error(errno, "open", path);
  return File(fd, path);
}

}  // namespace

File File::open_read(const std::string& path, int extra_flags) {
  return checked(::open(path.c_str(), O_RDONLY | O_CLOEXEC | extra_flags), path);
}

File File::open_read_at(int folder_fd, const char* name, const std::string& path, int extra_flags) {
  return checked(::openat(folder_fd, name, O_RDONLY | O_CLOEXEC | extra_flags), path);
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

std::uint64_t File::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) throw system_error(errno, "stat", path_);
  return static_cast<std::uint64_t>(info.st_size);
}

std::size_t File::read_at(std::uint64_t offset, MutableBytes buffer) const {
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got = ::pread(fd_, buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      const Error error = system_error(errno, "read", path_);
      throw Error(error.code(), fmt::format("{} at byte {}", error.what(), offset + done), path_, offset + done);
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void write_all(const File& file, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file.fd(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw system_error(errno, "write", file.path());
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

std::string read_text_file(const std::string& path, std::uint64_t limit) {
  const File file = File::open_read(path);
  std::string text;
  constexpr std::size_t block = 64U * 1024U;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + block);
    const std::size_t got = file.read_at(before, std::as_writable_bytes(std::span(text)).subspan(before));
    text.resize(before + got);
    if (text.size() > limit) {
      throw Error(ErrorCode::corrupt, fmt::format("'{}' is larger than the {} bytes that it may have", path, limit),
                  path);
    }
    if (got < block) return text;
  }
}

}  // namespace shardkit::io
