#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "cli/documents/documents.hpp"
#include "cli/field_text.hpp"

namespace shardkit::cli {
namespace {

constexpr std::size_t kWidestName = 26;

struct Row {
  std::string name;
  std::string text;
};

/// Two columns; a name too wide for its column has the text below it.
std::string two_columns(const std::vector<Row>& rows, std::size_t width) {
  std::size_t column = 0;
  for (const Row& row : rows) {
    if (row.name.size() <= kWidestName) column = std::max(column, row.name.size());
  }
  std::string out;
  for (const Row& row : rows) {
    out += "  " + row.name;
    std::size_t at = row.name.size();
    if (at > column) {
      out += '\n';
      at = 0;
      out += "  ";
    }
    for (const std::string& line : wrap(row.text, width - column - 4)) {
      out += std::string(column + 2 - at, ' ') + line + "\n";
      out += "  ";
      at = 0;
    }
    out.resize(out.size() - 2);
  }
  return out;
}

Row row_of(const Command& command) { return {std::string(command.text().name), std::string(command.text().summary)}; }

std::string section(std::string_view title, const std::vector<Row>& rows, std::size_t width) {
  return rows.empty() ? std::string() : fmt::format("\n{}:\n{}", title, two_columns(rows, width));
}

std::string paragraphs(std::string_view text, std::size_t width) {
  std::string out;
  for (const std::string& line : wrap(text, width)) out += line + "\n";
  return out;
}

/// Commands are not broken into lines, because a user copies them.
std::string example_lines(std::span<const Example> examples, std::size_t width) {
  std::string out;
  for (const Example& example : examples) {
    for (const std::string& line : wrap(example.explanation, width - 4)) out += fmt::format("  # {}\n", line);
    out += fmt::format("  {}\n", example.command);
  }
  return out.empty() ? out : "\nExamples:\n" + out;
}

/// The path of a file that was installed with the running program, below its prefix, or of one in the source tree that
/// it was built in; empty if there is none.
std::string installed_file(const std::vector<std::string>& candidates) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::path above = fs::read_symlink("/proc/self/exe", error); above.has_relative_path();) {
    above = above.parent_path();
    for (const std::string& candidate : candidates) {
      if (const fs::path path = above / candidate; fs::exists(path, error)) return path.string();
    }
  }
  return {};
}

/// The path of a page of docs/. If it is neither installed nor in a source tree, its name in the source tree.
std::string page_to_read(std::string_view page) {
  const std::string path = installed_file({fmt::format("{}/{}", kDocsFolder, page), fmt::format("docs/{}", page)});
  return path.empty() ? fmt::format("docs/{} in the source of shardkit", page) : path;
}

std::string more_line(std::string_view path) { return path.empty() ? "" : fmt::format("More: {}\n", path); }

/// The same for a page of docs/; empty for none.
std::string page_line(std::string_view page) { return page.empty() ? "" : more_line(page_to_read(page)); }

/// Where the manual page of the program and the documents are.
std::string program_pages(const App& app) {
  const std::string manual = fmt::format("share/man/man1/{}.1", app.name);
  return more_line(installed_file({manual, manual + ".gz"})) + page_line(app.pages.empty() ? "" : "README.md");
}

/// What can follow "help".
std::vector<Row> help_words(const App& app) {
  std::vector<Row> rows{{fmt::format("{} help VERB", app.name), "all options of a verb"}};
  for (const SharedTopic& topic : app.shared_topics) {
    rows.push_back({fmt::format("{} help {}", app.name, topic.word), std::string(topic.summary)});
  }
  rows.push_back({fmt::format("{} help exit-codes", app.name), "the exit codes of all verbs"});
  return rows;
}

std::string headline(const App& app) {
  return fmt::format("{0}: {1}\n\nUsage: {0} VERB [operands] [options]\n", app.name, app.summary);
}

std::vector<Row> full_rows(const std::vector<FieldNode>& options) {
  std::vector<Row> rows;
  for (const FieldNode& option : options) rows.push_back({option_spelling(option), help_text(option)});
  return rows;
}

/// Where the first clause of an option's text ends. The colon in "cold: from disk" explains a value and ends none.
std::size_t end_of_clause(std::string_view help) {
  const std::size_t end = std::min({help.find("; "), help.find(". "), help.find(" ("), help.size()});
  const std::size_t colon = help.find(": ");
  return colon < end && help.substr(0, colon).find(' ') != std::string_view::npos ? colon : end;
}

/// The first clause of an option's text, and its default.
std::string brief_text(const FieldNode& option) {
  FieldNode brief = option;
  brief.field.help = option.field.help.substr(0, end_of_clause(option.field.help));
  return help_text(brief);
}

