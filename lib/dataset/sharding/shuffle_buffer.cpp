#include "dataset/sharding/shuffle_buffer.hpp"

#include <algorithm>

namespace shardkit {

ShuffleBuffer shuffle_buffer_for(const ShardedOrder& order) {
  constexpr std::uint64_t kMixed = 1000;
  constexpr std::uint64_t kClasses = 10;
  if (order.samples == 0) return {};
  const std::uint64_t wanted = order.mixed ? kMixed : kClasses * order.largest_class;
  const std::uint64_t samples = std::min(wanted, order.samples);
  return {samples, order.bytes / order.samples * samples};
}

}  // namespace shardkit
