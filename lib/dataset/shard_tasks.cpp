#include "dataset/shard_tasks.hpp"

#include <algorithm>
#include <atomic>

#include "sync/task_group.hpp"

namespace shardkit {

void for_each_shard(std::size_t shards, unsigned threads, Context& ctx, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  TaskGroup group(ctx.stop_token());
  for (std::size_t i = 0; i < std::min<std::size_t>(threads, shards); ++i) {
    group.spawn([&](const std::stop_token& stop) {
      for (std::size_t shard = next++; shard < shards && !stop.stop_requested(); shard = next++) {
        work(shard);
        ctx.progress().items.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  group.wait();
  ctx.throw_if_stopped();
}

}  // namespace shardkit
