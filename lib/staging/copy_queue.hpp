#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "staging/file_copy.hpp"

namespace shardkit::staging {

/// Which bytes to fetch next, of all files of a set: a worker stays with its file, so that its bytes come in order,
/// then takes the next file, and helps with others' when there is none. Files that another process is fetching are
/// looked at again until they are there or that process is gone. Thread-safe.
class CopyQueue {
 public:
  struct Opened {
    enum class As { in_place, elsewhere, copy };
    As as = As::in_place;
    std::shared_ptr<FileCopy> copy;
  };
  struct Calls {
    /// Opens the file of that number.
    std::function<Opened(std::size_t number)> open;
    /// Called before anybody waits for another process: what we hold back it may be waiting for.
    std::function<void()> before_wait;
  };

  CopyQueue(std::size_t files, Calls calls) : files_(files), calls_(std::move(calls)) {}

  struct Work {
    std::shared_ptr<FileCopy> copy;
    ByteRange range;
  };
  /// Waits for something to do; `last` is what the caller worked on, or null. Empty when all files are there. Throws
  /// Error{cancelled} on a stop, and what `open` throws.
  std::optional<Work> next(std::shared_ptr<FileCopy> last, std::uint64_t longest, const std::stop_token& stop);

  /// The file is there.
  void finished(const std::shared_ptr<FileCopy>& copy);
  /// Something can be claimed again.
  void wake();

  /// Files being fetched: what is left when the work ended before its time.
  std::vector<std::shared_ptr<FileCopy>> unfinished();

 private:
  std::optional<std::size_t> take_unopened();
  std::shared_ptr<FileCopy> open_one(std::size_t number);
  std::optional<Work> help(std::uint64_t longest);
  bool look_elsewhere(std::unique_lock<std::mutex>& lock);
  void note_change();

  const std::size_t files_;
  const Calls calls_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic<std::uint64_t> changes_{0};  ///< so far, of what a worker may wait for
  std::size_t next_ = 0;
  std::size_t opening_ = 0;
  std::vector<std::shared_ptr<FileCopy>> open_;
  std::vector<std::size_t> elsewhere_;
  bool looking_elsewhere_ = false;
};

}  // namespace shardkit::staging
