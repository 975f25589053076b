#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/app.hpp"
#include "core/field_tree.hpp"

/// What documents generated from the same descriptions as the command line share; apps/docgen writes them to files.
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

}  // namespace shardkit::cli
