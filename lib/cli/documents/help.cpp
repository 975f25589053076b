#include <algorithm>

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

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kWidestName = 26;

struct Row {
  std::string name;
  std::string text;
};

constexpr const char* kVerbsHelp = "show this help; after a verb, the help of that verb";

/// Two columns; a name too wide for its column has the text below it.
std::string two_columns(const std::vector<Row>& rows) {
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
    for (const std::string& line : wrap(row.text, kWidth - column - 4)) {
      out += std::string(column + 2 - at, ' ') + line + "\n";
      out += "  ";
      at = 0;
    }
    out.resize(out.size() - 2);
  }
  return out;
}

Row row_of(const FieldNode& option) { return {option_spelling(option), help_text(option)}; }

Row row_of(const Command& command) { return {std::string(command.text().name), std::string(command.text().summary)}; }

std::string section(std::string_view title, const std::vector<Row>& rows) {
  return rows.empty() ? std::string() : fmt::format("\n{}:\n{}", title, two_columns(rows));
}

std::string paragraphs(std::string_view text) {
  std::string out;
  for (const std::string& line : wrap(text, kWidth)) out += line + "\n";
  return out;
}

std::string examples(const CommandText& text) {
  std::string out;
  for (const Example& example : text.examples) {
    out += fmt::format("  # {}\n  {}\n", example.explanation, example.command);
  }
  return out.empty() ? out : "\nExamples:\n" + out;
}

/// The first signal is the usual end of a live verb.
std::string exit_codes(bool live) {
  constexpr int kSignals = 128;
  std::vector<Row> rows;
  for (const ExitCode& exit : kExitCodes) {
    const std::string_view again = live && exit.code > kSignals ? " for the second signal" : "";
    rows.push_back({std::to_string(exit.code), fmt::format("{}{}", exit.meaning, again)});
  }
  return section("Exit codes", rows);
}

}  // namespace

std::string program_help(const App& app) {
  std::string out = fmt::format("{}: {}\n\nUsage: {} VERB [operands] [options]\n", app.name, app.summary, app.name);
  std::vector<Row> rows;
  for (const Command& command : app.commands) rows.push_back(row_of(command));
  return out + section("Verbs", rows) +
         section("Options", {{"--help", kVerbsHelp}, {"--version", "show version and commit"}});
}

std::string group_help(const App& app, const FirstWord& group) {
  std::vector<Row> rows;
  for (const Command* command : group.commands) rows.push_back(row_of(*command));
  return fmt::format("Usage: {} {} VERB [operands] [options]\n", app.name, group.word) + section("Verbs", rows) +
         section("Options", {{"--help", kVerbsHelp}});
}

std::string command_help(const App& app, const Command& command) {
  const CommandDoc doc = document(command);
  std::vector<Row> operands;
  std::vector<Row> options;
  std::vector<Row> common;
  for (const FieldNode& option : doc.options)
    (option.field.is_operand() ? operands : options).push_back(row_of(option));
  for (const FieldNode& option : doc.common) common.push_back(row_of(option));
  common.push_back({"--help", "show this help"});
  return fmt::format("Usage: {}\n\n", synopsis(app.name, doc.text.name, doc.options)) +
         paragraphs(doc.text.description) + section("Operands", operands) + section("Options", options) +
         section("Common options", common) + examples(doc.text) + exit_codes(doc.text.live);
}

}  // namespace shardkit::cli
