#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "staging/file_copy.hpp"
#include "staging/stage_target.hpp"

namespace shardkit::staging {

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

/// What is wrong with a file at `path` whose bytes have the hash `found`, in words; empty when nothing is, as far as
/// can be told. An index has no checksum in the manifest but one in itself, and says which shard it belongs to.
std::optional<std::string> mismatch(const StageFile& file, const std::string& path, const Hash128& found);

/// Files in a target under their own names: which are there, and how one gets there. Thread-safe.
class FilePlacer {
 public:
  /// What is referred to outlives the placer; `target` is joined.
  FilePlacer(io::FileSystem& files, StageTarget& target) : files_(files), target_(target) {}

  /// Whether the target holds the file already. One that nobody's journal knows is taken over when its bytes are right;
  /// else Error{conflict}. One that the journal knows with other bytes is ours to replace.
  bool is_in_place(const StageFile& file, const std::stop_token& stop);

  /// Gives files that are durable their names. Throws Error{conflict} where a stranger's file has come there meanwhile.
  /// Who sees a name may rely on its bytes; who sees a record looks for the name too.
  void put(const std::vector<CopiedFile>& batch);

 private:
  bool is_right_copy(const StageFile& file, const std::string& path, const std::stop_token& stop);
  void make_parent(const std::string& name);

  io::FileSystem& files_;
  StageTarget& target_;
  std::mutex mutex_;
  std::set<std::string> folders_;  ///< that are there, below the target
};

}  // namespace shardkit::staging
