#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

/// The command line, by CLI11: the only file that knows it is parse.cpp.
namespace shardkit::cli {

enum class ParseOutcome { run, help };

/// Fills the options of `command`'s `invocation` and `common` from `args`, which come without program and verb. Opens
/// no file. Throws Error{usage} whose text names the option, what was given and what was expected; `common` is filled
/// as far as parsing came.
ParseOutcome parse_options(const Command& command, Invocation& invocation, CommonOptions& common,
                           std::vector<std::string> args);

/// The candidate that `word` was probably meant to be; empty when none is near.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace shardkit::cli
