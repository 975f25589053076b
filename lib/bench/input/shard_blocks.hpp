#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/input/input_files.hpp"
#include "core/bytes.hpp"

namespace shardkit::bench {

/// The stored bytes of a shard from start to end, in blocks of 256 KiB.
class ShardBlocks {
 public:
  /// The shard outlives it. Advises the kernel that all of a local shard is needed; reads objects ahead, in the version
  /// listed.
  ShardBlocks(const InputSet& input, const InputFile& shard);

  /// Valid until the next call; empty at the end. Throws Error{io} if the shard has become shorter since it was listed,
  /// and the errors of reading.
  Bytes next();

 private:
  const InputFile& shard_;
  std::unique_ptr<ByteSource> source_;
  std::vector<std::byte> block_;
  std::uint64_t offset_ = 0;
};

}  // namespace shardkit::bench
