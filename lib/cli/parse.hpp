#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

/// The command line, with CLI11, which only parse.cpp uses.
namespace shardkit::cli {

/// brief_help: -h; full_help: --help
enum class ParseOutcome { run, brief_help, full_help };

/// Fills the options of `command`'s `invocation` and `common` from `args`, without program and verb. Opens no file.
/// Throws Error{usage} with the option, the given value and what was expected; `common` is filled as far as parsing
/// came.
ParseOutcome parse_options(const Command& command, Invocation& invocation, CommonOptions& common,
                           std::vector<std::string> args);

}  // namespace shardkit::cli
