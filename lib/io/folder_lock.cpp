#include "io/folder_lock.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {

FolderLock::FolderLock(const std::string& path, const std::stop_token& stop)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644), path) {
  if (!file_) throw system_error(errno, "open", path);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  // Asking again and again, because a wait in the kernel would not end with the stop token.
  while (::fcntl(file_.fd(), F_OFD_SETLK, &whole) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EACCES) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("the file system of '{}' keeps no locks; choose a folder on a local disk", path), path);
    }
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, fmt::format("stopped while waiting for '{}'", path));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace shardkit
