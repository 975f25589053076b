#pragma once

#include <stop_token>
#include <string>

#include "io/file.hpp"

namespace shardkit::io {

enum class Hold { shared, exclusive };

/// One process at a time, or several that share, among all that lock the same file; the kernel ends the lock with the
/// process, however it dies. An open file description lock, which unlike flock() is refused rather than ignored where a
/// network file system cannot keep it, and which tells containers apart, as process numbers do not.
class FolderLock {
 public:
  /// Makes the file if need be, with mode 0666 less umask; nothing is held yet. A file of another user that may only be
  /// read can be held shared. Throws Error{denied} where it may not even be read.
  explicit FolderLock(const std::string& path);
  /// Makes the file if need be and waits until nobody else holds it. Throws Error{cancelled} when `stop` comes first,
  /// Error{unsupported} where the file system keeps no locks.
  FolderLock(const std::string& path, const std::stop_token& stop);

  /// Takes the lock, or turns the one that is held into this one, without waiting. False, with nothing changed, when
  /// another's is in the way. Throws Error{unsupported}, and Error{denied} for an exclusive hold of a file that may not
  /// be written.
  bool try_take(Hold hold);
  void release();

 private:
  File file_;
};

/// Whether somebody holds the lock whose file is at `path`, shared or alone; false without such a file. Changes
/// nothing: the folder may be mounted read-only. By the time of the answer it may have changed.
bool is_locked(const std::string& path);

/// Waits a little before a lock is tried again. Throws Error{cancelled} once `stop` asks; `path` is for the message.
void wait_for_lock(const std::string& path, const std::stop_token& stop);

}  // namespace shardkit::io
