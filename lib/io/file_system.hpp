#pragma once

#include <cstdint>
#include <memory>
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

  /// Cuts the file back to `size` bytes; the next write appends there.
  virtual void truncate(std::uint64_t size) = 0;
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
  /// Opens a file that create() made earlier, cuts it to its first `size` bytes and appends there. Throws
  /// Error{not_found} when it is gone.
  virtual std::unique_ptr<WritableFile> reopen(const std::string& path, std::uint64_t size) = 0;
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

}  // namespace shardkit::io
