#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/app.hpp"
#include "core/field_tree.hpp"

/// Documents generated from the same descriptions as the command line; apps/docgen writes them to files.
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

/// The folder of docs/ below the installation prefix; CMakeLists.txt installs it there.
inline constexpr std::string_view kDocsFolder = "share/doc/shardkit/docs";

struct ExitCode {
  int code;
  std::string_view meaning;
};

/// The exit codes of both programs, for documents. run_app.cpp maps errors to them.
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

/// Columns of help if there is no terminal width.
inline constexpr std::size_t kHelpWidth = 80;

/// `shardctl --help`: the program and its verbs.
std::string program_help(const App& app, std::size_t width = kHelpWidth);

/// `shardctl cache --help`: the verbs of a group.
std::string group_help(const App& app, const FirstWord& group, std::size_t width = kHelpWidth);

/// `shardctl convert --help`: synopsis, description, operands, options with defaults, examples.
std::string command_help(const App& app, const Command& command, std::size_t width = kHelpWidth);

/// `shardctl help exit-codes`: the meaning of the exit codes of all verbs.
std::string exit_code_help(std::size_t width = kHelpWidth);

/// A file's name and its text.
using NamedText = std::pair<std::string, std::string>;

/// docs/reference, in Markdown: README.md with what all verbs share, and "shardctl-convert.md" and so on with options
/// and result fields of each verb.
std::vector<NamedText> reference_pages(const std::vector<App>& apps);

/// The JSON Schema (draft 2020-12) of the envelope of one verb. Groups of fields are "$defs".
std::string envelope_schema(const App& app, const Command& command);

/// Manual pages in section 1: one for the program, "shardctl.1", and one per verb, "shardctl-convert.1",
/// "shardctl-cache-ls.1".
std::vector<NamedText> manual_pages(const App& app);

/// Completion scripts, named as the shells look for them: bash "shardctl", zsh "_shardctl", fish "shardctl.fish".
std::string bash_completion(const App& app);
std::string zsh_completion(const App& app);
std::string fish_completion(const App& app);

}  // namespace shardkit::cli
