#include "cli/report_formats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/field_text.hpp"
#include "cli/messages.hpp"
#include "core/fields.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "system/clock.hpp"
#include "system/host.hpp"

namespace shardkit::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& warning : warnings) list.push_back({{"code", warning.code}, {"text", warning.text}});
  return list;
}

Json host_json() {
  system::HostInfo host = system::this_host();
  return fields_json(field_tree([&](FieldList& v) { host.describe(v); }));
}

struct ValueJson {
  Json operator()(std::monostate) const { return nullptr; }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

Json to_json(const FieldNode& node) {
  if (node.absent) return nullptr;
  if (node.kind == FieldKind::group) return fields_json(node.children);
  if (node.kind == FieldKind::list) {
    Json list = Json::array();
    for (const FieldNode& item : node.children) list.push_back(fields_json(item.children));
    return list;
  }
  return std::visit(ValueJson{}, node.value);
}

/// "iobench compare"
std::string report_title(const Report& report) { return fmt::format("{} {}", report.program, report.verb); }

/// For text and attribute values of XML 1.0, which does not allow U+FFFE and U+FFFF; control characters are already
/// removed.
std::string xml(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"";
  constexpr std::array kEntities{"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  for (const char c : as_utf8(text)) {
    const std::size_t found = kSpecial.find(c);
    out += found == std::string_view::npos ? std::string(1, c) : kEntities[found];
    if (out.ends_with("\xef\xbf\xbe") || out.ends_with("\xef\xbf\xbf")) out.back() = '\xbd';
  }
  return out;
}

std::string element(const CiCase& one) {
  const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(one.group), xml(one.name));
  if (one.outcome == CiCase::Outcome::passed) return head + "/>\n";
  return fmt::format("{}>\n      <{} message=\"{}\"/>\n    </testcase>\n", head,
                     one.outcome == CiCase::Outcome::failed ? "failure" : "skipped", xml(one.message));
}

std::string failed_run(const Report& report) {
  return fmt::format("    <testcase classname=\"{}\" name=\"run\">\n      <error message=\"{}\"/>\n    </testcase>\n",
                     xml(report_title(report)), xml(printable(report.outcome.failure->text)));
}

/// For label values and, with other `special`, help texts of Prometheus, where a newline is \n.
std::string metric_escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : escaped(as_utf8(text), special)) out += c == '\n' ? "\\n" : std::string(1, c);
  return out;
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
    if (is_new) texts_.push_back(fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, metric_escaped(help, "\\")));
    texts_[at->second] += fmt::format("{}{} {}\n", name, labels.empty() ? "" : '{' + labels + '}', value);
  }

  void add(const std::vector<FieldNode>& nodes, const std::string& prefix, const std::string& labels) {
    for (const FieldNode& node : nodes) {
      const std::string name = prefix + "_" + node.name;
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
  void add_item(const FieldNode& item, const std::string& prefix, const std::string& labels) {
    const auto label = std::ranges::find_if(item.children, [](const FieldNode& node) { return node.field.label; });
    if (label == item.children.end()) return;
    add(item.children, prefix,
        fmt::format("{}{}{}=\"{}\"", labels, labels.empty() ? "" : ",", label->name,
                    metric_escaped(plain_text(*label), "\\\"")));
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
  json["schema_version"] = kSchemaVersion;
  json["tool"] = {{"name", report.program}, {"version", build_version()}, {"commit", build_commit()}};
  json["started_at"] = system::rfc3339(report.started_at);
  json["elapsed_seconds"] = report.elapsed_seconds;
  json["host"] = host_json();
  json["options"] = fields_json(report.options);
  const bool has_result = !report.outcome.failure || report.failed_with_result;
  json["result"] = has_result ? fields_json(report.result) : Json(nullptr);
  json["warnings"] = to_json(report.warnings);
  json["error"] = report.outcome.failure ? failure_json(*report.outcome.failure) : Json(nullptr);
  json["status"] = report.outcome.status();
  json["interrupted"] = report.outcome.interrupted();
  json["exit_code"] = report.outcome.exit_code;
  return json_file_text(json);
}

Json fields_json(const std::vector<FieldNode>& nodes) {
  Json object = Json::object();
  for (const FieldNode& node : nodes) object[node.name] = to_json(node);
  return object;
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
      xml(report_title(report)), failed ? 1 : found.cases.size(), count(CiCase::Outcome::failed), failed ? 1 : 0,
      count(CiCase::Outcome::skipped), report.elapsed_seconds, system::rfc3339(report.started_at), elements);
}

std::string markdown_text(std::string_view text) { return escaped(as_utf8(text), "|\\`<*_"); }

std::string ci_markdown(const Report& report, const CiReport& found) {
  const std::string head = fmt::format("### {}: ", report_title(report));
  if (!report.outcome.failure) return fmt::format("{}{}\n{}", head, found.conclusion, found.details);
  return fmt::format("{}failed\n\n{}\n", head, markdown_text(printable(report.outcome.failure->text)));
}

std::string prometheus_text(const Report& report) {
  std::string prefix = "shardkit_" + verb_slug(report.verb);
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  const Outcome& outcome = report.outcome;
  const std::chrono::duration<double> started = report.started_at.time_since_epoch();
  Gauges gauges;
  gauges.add(prefix + "_success", "1 if the last run ended without findings", "", outcome.status() == "ok" ? 1 : 0);
  gauges.add(prefix + "_exit_code", "exit code of the last run", "", outcome.exit_code);
  gauges.add(prefix + "_elapsed_seconds", "wall-clock time of the last run", "", report.elapsed_seconds);
  gauges.add(prefix + "_finished_timestamp_seconds", "end of the last run, seconds since 1970", "",
             fmt::format("{:.3f}", started.count() + report.elapsed_seconds));
  if (!outcome.failure) gauges.add(report.result, prefix, "");
  return gauges.text();
}

}  // namespace shardkit::cli
