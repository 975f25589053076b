#pragma once

#include <cstddef>

#include "bench/transfer/transfer.hpp"

namespace shardkit {

/// Times allocating pinned memory, or registering memory whose pages are there, and giving it back: the median of
/// three. Empty for pageable memory. The row's device and place are the caller's to fill in.
std::optional<PinningRow> time_pinning(Device& device, HostMemory kind, std::size_t bytes, Context& context);

}  // namespace shardkit
