#pragma once

#include <string>
#include <vector>

#include "cli/app.hpp"

namespace shardkit {

/// Parses `args`, runs the command, reports in every form that was asked for, and returns the exit code. Throws
/// nothing: whatever goes wrong is reported and becomes an exit code here.
int run_command(const App& app, const Command& command, const std::vector<std::string>& args, const Io& io);

}  // namespace shardkit
