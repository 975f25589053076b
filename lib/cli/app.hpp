#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.hpp"

namespace shardkit::cli {

/// Options that many verbs have. Documents of these verbs only refer to `PROGRAM help WORD`, which explains them once.
struct SharedTopic {
  std::string_view heading;      ///< as in FieldList::topic(): "Object stores"
  std::string_view word;         ///< "stores"; also in names of pages
  std::string_view summary;      ///< one line, lower-case start, no final full stop
  std::string_view description;  ///< paragraphs, separated by an empty line
};

/// A program: a name and its verbs.
struct App {
  std::string_view name;
  std::string_view summary;  ///< one line, lower-case start, no final full stop
  std::vector<Command> commands;
  /// Words that users try for a verb, and the verb.
  std::vector<std::pair<std::string_view, std::string_view>> synonyms = {};
  std::vector<Elsewhere> elsewhere = {};
  /// Verbs, groups or words of shared topics, and the page of docs/ that explains them:
  /// {"cache", "how-to/node-cache.md"}.
  std::vector<std::pair<std::string_view, std::string_view>> pages = {};
  std::vector<SharedTopic> shared_topics = {};
  /// Values of options that come from a table, for completion: {"preset", {"resnet50-h100", ...}}.
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> option_values = {};
  /// Environment variable with a path to which verbs write their envelope, as to --json; null: none.
  const char* result_variable = nullptr;
};

/// The streams of a program: reports go to `out`, everything else to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;  ///< progress is a bar that redraws itself
  bool out_color = false;
  bool err_color = false;
  bool out_is_terminal = false;  ///< data streamed there must not be mixed with progress
  std::size_t columns = 80;      ///< width of the terminal, for help
  std::function<std::size_t()> err_columns = [] { return std::size_t{80}; };  ///< current width, for progress
  std::string termination_log = {};  ///< file for a copy of the error, if it exists; empty: none
};

/// Runs one command line and returns the exit code: the whole of main(). Ignores SIGPIPE for the process. SIGINT and
/// SIGTERM ask the command to stop, and the process ends within 2 s of them in any case.
int run_app(const App& app, int argc, const char* const* argv);

/// The same with any streams; `args` without the program's name. For tests.
int run_app(const App& app, std::span<const std::string> args, const Console& console);

/// Version of the project, "1.0.0".
std::string_view build_version();

/// Git commit this was built from, with "-dirty" after local changes; "unknown" outside a repository.
std::string_view build_commit();

/// Verbs have one word ("stage") or two ("cache ls"); the first of two is a group of verbs. Returns "cache" for "cache
/// ls"; empty for a verb of one word.
std::string_view verb_group(std::string_view verb);

/// Returns "ls" for "cache ls"; a verb of one word itself.
std::string_view last_word(std::string_view verb);

/// The verb in names of pages, files and schemas, which contain no blank: "cache-ls".
std::string verb_slug(std::string_view verb);

/// Possible first words of a command line. Points into the program's commands.
struct VerbOrGroup {
  std::string_view word;
  bool is_group = false;
  std::vector<const Command*> commands;  ///< the verb, or all of its group

  /// The verb's summary, or for a group its verbs: "ls, warm".
  std::string summary() const;
};

/// Verbs and groups in the program's order, a group at the position of its first verb. `app` outlives them.
std::vector<VerbOrGroup> first_words(const App& app);

/// The page in docs/ that explains a verb, "explain/model.md"; empty without one.
std::string_view page_of(const App& app, std::string_view verb);

/// Columns of the terminal at `fd`; 80 if it is none.
std::size_t columns_of(int fd);
/// Its rows, at least 24; without a terminal nothing scrolls away, so there is no limit.
std::size_t rows_of(int fd);

}  // namespace shardkit::cli
