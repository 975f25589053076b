#include "io/folder_lock.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit::io {
namespace {

/// F_OFD_SETLK over the whole file; the errno, 0 when it was done.
int set_lock(int fd, short type) {
  struct flock whole {};
  whole.l_type = type;
  while (::fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Opens a lock file, of another user perhaps: without O_CREAT, which fs.protected_regular refuses in sticky folders,
/// and in the end for reading alone, which is enough to share.
int open_lock(const std::string& path) {
  constexpr int kAlways = O_NOFOLLOW | O_CLOEXEC;
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | kAlways, 0666);
  for (const int access : {O_RDWR, O_RDONLY}) {
    if (fd >= 0 || errno != EACCES) break;
    fd = ::open(path.c_str(), access | kAlways);
    if (fd < 0 && errno == ENOENT) errno = EACCES;  // it could not be made
  }
  return fd;
}

}  // namespace

FolderLock::FolderLock(const std::string& path) : file_(open_lock(path), path) {
  if (!file_) throw system_error(errno, "open", path);
}

FolderLock::FolderLock(const std::string& path, const std::stop_token& stop) : FolderLock(path) {
  while (!try_take(Hold::exclusive)) wait_for_lock(path, stop);
}

bool FolderLock::try_take(Hold hold) {
  const int error = set_lock(file_.fd(), hold == Hold::shared ? F_RDLCK : F_WRLCK);
  if (error == EAGAIN || error == EACCES) return false;
  if (error == 0) return true;
  if (error == EBADF) {  // what a descriptor for reading alone cannot do
    throw Error(ErrorCode::denied,
                fmt::format("'{}' belongs to another user and may only be read, so nothing can be changed beside it; "
                            "users who share a folder need write permission on it by a common group (chmod g+ws on the "
                            "folder, umask 002)",
                            file_.path()),
                file_.path());
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("the file system of '{}' keeps no locks; choose a folder on a local disk", file_.path()),
              file_.path());
}

void FolderLock::release() { set_lock(file_.fd(), F_UNLCK); }

bool is_locked(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC), path);
  if (!file && errno == ENOENT) return false;
  if (!file) throw system_error(errno, "open", path);
  struct flock other {};
  other.l_type = F_WRLCK;
  if (::fcntl(file.fd(), F_OFD_GETLK, &other) != 0) throw system_error(errno, "look at the lock of", path);
  return other.l_type != F_UNLCK;
}

void wait_for_lock(const std::string& path, const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, fmt::format("stopped while waiting for '{}'", path));
  // Asking again and again, because a wait in the kernel would not end with the stop token.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace shardkit::io
