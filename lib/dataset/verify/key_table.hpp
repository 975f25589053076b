#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "catalog/shard_set.hpp"
#include "core/context.hpp"
#include "dataset/checks/shard_checker.hpp"

namespace shardkit {

/// 64-bit hashes of all samples' keys, to find those that occur more than once. 14 million take 112 MB, and at most
/// as much again while it grows; they lie in many small vectors, of which one at a time is copied.
class KeyTable {
 public:
  /// Adds one shard's hashes. Thread-safe.
  void add(const std::vector<std::uint64_t>& hashes);

  struct Repeated {
    std::vector<std::uint64_t> hashes;  ///< in ascending order, at most `limit`
    std::uint64_t total = 0;            ///< with those above the limit
  };
  /// The hashes that were added more than once. Sorts; to be called once, when nothing more is added.
  Repeated repeated(std::size_t limit);

 private:
  static constexpr unsigned kBucketBits = 10;

  std::mutex mutex_;
  std::array<std::vector<std::uint64_t>, 1U << kBucketBits> buckets_;
};

/// Reads the shards' headers again and notes every further sample whose key's hash is in `hashes` and whose key really
/// is the same: split_sample within a shard, duplicate_key across shards. Shards that cannot be read are passed over.
void note_repeated_keys(const ShardSet& set, const std::vector<std::uint64_t>& hashes,
                        std::vector<ShardReport>& reports, Context& ctx);

}  // namespace shardkit
