#include "catalog/shard_scan.hpp"

namespace shardkit::catalog {

std::uint64_t read_shard(ByteSource& shard, formats::TarHandler& handler, const std::function<void(Bytes)>& hash,
                         Context& context) {
  formats::TarFeed feed(handler, shard.size());
  context.throw_if_stopped();
  const std::uint64_t bytes_read = shard.stream_all([&](Bytes bytes) {
    hash(bytes);
    feed.feed(bytes);
    context.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    context.throw_if_stopped();
  });
  feed.finish();
  return bytes_read;
}

void scan_shard(ByteSource& shard, formats::TarHandler& handler, Context& context) {
  formats::scan_tar(shard, handler, [&] { context.throw_if_stopped(); });
  context.progress().bytes.fetch_add(shard.size(), std::memory_order_relaxed);
}

}  // namespace shardkit::catalog
