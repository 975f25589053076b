#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/hash.hpp"
#include "staging/file_copy.hpp"

namespace shardkit {

/// A file whose bytes are all here and right.
struct CopiedFile {
  std::shared_ptr<FileCopy> copy;
  Hash128 hash;
};

/// Gathers small files, so that one wait for the disk makes many of them durable. Thread-safe.
class SmallFiles {
 public:
  /// `commit` makes the files of a batch durable and gives them their names; batches may be under way side by side.
  using Commit = std::function<void(const std::vector<CopiedFile>& batch)>;
  struct Limits {
    std::uint64_t largest = 0;  ///< bytes of a small file: a sync of its own would cost more
    std::size_t files = 256;    ///< in a batch; each is open, as it holds the lock of its partial file
  };
  SmallFiles(const Limits& limits, Commit commit) : limits_(limits), commit_(std::move(commit)) {}

  bool takes(std::uint64_t bytes) const { return bytes <= limits_.largest; }

  /// Commits the batch that this file fills up.
  void add(CopiedFile file);
  /// Commits what is gathered.
  void flush();

 private:
  const Limits limits_;
  const Commit commit_;
  std::mutex mutex_;
  std::vector<CopiedFile> batch_;
  std::uint64_t bytes_ = 0;
};

}  // namespace shardkit
