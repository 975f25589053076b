#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

#include "core/context.hpp"

namespace shardkit {

/// Calls `work` for the indices from 0 in their order, on as many threads at once as the files' latency takes to keep
/// the cores busy (AdaptiveWorkers). Returns how many were done when all `count` were or the deadline had passed: at
/// least one, and no other than the first ones. Rethrows the first exception; throws Error{cancelled} on a stop.
std::size_t for_each_file(std::size_t count, Context& context, const std::function<void(std::size_t)>& work,
                          const std::optional<std::chrono::steady_clock::time_point>& deadline = {});

}  // namespace shardkit
