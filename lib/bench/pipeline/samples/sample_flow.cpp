#include "bench/pipeline/samples/sample_flow.hpp"

#include <algorithm>
#include <span>

namespace shardkit::bench {

SampleFlow::SampleFlow(const FlowLimits& limits, unsigned readers, std::uint64_t seed)
    : limits_(limits), queue_(limits.queue_bytes), readers_(readers), prng_(seed) {}

bool SampleFlow::push(SampleBuffer image, const std::stop_token& stop) {
  constexpr std::uint64_t kLeastCost = 256;  // an entry of the queue takes memory too
  const std::uint64_t cost = std::max<std::uint64_t>(image.capacity(), kLeastCost);
  return queue_.push(std::move(image), cost, stop);
}

std::optional<SampleBuffer> SampleFlow::exchange(SampleBuffer image) {
  const std::scoped_lock lock(mutex_);
  shuffled_bytes_ += image.capacity();
  shuffled_.push_back(std::move(image));
  if (shuffled_.size() <= limits_.shuffle_samples && shuffled_bytes_ <= limits_.shuffle_bytes) return std::nullopt;
  std::swap(shuffled_[prng_.below(shuffled_.size())], shuffled_.back());
  SampleBuffer drawn = std::move(shuffled_.back());
  shuffled_.pop_back();
  shuffled_bytes_ -= drawn.capacity();
  return drawn;
}

bool SampleFlow::put(SampleBuffer image, const std::stop_token& stop) {
  if (limits_.deadline && std::chrono::steady_clock::now() >= *limits_.deadline) return false;
  if (limits_.samples && claimed_.fetch_add(1, std::memory_order_relaxed) >= *limits_.samples) return false;
  samples_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(image.size(), std::memory_order_relaxed);
  if (limits_.shuffle_samples == 0) return push(std::move(image), stop);
  std::optional<SampleBuffer> next = exchange(std::move(image));
  return !next || push(*std::move(next), stop);
}

void SampleFlow::reader_ended(const std::stop_token& stop) {
  if (readers_.fetch_sub(1) > 1) return;
  shuffle(std::span(shuffled_), prng_);
  for (SampleBuffer& image : shuffled_) {
    if (!push(std::move(image), stop)) break;
  }
  shuffled_.clear();
  queue_.close();
}

}  // namespace shardkit::bench
