#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "core/bytes.hpp"
#include "core/hash.hpp"
#include "formats/shard_index.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {

/// Memory that is used again and again, since fresh pages cost a fault each. Bytes start undefined.
struct Buffer {
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;
  MutableBytes bytes() const { return {memory.get(), capacity}; }
};

/// Lends buffers and keeps what is lent below a budget. Thread-safe.
class BufferPool {
 public:
  explicit BufferPool(std::uint64_t budget) : budget_(budget) {}

  /// Waits for room; a buffer larger than the whole budget is lent when nothing else is. Empty when the stop comes
  /// first.
  std::optional<Buffer> take(std::size_t size, const std::stop_token& stop);
  void give_back(Buffer buffer);

 private:
  const std::uint64_t budget_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t lent_ = 0;   ///< bytes
  std::uint64_t spare_ = 0;  ///< bytes in spares_
  std::vector<Buffer> spares_;
};

/// A run of a shard's samples as tar bytes, with what the index says about them. Offsets of members count from the
/// chunk's first byte.
struct Chunk {
  Buffer buffer;
  std::size_t used = 0;
  std::vector<std::variant<formats::IndexSample, formats::IndexSkip>> entries;  ///< in shard order
  bool last = false;                                                            ///< the shard ends with it
};

/// Writes one shard and its index from chunks that workers finish in any order.
///
/// Chunks are numbered from 0. Whoever brings the next one in turn writes it, and those behind it that already wait;
/// nobody blocks on a lock meanwhile. Since a chunk is appended where the last one ended, a sample that was left out
/// just makes the shard shorter.
class ShardWriter {
 public:
  /// `folder` holds the shards and has a .shardkit folder. Buffers of written chunks go back to `pool`. `md5`: keep the
  /// shard's MD5 beside its index.
  ShardWriter(io::FileSystem& files, const std::string& folder, const std::string& shard, std::string_view plan_hash,
              BufferPool& pool, bool md5);

  /// Takes a chunk; true for the one call that completed the shard. Thread-safe.
  bool submit(std::uint64_t number, Chunk chunk);

  /// Makes index and shard durable under their names, the index first: a shard that is there always has its index. A
  /// shard of which every sample was left out gets an index alone. After submit() returned true, once.
  void publish();

 private:
  void write(Chunk& chunk);
  void finish();

  io::FileSystem& files_;
  const std::string folder_;
  BufferPool& pool_;
  io::AtomicFile tar_;
  io::AtomicFile index_file_;
  formats::ShardIndexWriter index_;
  Xxh3Stream hash_;
  std::optional<Md5Stream> md5_;
  std::uint64_t offset_ = 0;  ///< bytes of the tar so far
  std::uint64_t written_back_ = 0;
  formats::ShardSummary summary_;

  std::mutex mutex_;
  std::map<std::uint64_t, Chunk> waiting_;
  std::uint64_t next_ = 0;
  bool writing_ = false;
};

}  // namespace shardkit::dataset
