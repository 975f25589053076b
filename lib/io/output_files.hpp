#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/bytes.hpp"

/// Where the outputs of a command are: a folder on disk (FileSystem) or below a prefix of a bucket. The commands that
/// make sets write and read them through this interface, and do not know which it is.
namespace shardkit::io {

/// A file that is written in any order. Threads may write independently; sync() makes durable what was written before
/// it began.
class OutputFile {
 public:
  virtual ~OutputFile() = default;

  virtual void write_at(std::uint64_t offset, Bytes bytes) = 0;
  /// Truncates or extends the file to `size` bytes.
  virtual void resize(std::uint64_t size) = 0;
  /// Extends the file to `size` bytes, if it is shorter, and reserves disk space for all of them if the file system
  /// can.
  virtual void reserve(std::uint64_t size) = 0;
  /// From now on, whole pages of data that is aligned in file and memory bypass the page cache: that needs a tenth of
  /// the CPU time and no memory. False, without a change, where that is not supported, as on network and memory file
  /// systems.
  virtual bool bypass_cache() = 0;
  /// The bytes written so far become durable: fdatasync. Throws Error{io, no_space}.
  virtual void sync() = 0;
  /// Waits until a range has left the page cache for the disk, where it is not durable yet: a later sync is short.
  virtual void write_back(std::uint64_t offset, std::uint64_t length) = 0;
};

/// A file that has not got its name yet.
struct Unpublished {
  std::string path;  ///< of its bytes until it is renamed
  std::unique_ptr<OutputFile> file;
};

/// Thread-safe.
class OutputFiles {
 public:
  virtual ~OutputFiles() = default;

  /// Whether the paths are those of files, which have locks, times and free space around them.
  virtual bool is_local() const = 0;

  /// Creates a file that rename() or rename_new() will publish as `path`.
  virtual Unpublished create_for(const std::string& path) = 0;
  /// Creates `path` and its parents, if they do not exist.
  virtual void create_directories(const std::string& path) = 0;
  /// Atomically replaces `to` by `from`, whether or not `to` exists.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// Atomically renames `from` to `to`; false, without a change, if `to` exists.
  virtual bool rename_new(const std::string& from, const std::string& to) = 0;
  /// Makes names in the folder durable.
  virtual void sync_directory(const std::string& path) = 0;
  /// Removes a file, if it exists.
  virtual void remove(const std::string& path) = 0;
  /// The next rename() to `path` may replace the damaged file that is there. On a disk it always may.
  virtual void give_up(const std::string& /*path*/) {}

  /// The size of a file; empty if there is none, or a folder.
  virtual std::optional<std::uint64_t> size_of(const std::string& path) = 0;
  /// Whether there is a file or a folder.
  virtual bool exists(const std::string& path) = 0;
  /// For reading. Also a file that is not published, by its path until then. Throws Error{not_found, denied, io}.
  virtual std::unique_ptr<ByteSource> open(const std::string& path) = 0;
  /// Names of the direct contents of `folder`, in any order; none without such a folder.
  virtual std::vector<std::string> names_in(const std::string& folder) = 0;

  /// Announces what this process writes to a folder, such as "plan HASH": only processes that write the same may work
  /// there at a time, else Error{in_use}. `may_replace`: also manifests and indexes with other bytes. Folders on disks
  /// have io::RunFile instead.
  virtual void claim(const std::string& /*folder*/, const std::string& /*writes*/, bool /*may_replace*/) {}
  /// Throws Error{in_use} if another process has taken a folder over. Thread-safe.
  virtual void require_claims() {}
  /// The next question about files looks at them again.
  virtual void refresh() {}

  /// Waits while too much of what was written is still in memory. Returns early on a stop.
  virtual void wait_for_memory(const std::stop_token& /*stop*/) {}
};

/// The content of a small file. Throws like open(), and Error{corrupt} if it has more than 1 GiB.
std::string read_text(OutputFiles& files, const std::string& path);

}  // namespace shardkit::io
