#include "bench/input/shard_blocks.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "catalog/operands.hpp"
#include "core/error.hpp"
#include "io/file.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kBlock = 256U << 10U;

[[noreturn]] void fail_shrunk(const InputFile& shard, std::uint64_t bytes) {
  throw Error(
      ErrorCode::io,
      fmt::format("'{}' has {} bytes but had {} when it was listed: it has changed", shard.path, bytes, shard.bytes),
      shard.path, bytes);
}

std::unique_ptr<ByteSource> open_streamed(const InputSet& input, const InputFile& shard) {
  if (catalog::is_address(shard.path)) return open_file(input, shard.path);
  io::File local = io::File::open_read(shard.path);
  ::posix_fadvise(local.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
  auto source = std::make_unique<io::FileSource>(std::move(local));
  if (source->size() < shard.bytes) fail_shrunk(shard, source->size());
  return source;
}

}  // namespace

ShardBlocks::ShardBlocks(const InputSet& input, const InputFile& shard)
    : shard_(shard), source_(open_streamed(input, shard)), block_(kBlock) {}

Bytes ShardBlocks::next() {
  if (offset_ >= shard_.bytes) return {};
  const std::size_t got = source_->read_at(offset_, std::span(block_).first(std::min(kBlock, shard_.bytes - offset_)));
  if (got == 0) fail_shrunk(shard_, offset_);
  offset_ += got;
  return Bytes(block_).first(got);
}

}  // namespace shardkit::bench
