#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/documents/documents.hpp"
#include "cli/field_text.hpp"

namespace shardkit::cli {

CommandDoc document(const Command& command) {
  const auto invocation = command.prepare();
  CommonOptions common;
  return {command.text(), command.has_ci_report(), field_tree([&](FieldVisitor& v) { invocation.describe_options(v); }),
          field_tree([&](FieldVisitor& v) { common.describe(v, &command); }),
          prototype_tree([&](FieldVisitor& v) { invocation.describe_result(v); })};
}

std::vector<Topic> topics(const std::vector<FieldNode>& options) {
  constexpr std::string_view operands = "Operands";
  std::vector<Topic> all;
  for (const FieldNode& option : options) {
    const bool has_topic = !option.topic.empty();
    const std::string_view heading = option.field.is_operand() ? operands : has_topic ? option.topic : "Options";
    auto topic = std::ranges::find(all, heading, &Topic::heading);
    if (topic == all.end()) topic = all.insert(heading == operands ? all.begin() : all.end(), Topic{heading, {}});
    topic->options.push_back(option);
  }
  return all;
}

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

std::string example_lines(const CommandText& text) {
  std::string out;
  for (const Example& example : text.examples) {
    out += fmt::format("  # {}\n  {}\n", example.explanation, example.command);
  }
  return out.empty() ? out : "\nExamples:\n" + out;
}

/// The path of a page that was installed with the running program, or is in the source tree that it was built in. If
/// neither exists, the page's name in the source tree.
std::string page_to_read(std::string_view page) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::path above = fs::read_symlink("/proc/self/exe", error); above.has_relative_path();) {
    above = above.parent_path();
    for (const std::string_view docs : {kDocsFolder, std::string_view("docs")}) {
      if (const fs::path path = above / docs / page; fs::exists(path, error)) return path.string();
    }
  }
  return fmt::format("docs/{} in the source of shardkit", page);
}

}  // namespace

std::string program_help(const App& app, std::size_t width) {
  std::string out = fmt::format("{}: {}\n\nUsage: {} VERB [operands] [options]\n", app.name, app.summary, app.name);
  std::vector<Row> rows;
  for (const Command& command : app.commands) rows.push_back(row_of(command));
  return out + section("Verbs", rows, width) +
         section("Options",
                 {{"-h, --help", "show this help; after a verb, the help of that verb"},
                  {"-V, --version", "show version and commit"}},
                 width) +
         fmt::format(
             "\n{0} help VERB and {0} VERB --help show a verb's options.\n{0} help exit-codes lists the exit codes.\n",
             app.name) +
         (app.pages.empty() ? std::string() : fmt::format("More: {}\n", page_to_read("README.md")));
}

std::string group_help(const App& app, const FirstWord& group, std::size_t width) {
  std::vector<Row> rows;
  for (const Command* command : group.commands) rows.push_back(row_of(*command));
  return fmt::format("Usage: {} {} VERB [operands] [options]\n", app.name, group.word) + section("Verbs", rows, width) +
         section("Options", {{"-h, --help", "show this help; after a verb, its own"}}, width);
}

std::string command_help(const App& app, const Command& command, std::size_t width) {
  const CommandDoc doc = document(command);
  std::string out = fmt::format("Usage: {}\n\n", synopsis(app.name, doc.text.name, doc.options)) +
                    paragraphs(doc.text.description, width);
  for (const auto* options : {&doc.options, &doc.common}) {
    for (const Topic& topic : topics(*options)) {
      std::vector<Row> rows;
      for (const FieldNode& option : topic.options) rows.push_back({option_spelling(option), help_text(option)});
      if (options == &doc.common) rows.push_back({"-h, --help", "show this help"});
      out += section(topic.heading, rows, width);
    }
  }
  const std::string_view page = page_of(app, doc.text.name);
  return out + example_lines(doc.text) + fmt::format("\nExit codes: {} help exit-codes\n", app.name) +
         (page.empty() ? std::string() : fmt::format("More: {}\n", page_to_read(page)));
}

std::string exit_code_help(std::size_t width) {
  std::vector<Row> rows;
  for (const ExitCode& exit : kExitCodes) rows.push_back({std::to_string(exit.code), std::string(exit.meaning)});
  return "Exit codes of all verbs:\n" + two_columns(rows, width);
}

}  // namespace shardkit::cli
