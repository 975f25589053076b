#pragma once

#include <cstddef>
#include <stop_token>
#include <string>

#include "net/clock.hpp"

namespace shardkit {

/// Runs `command` by /bin/sh without input and returns what it prints; what it says on standard error is dropped, for
/// it may hold secrets. Throws Error{denied} when it fails, prints more than `limit` bytes or takes longer than `time`;
/// Error{cancelled} on a stop. It and what it started are killed then.
std::string program_output(const std::string& command, std::size_t limit, Seconds time, const std::stop_token& stop);

}  // namespace shardkit
