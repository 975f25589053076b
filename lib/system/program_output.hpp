#pragma once

#include <cstddef>
#include <stop_token>
#include <string>

#include "system/clock.hpp"

namespace shardkit::system {

/// Limits of a program that is run for its output.
struct ProgramLimits {
  Seconds time{60};
  std::size_t bytes = std::size_t{256} << 10U;  ///< of standard output, and as many of standard error
};

/// Runs `command` with /bin/sh without input until the shell ends, and returns its standard output. Throws
/// Error{denied} that starts with `what` if it fails, with the exit code and the first and last line of standard
/// error, or exceeds the limits; Error{cancelled} on a stop. Then it and its children are killed. The output is in no
/// error.
std::string program_output(const std::string& what, const std::string& command, const ProgramLimits& limits,
                           const std::stop_token& stop);

}  // namespace shardkit::system
