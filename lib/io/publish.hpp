#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"

/// How every output is published: hidden temporary file, fdatasync, rename, sync of the folder. A reader sees the old
/// state or the new one, never a part, also after a power cut.
namespace shardkit::io {

/// A file that gets its name only with commit(); otherwise the destructor removes it. One thread at a time. The
/// temporary name is hidden and never ends in ".tar" (see temp_name()).
class AtomicFile final : public ByteSink {
 public:
  /// Creates the temporary file next to `path`. The folder must exist.
  AtomicFile(FileSystem& files, std::string path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Small pieces are collected; they are in the file after flush() and after commit().
  void write(Bytes bytes) override;
  void flush();
  WritableFile& file() { return *file_; }
  const std::string& path() const { return path_; }
  /// Path of the bytes until they are committed, those written by flush().
  const std::string& temp_path() const { return temp_; }

  /// Makes the bytes durable under `path`, replacing an existing file.
  void commit();
  /// Like commit(), but keeps an existing file: false if another writer was first.
  bool commit_new();
  /// Like commit(), but does not wait for the disk: for many small files that can be created again. After a kill,
  /// either the complete file or none exists; after a power cut it may exist and be empty.
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

/// Path to publish a file of the user: the target of a link, so that it stays a link. Throws Error{usage} if there is
/// something that a text must not replace: a folder, a pipe, a device, data.
std::string published_path(const std::string& path);

/// A name for a temporary file that will become `path`: ".<name>.<host>-<pid>-<random number>.tmp" in the same folder.
/// Host and pid are not unique: containers share host names, and in each the pid is 1.
std::string temp_name(const std::string& path);

/// Removes temporary files in `folder` whose writers no longer exist: created on this host and no longer locked, or
/// created on another host and unchanged for a day (locks do not work across all hosts, process numbers not across
/// containers). Returns their number.
std::size_t remove_stale_temps(FileSystem& files, const std::string& folder);

/// The folder part of a path, "." if it has none.
std::string parent_folder(const std::string& path);
/// `folder`/`name` with one slash between.
std::string join_path(const std::string& folder, std::string_view name);

/// A new file for measuring writes: each call is the system call with its name, and fails if it is not available.
/// Outputs are created with FileSystem instead. One thread at a time.
class RawWriter {
 public:
  /// Creates the file, which must not exist. `direct`: O_DIRECT, bypassing the page cache; Error{unsupported} if the
  /// file system does not support it or, like tmpfs, ignores it.
  RawWriter(const std::string& path, bool direct);

  /// pwrite of all of `bytes`; with O_DIRECT, whole blocks of 4096 from aligned memory. Throws Error{io, no_space} with
  /// path and offset.
  void write_at(std::uint64_t offset, Bytes bytes);
  /// fsync: bytes and size are durable.
  void sync();

 private:
  File file_;
};

}  // namespace shardkit::io
