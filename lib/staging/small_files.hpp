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
  /// Files of up to `largest` bytes are small: a sync of their own would cost more than their bytes.
  SmallFiles(std::uint64_t largest, Commit commit) : largest_(largest), commit_(std::move(commit)) {}

  bool takes(std::uint64_t bytes) const { return bytes <= largest_; }

  /// Commits the batch that this file fills up.
  void add(CopiedFile file);
  /// Commits what is gathered.
  void flush();

 private:
  const std::uint64_t largest_;
  const Commit commit_;
  std::mutex mutex_;
  std::vector<CopiedFile> batch_;
  std::uint64_t bytes_ = 0;
};

}  // namespace shardkit
