#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/bytes.hpp"
#include "io/block_writer.hpp"
#include "io/file_system.hpp"

/// How every output is published: hidden temporary file, fdatasync, rename, sync of the folder. A reader sees the old
/// state or the new one, never a part, also after a power cut.
namespace shardkit::io {

/// A file that gets its name only with commit(); otherwise the destructor removes it. One thread at a time. The
/// temporary name is hidden and never ends in ".tar" (see temp_name()).
class AtomicFile final : public ByteSink {
 public:
  /// Creates the temporary file next to `path`. The folder must exist.
  AtomicFile(OutputFiles& files, std::string path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Small pieces are collected; they are in the file after flush() and after commit().
  void write(Bytes bytes) override { blocks_.write(bytes); }
  void flush() { blocks_.flush(); }
  /// For writing at offsets instead of in order.
  OutputFile& file() { return *unpublished_.file; }
  const std::string& path() const { return path_; }
  /// Path of the bytes until they are committed, those written by flush().
  const std::string& temp_path() const { return unpublished_.path; }

  /// Makes the bytes durable under `path`, replacing an existing file.
  void commit();
  /// Like commit(), but keeps an existing file: false if another writer was first.
  bool commit_new();
  /// Like commit(), but does not wait for the disk: for many small files that can be created again. After a kill,
  /// either the complete file or none exists; after a power cut it may exist and be empty.
  void commit_without_sync();

 private:
  OutputFiles& files_;
  std::string path_;
  Unpublished unpublished_;  ///< its path is empty after the commit
  BlockWriter blocks_;
};

/// Publishes `bytes` as `path`.
void publish(OutputFiles& files, const std::string& path, Bytes bytes);

/// Path to publish a file of the user: the target of a link, so that it stays a link. Throws Error{usage} if there is
/// something that a text must not replace: a folder, a pipe, a device, data.
std::string published_path(const std::string& path);

/// A name for a temporary file that will become `path`: ".<name>.<host>-<pid>-<random number>.tmp" in the same folder.
/// Host and pid are not unique: containers share host names, and in each the pid is 1.
std::string temp_name(const std::string& path);
/// Whether the file name is like one of these, whoever made it.
bool is_temp_name(std::string_view name);

/// Removes temporary files in `folder` whose writers no longer exist: created on this host and no longer locked, or
/// created on another host and unchanged for a day (locks do not work across all hosts, process numbers not across
/// containers). Returns their number.
std::size_t remove_stale_temps(OutputFiles& files, const std::string& folder);

/// The folder part of a path, "." if it has none.
std::string parent_folder(const std::string& path);
/// `folder`/`name` with one slash between.
std::string join_path(const std::string& folder, std::string_view name);

}  // namespace shardkit::io
