#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"

/// How every output appears: hidden temporary file, fdatasync, rename, sync of the folder. A reader sees the old state
/// or the new one, never a half, also after a power cut.
namespace shardkit::io {

/// A file that gets its name only when commit() is called; without it the destructor removes what was written.
/// One thread at a time. The temporary name is hidden and never ends in ".tar" (see temp_name()).
class AtomicFile final : public ByteSink {
 public:
  /// Creates the temporary file beside `path`. The folder must be there.
  AtomicFile(FileSystem& files, std::string path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Small pieces are gathered; they are in the file after flush() and when it is committed.
  void write(Bytes bytes) override;
  void flush();
  WritableFile& file() { return *file_; }
  const std::string& path() const { return path_; }
  /// Where the bytes are until they are committed, those that flush() has written.
  const std::string& temp_path() const { return temp_; }

  /// Makes the bytes durable under `path`, replacing what stood there.
  void commit();
  /// As commit(), but leaves an existing file alone: false when another writer was first.
  bool commit_new();
  /// As commit(), but does not wait for the disk: for many small files that can be made again. A kill still leaves all
  /// of the file or nothing; after a power cut it may be there and empty.
  void commit_without_sync();

 private:
  FileSystem& files_;
  std::string path_;
  std::string temp_;
  std::unique_ptr<WritableFile> file_;
  std::vector<std::byte> gathered_;
};

/// Publishes `bytes` as `path`.
void publish(FileSystem& files, const std::string& path, Bytes bytes);

/// Where a file is to be published that a user named: what a link leads to, so that it stays a link. Throws
/// Error{usage} where there is something that a text must not take the place of: a folder, a pipe, a device, data.
std::string published_path(const std::string& path);

/// A name for a temporary that will become `path`: ".<name>.<host>-<pid>-<random number>.tmp" in the same folder. Host
/// and pid alone do not tell writers apart: containers share host names, and in each the pid is 1.
std::string temp_name(const std::string& path);

/// Removes temporaries in `folder` whose writers are gone: made on this host and no longer locked, or made on another
/// host and untouched for a day (locks do not cross hosts everywhere, process numbers do not cross containers).
/// Returns how many went.
std::size_t remove_stale_temps(FileSystem& files, const std::string& folder);

/// The folder part of a path, "." when it has none.
std::string parent_folder(const std::string& path);
/// `folder`/`name` with one slash between.
std::string join_path(const std::string& folder, std::string_view name);

/// A new file through which writing itself is measured: each call is the system call that it names, and what was asked
/// for is had or refused. Outputs that anybody keeps are made through FileSystem instead. One thread at a time.
class RawWriter {
 public:
  /// Makes the file, which must not be there. `direct`: O_DIRECT, past the page cache; Error{unsupported} where the
  /// file system does not offer it or, as tmpfs, only pretends.
  RawWriter(const std::string& path, bool direct);

  /// pwrite of all of `bytes`; with O_DIRECT, whole blocks of 4096 from memory that is as well aligned. Throws
  /// Error{io, no_space} with path and offset.
  void write_at(std::uint64_t offset, Bytes bytes);
  /// fsync: bytes and size are durable.
  void sync();

 private:
  File file_;
};

}  // namespace shardkit::io
