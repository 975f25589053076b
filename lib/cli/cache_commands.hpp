#pragma once

#include <vector>

#include "cli/command.hpp"

namespace shardkit {

/// `shardctl cache ls`, `warm`, `gc`, `check` and `release`.
std::vector<Command> cache_commands();

}  // namespace shardkit
