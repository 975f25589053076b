#pragma once

#include <stop_token>
#include <string>

#include "io/file.hpp"

namespace shardkit {

/// One process at a time among all that lock the same file; the kernel ends the lock with the process, however it dies.
/// An open file description lock, which unlike flock() is refused rather than ignored where a network file system
/// cannot keep it, and which tells containers apart, as process numbers do not.
class FolderLock {
 public:
  /// Makes the file if need be and waits until nobody else holds it. Throws Error{cancelled} when `stop` comes first,
  /// Error{unsupported} where the file system keeps no locks.
  FolderLock(const std::string& path, const std::stop_token& stop);

 private:
  File file_;
};

}  // namespace shardkit
