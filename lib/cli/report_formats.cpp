#include "cli/report_formats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/field_text.hpp"
#include "cli/messages.hpp"
#include "core/fields.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "core/markup.hpp"
#include "core/text.hpp"
#include "system/clock.hpp"
#include "system/host.hpp"

namespace shardkit::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<Finding>& warnings) {
  Json list = Json::array();
  for (const Finding& warning : warnings) list.push_back({{"code", warning.code}, {"text", warning.text}});
  return list;
}

Json host_json(const Report& report) {
  system::HostInfo host = system::this_host();
  Json json = fields_json(field_tree([&](FieldList& v) { host.describe(v); }));
  json["node"] = system::node_name();
  json["labels"] = Json::object();
  for (const auto& [key, value] : report.labels) json["labels"][key] = value;
  return json;
}

/// "iobench compare"
std::string report_title(const Report& report) { return fmt::format("{} {}", report.program, report.verb); }

std::string element(const CiCase& one) {
  const std::string head =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", escaped_html(one.group), escaped_html(one.name));
  if (one.outcome == CiCase::Outcome::passed) return head + "/>\n";
  return fmt::format("{}>\n      <{} message=\"{}\"/>\n    </testcase>\n", head,
                     one.outcome == CiCase::Outcome::failed ? "failure" : "skipped", escaped_html(one.message));
}

std::string failed_run(const Report& report) {
  return fmt::format("    <testcase classname=\"{}\" name=\"run\">\n      <error message=\"{}\"/>\n    </testcase>\n",
                     escaped_html(report_title(report)), escaped_html(printable(report.outcome.failure->what())));
}

/// For label values and, with other `special`, help texts of Prometheus, where a newline is \n.
std::string metric_escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : escaped(as_utf8(text), special)) out += c == '\n' ? "\\n" : std::string(1, c);
  return out;
}

/// A help text as a sentence.
std::string metric_help(std::string_view help) {
  std::string sentence = metric_escaped(help, "\\");
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z') sentence[0] = char(sentence[0] - 'a' + 'A');
  return sentence + (sentence.empty() || sentence.ends_with('.') ? "" : ".");
}

/// A field's name as promtool accepts it: gauges have no names or suffixes of other types.
std::string metric_name(std::string_view field) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames{
      {{"total", "all"}, {"count", "calls"}, {"sum", "of_all"}, {"summary", "overall"}, {"histogram", "steps"}}};
  std::string name;
  while (!field.empty()) {
    const std::string_view word = field.substr(0, field.find('_'));
    const auto other = std::ranges::find(kNames, word, [](const auto& pair) { return pair.first; });
    fmt::format_to(std::back_inserter(name), "{}{}", name.empty() ? "" : "_",
                   other == kNames.end() ? word : other->second);
    field.remove_prefix(std::min(word.size() + 1, field.size()));
  }
  return name;
}

std::string metric_label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, metric_escaped(value, "\\\""));
}

/// Labels of all series of a run: the node, what it worked on, options that tell runs apart, and those of --label.
std::string run_labels(const Report& report) {
  std::map<std::string, std::string> labels{{"host", system::node_name()}};
  for (const FieldNode& option : report.options) {
    const std::string value = plain_text(option);
    if ((option.field.is_operand() || option.field.label) && !value.empty()) labels[option.name] = value;
  }
  for (const auto& [name, value] : report.labels) labels[name] = value;
  std::string text;
  for (const auto& [name, value] : labels) text += (text.empty() ? "" : ",") + metric_label(name, value);
  return text;
}

/// Gauges in the order of their first series; the format wants all series of a name together.
class Gauges {
 public:
  template <class Number>
  void add(const std::string& name, std::string_view help, const std::string& labels, Number value) {
    if constexpr (std::is_floating_point_v<Number>) {
      if (!std::isfinite(value)) return;
    }
    const auto [at, is_new] = positions_.emplace(name, texts_.size());
    if (is_new) texts_.push_back(fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, metric_help(help)));
    texts_[at->second] += fmt::format("{}{} {}\n", name, labels.empty() ? "" : '{' + labels + '}', value);
  }

  void add(const std::vector<FieldNode>& nodes, const std::string& prefix, const std::string& labels) {
    for (const FieldNode& node : nodes) {
      const std::string name = prefix + "_" + metric_name(node.name);
      if (name.ends_with("_hours")) continue;  // the same in seconds is beside it
      if (node.kind == FieldKind::group) {
        add(node.children, name, labels);
      } else if (node.kind == FieldKind::list) {
        for (const FieldNode& item : node.children) add_item(item, name, labels);
      } else if (const auto* flag = std::get_if<bool>(&node.value)) {
        add(name, node.field.help, labels, *flag ? 1 : 0);
      } else if (const auto* count = std::get_if<std::uint64_t>(&node.value)) {
        add(name, node.field.help, labels, *count);
      } else if (const auto* number = std::get_if<double>(&node.value)) {
        add(name, node.field.help, labels, *number);
      }
    }
  }

  std::string text() const { return fmt::format("{}", fmt::join(texts_, "")); }

 private:
  /// The label of an item that has a "name" is what the list contains: "stage" for "stages".
  void add_item(const FieldNode& item, const std::string& prefix, const std::string& labels) {
    const auto label = std::ranges::find_if(item.children, [](const FieldNode& node) { return node.field.label; });
    if (label == item.children.end()) return;
    std::string_view name = label->name;
    if (name == "name" && prefix.ends_with('s')) {
      name = std::string_view(prefix).substr(prefix.rfind('_') + 1);
      name.remove_suffix(1);
    }
    const bool taken = ("," + labels).find(fmt::format(",{}=\"", name)) != std::string::npos;  // by an operand
    const std::string own = taken ? fmt::format("item_{}", name) : std::string(name);
    add(item.children, prefix,
        fmt::format("{}{}{}", labels, labels.empty() ? "" : ",", metric_label(own, plain_text(*label))));
  }

  std::map<std::string, std::size_t> positions_;
  std::vector<std::string> texts_;
};

}  // namespace

