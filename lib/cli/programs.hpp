#pragma once

#include "cli/app.hpp"

namespace shardkit {

/// The two programs. A verb is added to one by an entry in shardctl_commands.cpp or iobench_commands.cpp, which is all
/// that help, JSON, manual, completion and reference page need.
App shardctl_app();
App iobench_app();

}  // namespace shardkit
