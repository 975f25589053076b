#pragma once

#include <string>

#include "cli/app.hpp"
#include "cli/verbs.hpp"

namespace shardkit {

/// `shardctl --help`: what the program is and what verbs it has.
std::string program_help(const App& app);

/// `shardctl cache --help`: the verbs of a group.
std::string group_help(const App& app, const FirstWord& group);

/// `shardctl convert --help`: synopsis, description, operands, options with defaults, examples, exit codes.
std::string command_help(const App& app, const Command& command);

}  // namespace shardkit