std::string node_line(const Report& report) {
  const system::HostInfo host = system::this_host();
  return fmt::format("on {} ({}, Linux {}), {}, {} {}\n", printable(host.hostname), format_count(host.cpus, "CPU"),
                     printable(host.kernel), system::rfc3339(report.started_at), report.program, build_version());
}

std::string envelope_json(const Report& report) {
  Json json;
  json["schema"] = "shardkit/" + verb_slug(report.verb);
  json["schema_version"] = report.schema_version;
  json["tool"] = {{"name", report.program}, {"version", build_version()}, {"commit", build_commit()}};
  json["started_at"] = system::rfc3339(report.started_at);
  json["elapsed_seconds"] = report.elapsed_seconds;
  json["host"] = host_json(report);
  json["options"] = fields_json(report.options);
  const bool has_result = !report.outcome.failure || report.failed_with_result;
  json["headline"] = has_result && !report.headline.empty() ? Json(report.headline) : Json(nullptr);
  json["result"] = has_result ? fields_json(report.result) : Json(nullptr);
  json["warnings"] = to_json(report.warnings);
  json["error"] = report.outcome.failure ? failure_json(*report.outcome.failure) : Json(nullptr);
  json["status"] = report.outcome.status();
  json["interrupted"] = report.outcome.interrupted();
  json["exit_code"] = report.outcome.exit_code;
  return json_file_text(json);
}

std::string json_line(std::string_view event, const std::vector<FieldNode>& nodes) {
  Json object = {{"event", event}};
  object.update(fields_json(nodes));
  return json_text(object) + "\n";
}

std::string junit_xml(const Report& report, const CiReport& found) {
  const bool failed = report.outcome.failure.has_value();
  const auto count = [&](CiCase::Outcome outcome) {
    return failed ? 0 : std::ranges::count(found.cases, outcome, &CiCase::outcome);
  };
  std::string elements = failed ? failed_run(report) : "";
  if (!failed) {
    for (const CiCase& one : found.cases) elements += element(one);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\" timestamp=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      escaped_html(report_title(report)), failed ? 1 : found.cases.size(), count(CiCase::Outcome::failed),
      failed ? 1 : 0, count(CiCase::Outcome::skipped), report.elapsed_seconds, system::rfc3339(report.started_at),
      elements);
}

std::string ci_markdown(const Report& report, const CiReport& found, const std::string& command) {
  const std::string head = fmt::format("### {}: ", report_title(report));
  const std::string end = fmt::format("\n````\n{}\n````\n\n{}", printable(command), markdown_text(node_line(report)));
  if (!report.outcome.failure) return fmt::format("{}{}\n{}{}", head, found.conclusion, found.details, end);
  return fmt::format("{}failed\n\n{}\n{}", head, markdown_text(printable(report.outcome.failure->what())), end);
}

std::string prometheus_text(const Report& report) {
  std::string prefix = "shardkit_" + verb_slug(report.verb);
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  const Outcome& outcome = report.outcome;
  const std::string labels = run_labels(report);
  Gauges gauges;
  gauges.add(prefix + "_success", "1 if the last run ended without findings", labels, outcome.status() == "ok" ? 1 : 0);
  gauges.add(prefix + "_exit_code", "exit code of the last run", labels, outcome.exit_code);
  gauges.add(prefix + "_elapsed_seconds", "wall-clock time of the last run", labels, report.elapsed_seconds);
  gauges.add(prefix + "_finished_timestamp_seconds", "end of the last run, seconds since 1970", labels,
             fmt::format("{:.3f}", system::unix_seconds(report.started_at) + report.elapsed_seconds));
  if (!outcome.failure) gauges.add(report.result, prefix, labels);
  return gauges.text();
}

}  // namespace shardkit::cli
