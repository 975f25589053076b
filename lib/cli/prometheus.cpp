#include "cli/prometheus.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/app.hpp"

namespace shardkit::cli {
namespace {

/// In HELP lines a backslash and a newline are escaped.
std::string escaped(std::string_view help) {
  std::string out;
  for (const char c : help) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

template <class Number>
std::string gauge(const std::string& name, std::string_view help, Number value) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{0} {2}\n", name, escaped(help), value);
}

struct GaugeOf {
  std::string operator()(std::uint64_t value) const { return gauge(name, help, value); }
  std::string operator()(bool value) const { return gauge(name, help, value ? 1 : 0); }
  std::string operator()(double value) const { return std::isfinite(value) ? gauge(name, help, value) : std::string(); }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
  const std::string& name;
  std::string_view help;
};

void append(const std::vector<FieldNode>& nodes, const std::string& prefix, std::string& out) {
  for (const FieldNode& node : nodes) {
    const std::string name = prefix + "_" + node.name;
    if (node.kind == FieldKind::group) {
      append(node.children, name, out);
    } else if (node.kind != FieldKind::list) {
      out += std::visit(GaugeOf{name, node.field.help}, node.value);
    }
  }
}

}  // namespace

std::string prometheus_text(const Report& report) {
  std::string prefix = "shardkit_" + verb_slug(report.verb);
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  const Outcome& outcome = report.outcome;
  const std::chrono::duration<double> started = report.started_at.time_since_epoch();
  std::string out =
      gauge(prefix + "_success", "1 when the last run was done without findings", outcome.status() == "ok" ? 1 : 0);
  out += gauge(prefix + "_exit_code", "exit code of the last run", outcome.exit_code);
  out += gauge(prefix + "_elapsed_seconds", "wall-clock time of the last run", report.elapsed_seconds);
  out += gauge(prefix + "_finished_timestamp_seconds", "when the last run ended, seconds since 1970",
               fmt::format("{:.3f}", started.count() + report.elapsed_seconds));
  if (!outcome.failure) append(report.result, prefix, out);
  return out;
}

}  // namespace shardkit::cli
