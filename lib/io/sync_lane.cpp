#include "io/sync_lane.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace shardkit {

std::shared_ptr<const ReadFile> FileOpener::open(const std::string& path) const {
  if (options_.direct) return direct_.open(path);
  File file = File::open_read(path);
  ::posix_fadvise(file.fd(), 0, 0, options_.random ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
  return std::make_shared<ReadFile>(std::move(file));
}

void SyncLane::submit(const ReadRequest& request) {
  started_ = std::chrono::steady_clock::now();
  window_ = request.file->window(request.offset, request.length);
  request_ = request;
}

ReadCompletion SyncLane::wait() {
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

}  // namespace shardkit
