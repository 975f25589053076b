#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "core/bytes.hpp"
#include "io/file.hpp"

/// How large outputs are written: as blocks of one size at increasing offsets, each aligned in memory.
namespace shardkit::io {

/// Size of the blocks of a large file.
inline constexpr std::size_t kBlockBytes = 1U << 20U;

/// Gathers bytes that come in order into blocks of one size, and stores each when it is full. One thread at a time;
/// reusable.
class BlockWriter {
 public:
  /// Stores a block at its offset in the output. Throws what write() and flush() pass on.
  using Store = std::function<void(std::uint64_t offset, Bytes block)>;

  /// The memory for a block is taken with the first bytes.
  BlockWriter(std::size_t block_bytes, Store store) : block_bytes_(block_bytes), store_(std::move(store)) {}
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  /// Begins again at `offset` of the output; gathered bytes are dropped.
  void begin(std::uint64_t offset);
  /// Blocks that `bytes` has as a whole and aligned need no copy.
  void write(Bytes bytes);
  /// Stores the gathered bytes as a shorter block.
  void flush();
  /// The same for whole pages, so that the next block is aligned in the output as well.
  void flush_pages();

  /// End of the stored bytes.
  std::uint64_t stored() const { return stored_; }

 private:
  void store(Bytes block);

  const std::size_t block_bytes_;
  const Store store_;
  AlignedBuffer block_;
  std::size_t gathered_ = 0;
  std::uint64_t stored_ = 0;
};

}  // namespace shardkit::io
