#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "io/file.hpp"
#include "io/output_files.hpp"

/// The interface with which every file on disk is created: tests implement it with a file system that loses data that
/// was not synced, or fails on the n-th call.
namespace shardkit::io {

/// A file that is written from start to end.
class WritableFile : public ByteSink {
 public:
  /// Bytes appended so far become durable: fdatasync. Throws Error{io, no_space}.
  virtual void sync() = 0;
};

/// A file on disk that is written in any order. While it is open its lock is held, so that no other process or handle
/// writes it.
class PatchFile : public OutputFile {
 public:
  /// Hints that those of the first `end` bytes that are on disk need not stay in memory.
  virtual void drop_cached(std::uint64_t end) = 0;
  /// For reading back.
  virtual const File& file() const = 0;
};

/// Thread-safe.
class FileSystem : public OutputFiles {
 public:
  bool is_local() const final { return true; }
  Unpublished create_for(const std::string& path) final;
  std::optional<std::uint64_t> size_of(const std::string& path) override;
  bool exists(const std::string& path) override;
  std::unique_ptr<ByteSource> open(const std::string& path) override;
  std::vector<std::string> names_in(const std::string& folder) override;

  /// Creates a new file with mode 0666 minus umask; Error{conflict} if `path` exists. While it is open the writer holds
  /// an OFD lock on it, which tells remove_stale_temps() that the process still exists. Errors name it as `shown`.
  virtual std::unique_ptr<PatchFile> create(const std::string& path, const std::string& shown) = 0;
  /// Opens the file at `path`, created if missing, and takes its lock; null if another process holds that. Throws
  /// Error{unsupported} if the file system does not support locks.
  virtual std::unique_ptr<PatchFile> open_patch(const std::string& path) = 0;
  /// Opens the file at `path`, created if missing, to append to it. Several processes may do so: each write() is
  /// atomic.
  virtual std::unique_ptr<WritableFile> open_append(const std::string& path) = 0;

  // The same for untrusted names: relative to an open folder, so that no link leads elsewhere.

  /// Like create(), but follows no link and takes no lock.
  virtual std::unique_ptr<WritableFile> create_below(const File& folder, const std::string& name) = 0;
  /// As rename_new().
  virtual bool rename_new_below(const File& from_folder, const std::string& from, const File& to_folder,
                                const std::string& to) = 0;
  virtual void remove_below(const File& folder, const std::string& name) = 0;
  /// Makes everything written below `folder` durable, with all else of its file system: syncfs. Throws Error{io,
  /// no_space}.
  virtual void sync_all(const File& folder) = 0;
};

enum class LockAttempt { taken, held_elsewhere, no_locks_here };

/// Tries to take the lock that a writer holds on its file, without waiting. It ends with the File.
LockAttempt try_lock(const File& file);

/// The operating system's. Holds no state.
std::unique_ptr<FileSystem> posix_file_system();

enum class LockMode { shared, exclusive };

/// A lock for one process at a time, or several that share, among all that lock the same file; the kernel ends the lock
/// with the process. An open file description lock: unlike flock() it fails if a network file system cannot support it,
/// and it works across containers, where process numbers are not unique.
class FolderLock {
 public:
  /// Creates the file if necessary, with mode 0666 minus umask; nothing is locked yet. A read-only file of another user
  /// can be locked shared. Throws Error{denied} if it may not even be read.
  explicit FolderLock(const std::string& path);
  /// Creates the file if necessary and waits until no other process holds it. Throws Error{cancelled} on a stop,
  /// Error{unsupported} if the file system does not support locks.
  FolderLock(const std::string& path, const std::stop_token& stop);

  /// Takes the lock, or converts the held one, without waiting. False, without a change, if another one conflicts.
  /// Throws Error{unsupported}, and Error{denied} for an exclusive lock of a file that may not be written.
  bool try_take(LockMode hold);
  void release();

 private:
  File file_;
};

/// Whether a process holds the lock of the file at `path`, shared or exclusive; false without such a file. Also right
/// while a process replaces the file by one that it has locked before. Changes nothing: the folder may be mounted
/// read-only. The answer may be outdated immediately.
bool is_locked(const std::string& path);

/// Waits a little before a lock is tried again. Throws Error{cancelled} on a stop; `path` is for the message.
void wait_for_lock(const std::string& path, const std::stop_token& stop);

}  // namespace shardkit::io
