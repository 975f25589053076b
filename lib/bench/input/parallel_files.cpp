#include "bench/input/parallel_files.hpp"

#include <algorithm>
#include <atomic>

#include "sync/adaptive_workers.hpp"
#include "system/limits.hpp"

namespace shardkit {

std::size_t for_each_file(std::size_t count, Context& context, const std::function<void(std::size_t)>& work,
                          const std::optional<std::chrono::steady_clock::time_point>& deadline) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  AdaptiveWorkers workers({.cores = usable_threads()}, context.stop_token());
  workers.run([&](WaitMeter& meter, const std::stop_token& stop) {
    if (stop.stop_requested()) return false;
    if (deadline && done > 0 && std::chrono::steady_clock::now() >= *deadline) return false;
    const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
    if (index >= count) return false;
    const WaitMeter::Scope waiting(meter);
    work(index);
    done.fetch_add(1, std::memory_order_relaxed);
    return true;
  });
  context.throw_if_stopped();
  return done;
}

}  // namespace shardkit
