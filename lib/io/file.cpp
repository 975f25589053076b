#include "io/file.hpp"

#include <cerrno>
#include <utility>

#include <dirent.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/publish.hpp"

namespace shardkit::io {
namespace {

File checked(int fd, const std::string& path) {
  if (fd < 0) throw system_error(errno, "open", path);
  return File(fd, path);
}

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Opens or makes one sub-folder; not open when it is missing and not to be made.
File open_step(const File& parent, const std::string& name, bool make) {
  const std::string path = join_path(parent.path(), name);
  int fd = ::openat(parent.fd(), name.c_str(), kFolder);
  if (fd < 0 && errno == ENOENT && make) {
    if (::mkdirat(parent.fd(), name.c_str(), 0777) != 0 && errno != EEXIST) {
      throw system_error(errno, "create folder", path);
    }
    fd = ::openat(parent.fd(), name.c_str(), kFolder);
  }
  if (fd >= 0) return File(fd, path);
  if (errno == ENOENT && !make) return {};
  if (errno == ENOTDIR || errno == ELOOP) {
    throw Error(ErrorCode::conflict, At{path},
                "'{}' is a link or a file where a folder is needed; choose another folder, or move it elsewhere", path);
  }
  throw system_error(errno, "open", path);
}

}  // namespace

File File::open_read(const std::string& path, int extra_flags) {
  return checked(::open(path.c_str(), O_RDONLY | O_CLOEXEC | extra_flags), path);
}

File File::open_regular(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  int fd = ::open(path.c_str(), kFlags | O_NOATIME);
  if (fd < 0 && errno == EPERM) fd = ::open(path.c_str(), kFlags);  // a file of another user
  const bool is_socket = fd < 0 && errno == ENXIO;
  if (!is_socket) {
    File file = checked(fd, path);
    if (S_ISREG(file.info().st_mode)) return file;
  }
  throw Error(ErrorCode::corrupt, At{path}, "'{}' is not a regular file; move it elsewhere", path);
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

struct stat File::info() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) throw system_error(errno, "stat", path_);
  return info;
}

std::size_t File::read_at(std::uint64_t offset, MutableBytes buffer) const {
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got = ::pread(fd_, buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      const Error error = system_error(errno, "read", path_);
      throw Error(error.code(), At{path_, offset + done}, "{} at byte {}", error.what(), offset + done);
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
  return read_text_file(File::open_read(path), limit);
}

std::string read_text_file(const File& file, std::uint64_t limit) {
  std::string text;
  constexpr std::size_t block = 64U * 1024U;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + block);
    const std::size_t got = file.read_at(before, std::as_writable_bytes(std::span(text)).subspan(before));
    text.resize(before + got);
    if (text.size() > limit) {
      throw Error(ErrorCode::corrupt, At{file.path()}, "'{}' is larger than the allowed {} bytes", file.path(), limit);
    }
    if (got < block) return text;
  }
}

std::optional<File> ContainedFolder::folder(std::string_view relative, bool make) const {
  File current(::openat(root_.fd(), ".", kFolder), path_);
  if (!current) throw system_error(errno, "open", path_);
  while (!relative.empty()) {
    const std::size_t slash = relative.find('/');
    current = open_step(current, std::string(relative.substr(0, slash)), make);
    if (!current) return std::nullopt;
    relative.remove_prefix(slash == std::string_view::npos ? relative.size() : slash + 1);
  }
  return current;
}

void ContainedFolder::remove_if_empty(std::string_view relative) const {
  const std::size_t slash = relative.rfind('/');
  const bool is_top = slash == std::string_view::npos;
  const auto parent = folder(is_top ? "" : relative.substr(0, slash), false);
  if (!parent) return;
  const std::string name(is_top ? relative : relative.substr(slash + 1));
  if (::unlinkat(parent->fd(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT || errno == ENOTDIR) return;
  if (errno != ENOTEMPTY && errno != EEXIST) throw system_error(errno, "remove", join_path(parent->path(), name));
}

Standing standing_at(const File& folder, const std::string& name) {
  struct stat info {};
  if (::fstatat(folder.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    return S_ISREG(info.st_mode) ? Standing::file : Standing::other;
  }
  if (errno == ENOENT) return Standing::nothing;
  throw system_error(errno, "look at", join_path(folder.path(), name));
}

File open_below(const File& folder, const std::string& name) {
  return File::open_read_at(folder.fd(), name.c_str(), join_path(folder.path(), name), O_NOFOLLOW);
}

std::vector<std::string> names_in(const File& folder) {
  std::vector<std::string> names;
  const int fd = ::openat(folder.fd(), ".", kFolder);  // with its own position
  if (fd < 0 && errno == ENOENT) return names;
  if (fd < 0) throw system_error(errno, "list", folder.path());
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd), &::closedir);
  if (!listing) {
    const int error = errno;
    ::close(fd);
    throw system_error(error, "list", folder.path());
  }
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

}  // namespace shardkit::io
