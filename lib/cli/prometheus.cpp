#include "cli/prometheus.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/app.hpp"

namespace shardkit::cli {
namespace {

/// With a backslash before each of `special` and \n for a newline.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
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
    const auto [at, is_new] = places_.emplace(name, texts_.size());
    if (is_new) texts_.push_back(fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, escaped(help, "\\")));
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
                    escaped(plain_text(*label), "\\\"")));
  }

  std::map<std::string, std::size_t> places_;
  std::vector<std::string> texts_;
};

}  // namespace

std::string prometheus_text(const Report& report) {
  std::string prefix = "shardkit_" + verb_slug(report.verb);
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  const Outcome& outcome = report.outcome;
  const std::chrono::duration<double> started = report.started_at.time_since_epoch();
  Gauges gauges;
  gauges.add(prefix + "_success", "1 when the last run was done without findings", "",
             outcome.status() == "ok" ? 1 : 0);
  gauges.add(prefix + "_exit_code", "exit code of the last run", "", outcome.exit_code);
  gauges.add(prefix + "_elapsed_seconds", "wall-clock time of the last run", "", report.elapsed_seconds);
  gauges.add(prefix + "_finished_timestamp_seconds", "when the last run ended, seconds since 1970", "",
             fmt::format("{:.3f}", started.count() + report.elapsed_seconds));
  if (!outcome.failure) gauges.add(report.result, prefix, "");
  return gauges.text();
}

}  // namespace shardkit::cli
