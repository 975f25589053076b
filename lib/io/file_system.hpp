#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "core/bytes.hpp"
#include "io/file.hpp"

/// The seam through which every output file is made: tests put a file system behind it that forgets what was not
/// synced, or fails on the n-th call. Reading has no need of it.
namespace shardkit::io {

/// A file that is being written from start to end.
class WritableFile : public ByteSink {
 public:
  /// Bytes appended so far become durable: fdatasync. Throws Error{io, no_space}.
  virtual void sync() = 0;

  /// Hints that the first `end` bytes may go to disk now; does not wait and does not make durable.
  virtual void start_writeback(std::uint64_t end) = 0;
};

/// A file that is put together in any order. While it is open its lock is held, so that no other process and no other
/// handle writes it. Threads may write apart from each other; sync() makes durable what was written before it began.
class PatchFile {
 public:
  virtual ~PatchFile() = default;

  virtual void write_at(std::uint64_t offset, Bytes bytes) = 0;
  /// Cuts or lengthens the file to `size` bytes.
  virtual void resize(std::uint64_t size) = 0;
  /// Lengthens the file to `size` bytes, if it is shorter, and takes the room for all of them on the disk where the
  /// file system can.
  virtual void reserve(std::uint64_t size) = 0;
  /// From now on what is written in whole blocks, aligned in file and memory, goes past the page cache: that takes a
  /// tenth of the CPU time and no memory. Where the file system cannot, nothing changes.
  virtual void bypass_cache() = 0;
  /// As WritableFile::sync().
  virtual void sync() = 0;
  /// Hints that a range may go to disk now; does not wait.
  virtual void start_writeback(std::uint64_t offset, std::uint64_t length) = 0;
  /// Hints that what of the first `end` bytes is on disk need not stay in memory.
  virtual void drop_cached(std::uint64_t end) = 0;
  /// For reading back.
  virtual const File& file() const = 0;
};

/// Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Makes a new file with mode 0666 less umask; Error{conflict} when `path` is there already. While it is open the
  /// writer holds an OFD lock on it, by which remove_stale_temps() tells the living from the dead.
  virtual std::unique_ptr<WritableFile> create(const std::string& path) = 0;
  /// Opens the file at `path`, made when it is missing, and takes its lock; null when another holds that. Throws
  /// Error{unsupported} where the file system keeps no locks.
  virtual std::unique_ptr<PatchFile> open_patch(const std::string& path) = 0;
  /// Opens the file at `path`, made when it is missing, to append to it. Several processes may: each write() of theirs
  /// stays in one piece.
  virtual std::unique_ptr<WritableFile> open_append(const std::string& path) = 0;
  /// Makes `path` and its parents; fine when they are there.
  virtual void create_directories(const std::string& path) = 0;
  /// Atomically puts `from` in the place of `to`, whether or not `to` is there.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// Atomically gives `from` the name `to`; false, changing nothing, when `to` is there already.
  virtual bool rename_new(const std::string& from, const std::string& to) = 0;
  /// Makes names in the folder durable.
  virtual void sync_directory(const std::string& path) = 0;
  /// Removes a file; fine when it is gone.
  virtual void remove(const std::string& path) = 0;

  // The same for names that a stranger chose: they are taken in a folder that is open, so that no link leads elsewhere.

  /// As create(), but follows no link and takes no lock.
  virtual std::unique_ptr<WritableFile> create_below(const File& folder, const std::string& name) = 0;
  /// As rename_new().
  virtual bool rename_new_below(const File& from_folder, const std::string& from, const File& to_folder,
                                const std::string& to) = 0;
  virtual void remove_below(const File& folder, const std::string& name) = 0;
  /// All that was written below `folder` is durable when it returns, with all else of its file system: syncfs. Throws
  /// Error{io, no_space}.
  virtual void sync_all(const File& folder) = 0;
};

enum class LockAttempt { taken, held_elsewhere, no_locks_here };

/// Tries to take the lock that a writer holds on its file, without waiting. It goes when the File does.
LockAttempt try_lock(const File& file);

/// The operating system's. Holds no state.
std::unique_ptr<FileSystem> posix_file_system();

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
