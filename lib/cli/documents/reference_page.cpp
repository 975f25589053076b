#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/documents/documents.hpp"
#include "cli/documents/help.hpp"
#include "cli/field_text.hpp"

namespace shardkit::cli {
namespace {

/// Text inside a table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

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

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::bytes:
      return "bytes";
    case Unit::seconds:
      return "seconds";
    case Unit::ratio:
    case Unit::factor:
      return "ratio";
    case Unit::bytes_per_second:
      return "bytes per second";
    case Unit::per_second:
      return "per second";
    case Unit::none:
    case Unit::count:
      return "";
  }
  return "";
}

/// Rows of a result table; members of groups and items of lists follow with their path: "latency_seconds.p50",
/// "problems[].code".
void append_rows(const std::vector<FieldNode>& nodes, const std::string& prefix, std::string& out) {
  for (const FieldNode& node : nodes) {
    const std::string path = prefix + node.name;
    const bool has_members = node.kind == FieldKind::group || node.kind == FieldKind::list;
    out += fmt::format("| {} | {} | {} | {} |\n", code(path), cell(type_name(node)),
                       has_members ? "" : unit_name(node.unit), cell(node.field.help));
    if (node.kind == FieldKind::group) append_rows(node.children, path + ".", out);
    if (node.kind == FieldKind::list) append_rows(node.children.front().children, path + "[].", out);
  }
}

std::string examples(const CommandText& text) {
  std::string out;
  for (const Example& example : text.examples) out += fmt::format("# {}\n{}\n", example.explanation, example.command);
  return out.empty() ? out : "```sh\n" + out + "```\n\n";
}

std::string verb_section(const App& app, const Command& command) {
  const CommandDoc doc = document(command);
  std::string out = fmt::format("### {} {}\n\n`{}`\n\n{}\n\n", app.name, doc.text.name,
                                synopsis(app.name, doc.text.name, doc.options), doc.text.description);
  out += examples(doc.text);
  out += options_table(doc.options);
  if (doc.text.prometheus) out += "\nTakes `--prometheus FILE` too.\n";
  if (doc.findings) out += "\nTakes `--junit FILE` and `--markdown FILE` too.\n";
  if (doc.text.soft_fail) out += "\nTakes `--soft-fail` too.\n";
  if (doc.text.resumable) out += "\nStopped or killed, the same command goes on where it was.\n";
  out += "\nResult:\n\n| field | type | unit | meaning |\n|---|---|---|---|\n";
  append_rows(doc.result, "", out);
  return out + "\n";
}

std::string common_section() {
  std::string out =
      "## Every verb\n\n"
      "Sizes are written `1000`, `256MiB`, `256MB` or `1.5G`; times `30s`, `5m` or `250ms`. `VERB --help` shows what "
      "is\n"
      "written here, `--version` the version and the commit.\n\n"
      "| option | meaning |\n|---|---|\n";
  CommonOptions common{.with_prometheus = true, .with_findings = true, .with_soft_fail = true};
  for (const FieldNode& option : field_tree([&](FieldVisitor& v) { common.describe(v); })) {
    out += fmt::format("| {} | {} |\n", code(option_spelling(option)), cell(option.field.help));
  }
  out +=
      "\nThe JSON envelope is described by `schema/<program>-<verb>.json` beside this page.\n\n"
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
  return out + "\n";
}

}  // namespace

std::string reference_page(const std::vector<App>& apps) {
  std::string out =
      "# Reference\n\n"
      "Made by `cmake --build build/dev --target docs` from the descriptions that the programs themselves use; a test\n"
      "keeps it fresh.\n\n";
  out += common_section();
  for (const App& app : apps) {
    out += fmt::format("## {}\n\n{}: {}.\n\n| verb | does |\n|---|---|\n", app.name, app.name, app.summary);
    for (const Command& command : app.commands) {
      const CommandText& text = command.text();
      out += fmt::format("| [{}](#{}-{}) | {} |\n", text.name, app.name, verb_slug(text.name), text.summary);
    }
    out += "\n";
    for (const Command& command : app.commands) out += verb_section(app, command);
  }
  out.pop_back();
  return out;
}

}  // namespace shardkit::cli
