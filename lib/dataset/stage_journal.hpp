#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "io/file_system.hpp"

namespace shardkit {

/// What a stage has brought so far, `.shardkit/stage.journal`: one line per event, the last about a file counts.
/// Appended after the bytes it speaks of are durable, so it never says more than is true; a line cut by a power cut is
/// left out when it is read. Thread-safe.
class StageJournal {
 public:
  struct Entry {
    bool done = false;  ///< published under its name; else `bytes` of its partial file are durable
    std::uint64_t bytes = 0;
    std::string pin;  ///< StageFile::pin() of the bytes
  };

  using Entries = std::map<std::string, Entry>;

  /// What the journal at `path` says, by file name; nothing where there is none.
  static Entries read(const std::string& path);

  /// Starts a journal at `path` that says `entries`, in place of the one that is there.
  StageJournal(FileSystem& files, const std::string& path, Entries entries);

  /// What is known of a file; a default Entry when nothing is.
  Entry find(const std::string& name) const;
  void record(const std::string& name, Entry entry);
  /// Makes all records durable.
  void sync();

 private:
  mutable std::mutex mutex_;
  Entries entries_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace shardkit
