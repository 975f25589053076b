#pragma once

#include <cstddef>
#include <string>

#include "cli/app.hpp"

namespace shardkit::cli {

/// Columns of help if there is no terminal width.
inline constexpr std::size_t kHelpWidth = 80;

/// Lines and examples of brief help, which is read on a terminal without scrolling back.
inline constexpr std::size_t kBriefProgramLines = 24;
inline constexpr std::size_t kBriefCommandLines = 40;
inline constexpr std::size_t kBriefExamples = 3;

/// `shardctl -h`, and `shardctl` alone: verbs and groups, in kBriefProgramLines.
std::string brief_program_help(const App& app, std::size_t width = kHelpWidth);

/// `shardctl --help`: every verb.
std::string program_help(const App& app, std::size_t width = kHelpWidth);

/// `shardctl cache --help`: the verbs of a group.
std::string group_help(const App& app, const VerbOrGroup& group, std::size_t width = kHelpWidth);

/// `shardctl convert -h`: synopsis, operands, CommandText::main and the first examples, in kBriefCommandLines.
std::string brief_command_help(const App& app, const Command& command, std::size_t width = kHelpWidth);

/// `shardctl convert --help`: synopsis, description, operands, all options with defaults, all examples.
std::string command_help(const App& app, const Command& command, std::size_t width = kHelpWidth);

/// `shardctl help stores`: the options of a shared topic.
std::string topic_help(const App& app, const SharedTopic& topic, std::size_t width = kHelpWidth);

/// `shardctl help exit-codes`: the meaning of the exit codes of all verbs.
std::string exit_code_help(std::size_t width = kHelpWidth);

}  // namespace shardkit::cli
