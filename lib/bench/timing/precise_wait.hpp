#pragma once

#include <chrono>
#include <stop_token>

namespace shardkit {

/// Waits until `moment` to within some microseconds: asleep for as long as the kernel's timers are exact enough, then
/// spinning for at most 0.1 ms. Ends early, with false, when the stop comes.
bool wait_until(std::chrono::steady_clock::time_point moment, const std::stop_token& stop);

}  // namespace shardkit
