#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"

/// The command line, with CLI11, which only parse.cpp uses.
namespace shardkit::cli {

/// brief_help: -h; full_help: --help
enum class ParseOutcome { run, brief_help, full_help };

/// Fills the options of `command`'s `invocation` and `common` from `args`, without program and verb. Opens no file.
/// Throws Error{usage} with the option, the given value and what was expected, or for one that was removed with what
/// replaces it; `common` is filled as far as parsing came.
ParseOutcome parse_options(const Command& command, std::span<const Elsewhere> removed, Invocation& invocation,
                           CommonOptions& common, std::vector<std::string> args);

/// What replaces `name`, a removed verb, or a removed option of `verb`; empty if it never existed.
std::string_view replacement(std::span<const Elsewhere> removed, std::string_view verb, std::string_view name);

}  // namespace shardkit::cli
