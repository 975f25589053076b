#include "dataset/samples/shard_tasks.hpp"

#include <algorithm>
#include <atomic>

#include "sync/task_group.hpp"

namespace shardkit {

void for_each_shard(std::size_t shards, unsigned threads, const Context& ctx,
                    const std::function<void(std::size_t shard, std::size_t thread)>& work) {
  std::atomic<std::size_t> next{0};
  TaskGroup group(ctx.stop_token());
  for (std::size_t thread = 0; thread < std::min<std::size_t>(threads, shards); ++thread) {
    group.spawn([&, thread](const std::stop_token& stop) {
      for (std::size_t shard = next++; shard < shards && !stop.stop_requested(); shard = next++) work(shard, thread);
    });
  }
  group.wait();
  ctx.throw_if_stopped();
}

}  // namespace shardkit
