#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/documents/documents.hpp"
#include "cli/field_text.hpp"

namespace shardkit::cli {
namespace {

/// Text inside a table cell.
std::string cell(std::string_view text) { return escaped(text, "|"); }

std::string code(std::string_view text) { return text.empty() ? std::string() : fmt::format("`{}`", cell(text)); }

std::string options_table(const std::vector<FieldNode>& options) {
  std::string out = "| option | default | meaning | JSON |\n|---|---|---|---|\n";
  for (const FieldNode& option : options) {
    out += fmt::format("| {} | {} | {} | {} |\n", code(option_spelling(option)), code(default_text(option)),
                       cell(option.field.help), code(option.name));
  }
  return out;
}

std::string type_name(const FieldNode& node) {
  const auto bare = [&]() -> std::string {
    switch (node.kind) {
      case FieldKind::flag:
        return "true or false";
      case FieldKind::count:
        return "integer";
      case FieldKind::number:
        return "number";
      case FieldKind::text:
        return "text";
      case FieldKind::texts:
        return "list of texts";
      case FieldKind::choice:
        return fmt::format("one of {}", fmt::join(node.choices, ", "));
      case FieldKind::group:
        return "object";
      case FieldKind::list:
        return "list of objects";
    }
    return {};
  }();
  return node.optional ? bare + " or null" : bare;
}

/// "bytes per second"
std::string unit_name(Unit unit) {
  std::string name(unit_suffix(unit));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name.empty() ? name : name.substr(1);
}

/// Rows of a result table; members of groups and items of lists follow with their path: "latency_seconds.p50",
/// "problems[].code".
void append_rows(const std::vector<FieldNode>& nodes, const std::string& prefix, std::string& out) {
  for (const FieldNode& node : nodes) {
    const std::string path = prefix + node.name;
    const bool has_members = node.kind == FieldKind::group || node.kind == FieldKind::list;
    out += fmt::format("| {} | {} | {} | {} |\n", code(path), cell(type_name(node)),
                       has_members ? std::string() : unit_name(node.unit), cell(node.field.help));
    if (node.kind == FieldKind::group) append_rows(node.children, path + ".", out);
    if (node.kind == FieldKind::list) append_rows(node.children.front().children, path + "[].", out);
  }
}

std::string examples(const CommandText& text) {
  std::string out;
  for (const Example& example : text.examples) out += fmt::format("# {}\n{}\n", example.explanation, example.command);
  return out.empty() ? out : "```sh\n" + out + "```\n\n";
}

constexpr std::string_view kOrigin =
    "Made by `cmake --build build/dev --target docs` from the descriptions that the programs themselves use.\n\n";

std::string page_name(const App& app, const CommandText& text) {
  return fmt::format("{}-{}.md", app.name, verb_slug(text.name));
}

std::string verb_page(const App& app, const Command& command) {
  const CommandDoc doc = document(command);
  std::string out = fmt::format("# {} {}\n\n{}`{}`\n\n{}\n\n", app.name, doc.text.name, kOrigin,
                                synopsis(app.name, doc.text.name, doc.options), doc.text.description);
  out += examples(doc.text);
  out += "## Options\n\n" + options_table(doc.options);
  out += "\nAnd those of [every verb](README.md)";
  if (doc.text.prometheus) out += ", `--prometheus FILE`";
  if (doc.findings) out += ", `--junit FILE`, `--markdown FILE`";
  if (doc.text.soft_fail) out += ", `--soft-fail`";
  out += ".\n";
  if (doc.text.resumable) out += "\nStopped or killed, the same command goes on where it was.\n";
  out += "\n## Result\n\n| field | type | unit | meaning |\n|---|---|---|---|\n";
  append_rows(doc.result, "", out);
  return out;
}

std::string common_section() {
  std::string out =
      "## Every verb\n\n"
      "Sizes are written `1000`, `256MiB`, `256MB` or `1.5G`; times `30s`, `5m` or `250ms`. `VERB --help` shows what "
      "is\n"
      "written here, `--version` the version and the commit.\n\n"
      "| option | meaning |\n|---|---|\n";
  CommonOptions common;
  for (const FieldNode& option : field_tree([&](FieldVisitor& v) { common.describe(v, nullptr); })) {
    out += fmt::format("| {} | {} |\n", code(option_spelling(option)), cell(option.field.help));
  }
  out +=
      "\nThe JSON envelope is described by [schema](../schema)`/<program>-<verb>.json`.\n\n"
      "With `--log json` each line on standard error is one JSON object that starts with `time`, `level` (`info`,\n"
      "`warning`, `error`) and `event`:\n\n"
      "| event | members |\n|---|---|\n"
      "| `progress` | `phase`, `items`, `items_total`, `bytes`, `bytes_total`; a total is 0 while unknown |\n"
      "| `warning` | `code`, `text` |\n"
      "| `error` | `code`, `text`, `path`, `offset`, `exit_code` |\n"
      "| `stopped` | `signal`, `exit_code`, `text` |\n"
      "| `soft_fail` | `text` |\n"
      "| `done`, at the end of each command | `status`, `exit_code`, `elapsed_seconds` |\n\n"
      "A command that fails or is stopped leaves its error in `/dev/termination-log` as well, where that file is "
      "there,\n"
      "as in a container of Kubernetes.\n\n";
  out += "| exit code | meaning |\n|---|---|\n";
  for (const ExitCode& exit : kExitCodes) out += fmt::format("| {} | {} |\n", exit.code, exit.meaning);
  return out;
}

}  // namespace

std::vector<NamedText> reference_pages(const std::vector<App>& apps) {
  std::string overview = "# Reference\n\n" + std::string(kOrigin);
  std::vector<NamedText> pages(1);
  for (const App& app : apps) {
    overview += fmt::format("## {}\n\n{}: {}.\n\n| verb | does |\n|---|---|\n", app.name, app.name, app.summary);
    for (const Command& command : app.commands) {
      const std::string name = page_name(app, command.text());
      overview += fmt::format("| [{}]({}) | {} |\n", command.text().name, name, command.text().summary);
      pages.emplace_back(name, verb_page(app, command));
    }
    overview += "\n";
  }
  pages.front() = {"README.md", overview + common_section()};
  return pages;
}

}  // namespace shardkit::cli
