#include "catalog/shard_scan.hpp"

namespace shardkit::catalog {
ShardContent read_shard(ByteSource& shard, formats::TarHandler& handler, Context& context, Md5Stream* md5) {
  formats::TarFeed feed(handler, shard.size());
  Xxh3Stream hash;
  ShardContent content;
  context.throw_if_stopped();
  content.bytes = shard.stream_all([&](Bytes bytes) {
    hash.update(bytes);
    if (md5 != nullptr) md5->update(bytes);
    feed.feed(bytes);
    context.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    context.throw_if_stopped();
  });
  feed.finish();
  content.xxh3_128 = hash.digest();
  return content;
}

void scan_shard(ByteSource& shard, formats::TarHandler& handler, Context& context) {
  formats::scan_tar(shard, handler, [&] { context.throw_if_stopped(); });
  context.progress().bytes.fetch_add(shard.size(), std::memory_order_relaxed);
}

}  // namespace shardkit::catalog
