#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/app.hpp"
#include "core/field_tree.hpp"

/// Documents made from the same descriptions as the command line, each in the file of its name, and what they share.
/// apps/docgen writes them to files.
namespace shardkit::cli {

/// Data about a verb, from which help, manual, reference page, completion and schema are made.
struct CommandDoc {
  const CommandText& text;
  bool findings;                   ///< takes --junit and --markdown
  std::vector<FieldNode> options;  ///< operands and options of the verb
  std::vector<FieldNode> common;   ///< --json, --quiet, ...
  std::vector<FieldNode> result;   ///< prototype: every list has one item
};

/// `command` outlives the document.
CommandDoc document(const Command& command);

/// Options that belong together, and their heading.
struct Topic {
  std::string_view heading;
  std::vector<FieldNode> options;
};

/// Operands first, then options in the order in which their topics first appear; those without one are "Options".
std::vector<Topic> topics(const std::vector<FieldNode>& options);

/// The shared topic with this heading; null if only one verb explains it. Points into `app`.
const SharedTopic* shared_topic(const App& app, std::string_view heading);

/// The options of a shared topic, as the first verb that has them describes them.
std::vector<FieldNode> shared_options(const App& app, const SharedTopic& topic);

/// "--profile, --endpoint-url, ...": the first options of a topic.
std::string first_options(const std::vector<FieldNode>& options);

/// The folder of docs/ below the installation prefix; CMakeLists.txt installs it there.
inline constexpr std::string_view kDocsFolder = "share/doc/shardkit/docs";

struct ExitCode {
  int code;
  std::string_view meaning;
};

/// The exit codes of both programs, for documents. outcome.cpp maps errors to them.
inline constexpr std::array kExitCodes = {
    ExitCode{0, "done"},
    ExitCode{1, "failed; a retry may help (input/output, network, in use)"},
    ExitCode{2, "the command line is wrong"},
    ExitCode{3, "done, with findings (a check found problems, a requirement was missed)"},
    ExitCode{4, "failed permanently (source missing, access denied, corrupt data, feature not available)"},
    ExitCode{5, "no space (disk full, not enough memory, or a limit below the need)"},
    ExitCode{129, "stopped by SIGHUP"},
    ExitCode{130, "stopped by SIGINT"},
    ExitCode{143, "stopped by SIGTERM"},
};

/// A file's name and its text.
using NamedText = std::pair<std::string, std::string>;

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

/// Manual pages in section 1: one for the program, "shardctl.1", one per group, "shardctl-cache.1", one per verb,
/// "shardctl-convert.1", "shardctl-cache-ls.1", and one per shared topic, "shardctl-stores.1".
std::vector<NamedText> manual_pages(const App& app);

/// docs/reference, in Markdown: README.md with what all verbs share, "stores.md" and so on for shared topics, and
/// "shardctl-convert.md" and so on with options and result fields of each verb.
std::vector<NamedText> reference_pages(const std::vector<App>& apps);

/// docs/schema: the JSON Schema (draft 2020-12) of each verb's envelope, "shardctl-convert.json" and so on. Objects
/// that several verbs have are the "$defs" of "shardkit-objects.json", to which the others refer.
std::vector<NamedText> schemas(const std::vector<App>& apps);

/// Completion scripts, named as the shells look for them: bash "shardctl", zsh "_shardctl", fish "shardctl.fish".
std::string bash_completion(const App& app);
std::string zsh_completion(const App& app);
std::string fish_completion(const App& app);

}  // namespace shardkit::cli
