#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/section_tools.hpp"

/// Sections of results about several results: comparisons, the history of a node, and many nodes.
namespace shardkit::report {
namespace {

Color verdict_color(const Json& row) {
  const std::string verdict = text_at(row, "verdict").value_or("");
  if (verdict == "regressed" || verdict == "incomparable") return Color::bad;
  if (verdict == "improved") return Color::good;
  return verdict == "pass" ? Color::first : Color::unclear;
}

std::optional<Section> compared_rows(const Source& source) {
  const Json& rows = list_at(source.result, "rows");
  std::vector<Range> ranges;
  for (const Json& row : rows) {
    const auto change = number_at(row, "change_ratio");
    if (!change || !text_at(row, "metric")) continue;
    ranges.push_back({*text_at(row, "metric"),
                      fmt::format("{}, {}", text_at(row, "verdict").value_or(""), percent(*change, true)), *change,
                      number_at(row, "interval.low_ratio"), number_at(row, "interval.high_ratio"), verdict_color(row)});
  }
  if (ranges.empty()) return std::nullopt;
  Section section{.heading = "Changes by metric"};
  section.paragraphs.emplace_back(
      "Relative change from BASE to NEW with its interval. A metric regressed if its whole interval is beyond the "
      "threshold on the bad side.");
  section.figures.emplace_back(range_chart(section.heading, ranges, 0), "The dashed line is the base.");
  section.table = table_of(rows, {{"metric", "metric"},
                                  {"verdict", "verdict"},
                                  {"change", "change_ratio", Unit::ratio},
                                  {"threshold", "threshold_ratio", Unit::ratio},
                                  {"result", "text"}});
  return section;
}

std::optional<Section> differences(const Source& source) {
  Section section{.heading = "Measured differently"};
  section.table = table_of(
      list_at(source.result, "differences"),
      {{"condition", "key"}, {"BASE", "base"}, {"NEW", "new"}, {"not comparable", "decisive"}, {"allowed", "allowed"}});
  return section.table.rows.empty() ? std::nullopt : std::optional(section);
}

std::optional<Section> gate(const Source& source) {
  Section section{.heading = "Gate"};
  section.table =
      table_of(list_at(source.result, "gate"), {{"metric", "metric"}, {"verdict", "verdict"}, {"result", "text"}});
  return section.table.rows.empty() ? std::nullopt : std::optional(section);
}

Unit unit_of(const Json& metric) {
  const std::string unit = text_at(metric, "unit").value_or("");
  return unit == "bytes_per_second" ? Unit::bytes_per_second
         : unit == "per_second"     ? Unit::per_second
         : unit == "seconds"        ? Unit::seconds
                                    : Unit::none;
}

std::string (*axis_text(Unit unit))(double) {
  return unit == Unit::bytes_per_second ? bytes_rate_text
         : unit == Unit::per_second     ? rate_text
         : unit == Unit::seconds        ? seconds_text
                                        : count_text;
}

/// Runs over time with the noise of each period, disturbed runs apart, and a mark at each change.
std::string metric_chart(const Json& metric) {
  std::vector<Curve> curves{{"runs", {}, Color::first, true}, {"disturbed runs", {}, Color::unclear, true, false}};
  for (const Json& point : list_at(metric, "points")) {
    const Json* disturbed = member(point, "disturbed");
    const bool apart = disturbed != nullptr && disturbed->is_boolean() && disturbed->get<bool>();
    curves[apart ? 1 : 0].points.push_back(
        {number_at(point, "unix_time_seconds").value_or(0), number_at(point, "value").value_or(0)});
  }
  if (curves[1].points.empty()) curves.pop_back();
  Axes axes{.x_text = format_day, .y_text = axis_text(unit_of(metric))};
  for (const Json& band : list_at(metric, "bands")) {
    axes.bands.push_back({number_at(band, "from_seconds").value_or(0), number_at(band, "to_seconds").value_or(0),
                          number_at(band, "low").value_or(0), number_at(band, "high").value_or(0)});
  }
  for (const Json& change : list_at(metric, "changes")) {
    const auto ratio = number_at(change, "change_ratio");
    axes.marks.push_back({number_at(change, "unix_time_seconds").value_or(0),
                          ratio ? fmt::format("{:+.0f} %", *ratio * 100) : "changed"});
  }
  return line_chart(text_at(metric, "metric").value_or("") + " over time", curves, axes);
}

std::optional<Section> changes(const Source& source) {
  const Json& metrics = list_at(source.result, "metrics");
  Section section{.heading = "Change points"};
  section.table.columns = {"metric", "change", "what changed in the environment"};
  for (const Json& metric : metrics) {
    for (const Json& change : list_at(metric, "changes")) {
      section.table.rows.push_back({text_at(metric, "metric").value_or(""), text_at(change, "text").value_or(""),
                                    shown(member(change, "environment"), Unit::none)});
    }
  }
  if (metrics.empty()) return std::nullopt;
  section.paragraphs.push_back(
      section.table.rows.empty()
          ? "None. A change needs 9 runs on each side, and runs that do not drift."
          : "Runs at which a metric regressed or improved by the rule of iobench compare. A change needs 9 runs on "
            "each side.");
  return section;
}

/// A section for each metric would be a long list of contents: one for all.
std::optional<Section> metrics_over_time(const Source& source) {
  const Json& metrics = list_at(source.result, "metrics");
  Section section{.heading = "Metrics over time"};
  section.paragraphs.push_back(
      "A dot is a run. The band is where 95 % of new runs are expected. A dashed line is a change point.");
  section.table.columns = {"metric", "date", "value", "disturbed", "file"};
  for (const Json& metric : metrics) {
    const std::string changed = text_at(metric, "now.text").value_or("");
    const Json* now = member(metric, "now.value");
    section.figures.emplace_back(metric_chart(metric),
                                 fmt::format("{}, {}", text_at(metric, "metric").value_or(""),
                                             changed.empty() ? shown(now, unit_of(metric)) + " now" : changed));
    for (const Json& point : list_at(metric, "points")) {
      section.table.rows.push_back(
          {text_at(metric, "metric").value_or(""), format_day(number_at(point, "unix_time_seconds").value_or(0)),
           shown(member(point, "value"), unit_of(metric)), shown(member(point, "disturbed"), Unit::none),
           text_at(point, "file").value_or("")});
    }
  }
  return section.figures.empty() ? std::nullopt : std::optional(section);
}

bool is_true(const Json& object, std::string_view path) {
  const Json* value = member(object, path);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

/// Nodes by name, a map for each of their rates.
std::optional<Section> fleet_map(const Source& source) {
  std::map<std::string, std::map<std::string, Cell>> metrics;
  for (const Json& row : list_at(source.result, "nodes")) {
    const std::string name = text_at(row, "name").value_or("");
    for (const Json& rate : list_at(row, "rates")) {
      const double share = number_at(rate, "of_median_ratio").value_or(0);
      metrics[text_at(rate, "metric").value_or("")][name] = {
          fmt::format("{}: {:.0f} % of the median", name, share * 100), share, is_true(rate, "straggler")};
    }
  }
  if (metrics.empty()) return std::nullopt;
  Section section{.heading = "Nodes by stage"};
  section.paragraphs.push_back(
      "A square is a node, in order of names. Pale green is the median of its group or better, red is less than 60 % "
      "of it. A frame marks a slow node.");
  for (const auto& [metric, by_name] : metrics) {
    std::vector<Cell> cells;
    for (const auto& [name, cell] : by_name) cells.push_back(cell);
    section.figures.emplace_back(heat_map(metric + " of each node", cells), metric);
  }
  return section;
}

std::optional<Section> fleet_list(const Source& source) {
  constexpr std::size_t kMostBars = 30;
  const Json& rows = list_at(source.result, "nodes");
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    const auto share = number_at(row, "slowest_ratio");
    if (!share || bars.size() == kMostBars) continue;
    const bool slow = is_true(row, "straggler") || is_true(row, "gate_missed");
    if (list_at(row, "rates").empty()) continue;
    bars.push_back(
        {text_at(row, "name").value_or(""),
         fmt::format("{:.0f} % of the median, {}", *share * 100, text_at(row, "slowest_metric").value_or("")),
         *share,
         {},
         {},
         1.0,
         slow ? Color::bad : Color::first});
  }
  if (bars.empty()) return std::nullopt;
  Section section{.heading = "Slowest nodes", .figures = {bar_chart("Lowest rate of each node", bars)}};
  if (rows.size() > bars.size()) {
    section.paragraphs.push_back(
        fmt::format("The {} slowest of {} nodes; the table has all.", bars.size(), rows.size()));
  }
  section.table = table_of(rows, {{"node", "name"},
                                  {"state", "state"},
                                  {"group", "group"},
                                  {"misses the gate", "gate_missed"},
                                  {"runs", "runs", Unit::count},
                                  {"of the median", "slowest_ratio", Unit::factor},
                                  {"in", "slowest_metric"},
                                  {"clock offset", "clock_offset_seconds", Unit::seconds},
                                  {"why", "text"},
                                  {"file", "file"}});
  return section;
}

std::optional<Section> fleet_sums(const Source& source) {
  Section section{.heading = "All nodes together"};
  const Json& stages = list_at(source.result, "stages");
  if (stages.empty() || number_at(stages.front(), "common_seconds") == std::nullopt) return std::nullopt;
  section.paragraphs.push_back("Sums over the seconds in which every node ran the stage.");
  const std::string ceiling = text_at(source.result, "ceiling.text").value_or("");
  if (!ceiling.empty()) section.paragraphs.push_back(ceiling + ".");
  section.table = table_of(stages, {{"stage", "stage"},
                                    {"common seconds", "common_seconds", Unit::count},
                                    {"bytes/s", "bytes_per_second", Unit::bytes_per_second},
                                    {"samples/s", "samples_per_second", Unit::per_second}});
  return section;
}

std::optional<Section> fleet_exclude(const Source& source) {
  std::string names;
  for (const Json& name : list_at(source.result, "exclude")) {
    if (name.is_string()) names += (names.empty() ? "" : ",") + name.get<std::string>();
  }
  if (names.empty()) return std::nullopt;
  std::string spaced = names;
  std::ranges::replace(spaced, ',', ' ');
  return Section{.heading = "Take these nodes out of service",
                 .code = fmt::format("sbatch --exclude={}\nkubectl cordon {}", names, spaced)};
}

std::optional<Section> unused_results(const Source& source) {
  Section section{.heading = "Results left out"};
  section.table = table_of(list_at(source.result, "left_out"), {{"file", "file"}, {"reason", "reason"}});
  return section.table.rows.empty() ? std::nullopt : std::optional(section);
}

constexpr std::array kSections =
    std::to_array<SectionOf>({compared_rows, fleet_map, fleet_list, fleet_sums, fleet_exclude, changes,
                              metrics_over_time, gate, differences, unused_results});

}  // namespace

std::span<const SectionOf> fleet_sections() { return kSections; }

}  // namespace shardkit::report
