#pragma once

#include <string>

#include "dataset/ls/ls.hpp"

namespace shardkit {

/// A row as `shardctl ls` shows it: columns parted by tabs, the name last, one line. Control characters in names are
/// escaped, so that a tab is always between columns and a name cannot steer the terminal.
/// "<shard> <name>", with `details` "<shard> <offset> <size> <label or -> <name>".
std::string ls_line(const LsRow& row, bool details);

/// ls() with its rows as lines on Context::output().
LsResult ls_to_output(const LsOptions& options, Context& ctx);

}  // namespace shardkit
