#include "dataset/sharding/buffer_pool.hpp"

#include <algorithm>
#include <utility>

namespace shardkit {
namespace {

/// Capacities are multiples of this, so that a spare fits the next request more often.
constexpr std::size_t kGrain = 128U * 1024U;

}  // namespace

std::optional<Buffer> BufferPool::take(std::size_t size, const std::stop_token& stop) {
  const std::size_t capacity = (size + kGrain - 1) / kGrain * kGrain;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return lent_ == 0 || lent_ + capacity <= budget_; });
  if (stop.stop_requested()) return std::nullopt;
  const auto fit = std::ranges::find_if(
      spares_, [&](const Buffer& spare) { return spare.capacity >= capacity && spare.capacity <= 2 * capacity; });
  if (fit != spares_.end()) {
    Buffer buffer = std::move(*fit);
    *fit = std::move(spares_.back());
    spares_.pop_back();
    spare_ -= buffer.capacity;
    lent_ += buffer.capacity;
    return buffer;
  }
  while (!spares_.empty() && lent_ + spare_ + capacity > budget_) {
    spare_ -= spares_.back().capacity;
    spares_.pop_back();
  }
  lent_ += capacity;
  lock.unlock();
  return Buffer{std::make_unique_for_overwrite<std::byte[]>(capacity), capacity};
}

void BufferPool::give_back(Buffer buffer) {
  const std::scoped_lock lock(mutex_);
  lent_ -= buffer.capacity;
  if (lent_ + spare_ + buffer.capacity <= budget_) {
    spare_ += buffer.capacity;
    spares_.push_back(std::move(buffer));
  }
  changed_.notify_all();
}

}  // namespace shardkit