/// Whether -h shows the option of a verb.
bool is_main(const App& app, const CommandText& text, const FieldNode& option) {
  if (option.field.is_operand() || std::ranges::count(text.main, option.field.name) > 0) return true;
  return text.main.empty() && shared_topic(app, option.topic) == nullptr;
}

/// Whether -h shows the option of all verbs.
bool is_main_of_all(const CommandText& text, const FieldNode& option) {
  constexpr auto names = std::to_array<std::string_view>({"json", "quiet", "verbose"});
  return std::ranges::count(names, option.field.name) > 0 || std::ranges::count(text.main, option.field.name) > 0;
}

}  // namespace

std::string brief_program_help(const App& app, std::size_t width) {
  std::vector<Row> rows;
  for (const VerbOrGroup& word : first_words(app)) rows.push_back({std::string(word.word), word.summary()});
  return headline(app) + "\n" + two_columns(rows, width) +
         fmt::format("\nMain options of a verb: {0} VERB -h; all of them: {0} VERB --help\n", app.name) +
         program_pages(app);
}

std::string program_help(const App& app, std::size_t width) {
  std::vector<Row> rows;
  for (const Command& command : app.commands) rows.push_back(row_of(command));
  return headline(app) + section("Verbs", rows, width) +
         section("Options",
                 {{"-h, --help", "show this help, -h only the most important; after a verb, the help of that verb"},
                  {"-V, --version", "show version and commit"}},
                 width) +
         section("Help", help_words(app), width) + "\n" + program_pages(app);
}

std::string group_help(const App& app, const VerbOrGroup& group, std::size_t width) {
  std::vector<Row> rows;
  for (const Command* command : group.commands) rows.push_back(row_of(*command));
  return fmt::format("Usage: {} {} VERB [operands] [options]\n", app.name, group.word) + section("Verbs", rows, width) +
         section("Options", {{"-h, --help", "show this help; after a verb, its own"}}, width);
}

std::string brief_command_help(const App& app, const Command& command, std::size_t width) {
  const CommandDoc doc = document(command);
  std::vector<Row> operands;
  std::vector<Row> options;
  for (const FieldNode& option : doc.options) {
    if (!is_main(app, doc.text, option)) continue;
    (option.field.is_operand() ? operands : options).push_back({option_spelling(option), brief_text(option)});
  }
  for (const FieldNode& option : doc.common) {
    if (is_main_of_all(doc.text, option)) options.push_back({option_spelling(option), brief_text(option)});
  }
  const std::size_t examples = std::min(doc.text.examples.size(), kBriefExamples);
  return paragraphs(fmt::format("{} {}: {}", app.name, doc.text.name, doc.text.summary), width) +
         fmt::format("\nUsage: {}\n", synopsis(app.name, doc.text.name, doc.options)) +
         section("Operands", operands, width) + section("Options", options, width) +
         example_lines(std::span(doc.text.examples).first(examples), width) +
         fmt::format("\nAll options: {0} {1} --help, or man {0}-{2}\n", app.name, doc.text.name,
                     verb_slug(doc.text.name));
}

std::string command_help(const App& app, const Command& command, std::size_t width) {
  const CommandDoc doc = document(command);
  std::string out = fmt::format("Usage: {}\n\n", synopsis(app.name, doc.text.name, doc.options)) +
                    paragraphs(doc.text.description, width);
  for (const auto* options : {&doc.options, &doc.common}) {
    for (const Topic& topic : topics(*options)) {
      if (const SharedTopic* shared = shared_topic(app, topic.heading)) {
        out += fmt::format("\n{}: {}: see {} help {}\n", topic.heading, first_options(topic.options), app.name,
                           shared->word);
        continue;
      }
      std::vector<Row> rows = full_rows(topic.options);
      if (options == &doc.common) rows.push_back({"-h, --help", "show this help; -h: only the main options"});
      out += section(topic.heading, rows, width);
    }
  }
  return out + example_lines(doc.text.examples, width) + fmt::format("\nExit codes: {} help exit-codes\n", app.name) +
         page_line(page_of(app, doc.text.name));
}

std::string topic_help(const App& app, const SharedTopic& topic, std::size_t width) {
  const std::string page = page_line(page_of(app, topic.word));
  return paragraphs(topic.description, width) + section(topic.heading, full_rows(shared_options(app, topic)), width) +
         (page.empty() ? "" : "\n" + page);
}

std::string exit_code_help(std::size_t width) {
  std::vector<Row> rows;
  for (const ExitCode& exit : kExitCodes) rows.push_back({std::to_string(exit.code), std::string(exit.meaning)});
  return "Exit codes of all verbs:\n" + two_columns(rows, width);
}

}  // namespace shardkit::cli
