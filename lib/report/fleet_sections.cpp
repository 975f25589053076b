#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/remedies.hpp"
#include "report/section_tools.hpp"

/// Sections of results about several results: the history of a node, and many nodes.
namespace shardkit::report {
namespace {

std::string words_of(const Json& metric) { return metric_words(text_at(metric, "metric").value_or("")); }

Unit unit_of(const Json& metric) { return unit_of_metric(text_at(metric, "metric").value_or("")); }

/// Runs over time, disturbed runs apart; each value as `value_of` shows it.
std::vector<Curve> runs_of(const Json& metric, const std::function<double(double)>& value_of) {
  std::vector<Curve> curves{{"runs", {}, Color::first, true}, {"disturbed runs", {}, Color::unclear, true, false}};
  for (const Json& point : list_at(metric, "points")) {
    const Json* disturbed = member(point, "disturbed");
    const bool apart = disturbed != nullptr && disturbed->is_boolean() && disturbed->get<bool>();
    curves[apart ? 1 : 0].points.push_back(
        {number_at(point, "unix_time_seconds").value_or(0), value_of(number_at(point, "value").value_or(0))});
  }
  if (curves[1].points.empty()) curves.pop_back();
  return curves;
}

/// The noise of each period, and a mark at each change.
void add_periods(const Json& metric, const std::function<double(double)>& value_of, Axes& axes) {
  for (const Json& band : list_at(metric, "bands")) {
    axes.bands.push_back({number_at(band, "from_seconds").value_or(0), number_at(band, "to_seconds").value_or(0),
                          value_of(number_at(band, "low").value_or(0)), value_of(number_at(band, "high").value_or(0))});
  }
  for (const Json& change : list_at(metric, "changes")) {
    const auto ratio = number_at(change, "change_ratio");
    axes.marks.push_back(
        {number_at(change, "unix_time_seconds").value_or(0), ratio ? percent_text(*ratio) : "changed"});
  }
}

/// An axis of days, or of times where all runs are of one day.
Axes axes_over_time(const Json& metric) {
  const Json& points = list_at(metric, "points");
  const auto day_of = [](const Json& point) { return format_day(number_at(point, "unix_time_seconds").value_or(0)); };
  if (points.empty() || day_of(points.front()) != day_of(points.back())) return {.x_text = format_day};
  return {.x_text = clock_text, .x_name = day_of(points.front()) + ", UTC"};
}

std::string metric_chart(const Json& metric) {
  const auto as_it_is = [](double value) { return value; };
  Axes axes = axes_over_time(metric);
  axes.y_text = axis_text(unit_of(metric));
  add_periods(metric, as_it_is, axes);
  return line_chart(words_of(metric) + " over time", runs_of(metric, as_it_is), axes);
}

/// In percent of the median of the last period, with the threshold of change points.
std::string zoomed_metric_chart(const Json& metric) {
  constexpr double kThreshold = 0.05;  // of `iobench compare`
  constexpr double kLeastSpread = 4 * kThreshold;
  const Json& bands = list_at(metric, "bands");
  const double median = bands.empty() ? 0 : number_at(bands.back(), "median").value_or(0);
  if (median <= 0) return {};
  const auto change = [&](double value) { return value / median - 1; };
  Axes axes = axes_over_time(metric);
  axes.y_text = percent_text;
  axes.zoom = kLeastSpread;
  axes.levels = {-kThreshold, kThreshold};
  add_periods(metric, change, axes);
  return line_chart(words_of(metric) + " in percent", runs_of(metric, change), axes);
}

std::optional<Section> changes(const Source& source) {
  const Json& metrics = list_at(source.result, "metrics");
  Section section{.heading = "Change points"};
  section.table.columns = {"metric", "verdict", "change", "first run", "what changed in the environment"};
  for (const Json& metric : metrics) {
    for (const Json& change : list_at(metric, "changes")) {
      const auto ratio = number_at(change, "change_ratio");
      section.table.rows.push_back({text_at(metric, "metric").value_or(""), text_at(change, "verdict").value_or(""),
                                    ratio ? percent(*ratio, true) : "",
                                    format_day(number_at(change, "unix_time_seconds").value_or(0)),
                                    shown(member(change, "environment"), Unit::none)});
    }
  }
  if (metrics.empty()) return std::nullopt;
  section.table = without_empty_columns(section.table);
  section.paragraphs.push_back(
      section.table.rows.empty()
          ? "None. A change needs 9 runs on each side, and runs that depend on each other show only larger ones."
          : "Runs at which a metric regressed or improved by the rule of iobench compare. A change needs 9 runs on "
            "each side.");
  return section;
}

/// A section for each metric would be a long list of contents: one for all.
std::optional<Section> metrics_over_time(const Source& source) {
  const Json& metrics = list_at(source.result, "metrics");
  Section section{.heading = "Metrics over time"};
  section.paragraphs.push_back(
      "A dot is a run. The band is where 95 % of new runs are expected. A dashed line is a change point. The second "
      "plot of each metric is zoomed: in percent of the median of the last period, with dotted lines at 5 %, the "
      "threshold.");
  section.table.columns = {"metric", "UTC", "value", "disturbed", "file"};
  for (const Json& metric : metrics) {
    const std::string changed = text_at(metric, "now.text").value_or("");
    const Json* now = member(metric, "now.value");
    section.figures.emplace_back(
        metric_chart(metric),
        fmt::format("{}, {}", words_of(metric), changed.empty() ? shown(now, unit_of(metric)) + " now" : changed));
    section.figures.emplace_back(zoomed_metric_chart(metric), "the same, zoomed");
    for (const Json& point : list_at(metric, "points")) {
      const double time = number_at(point, "unix_time_seconds").value_or(0);
      section.table.rows.push_back({text_at(metric, "metric").value_or(""), format_day(time) + ' ' + clock_text(time),
                                    shown(member(point, "value"), unit_of(metric)),
                                    shown(member(point, "disturbed"), Unit::none),
                                    text_at(point, "file").value_or("")});
    }
  }
  section.table = without_empty_columns(section.table);
  return section.figures.empty() ? std::nullopt : std::optional(section);
}

bool is_true(const Json& object, std::string_view path) {
  const Json* value = member(object, path);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

/// The end that all names have in common, from a dot on: ".cluster.example". Empty for fewer than two names.
std::string common_domain(const Json& nodes) {
  std::optional<std::string> end;
  for (const Json& node : nodes) {
    const std::string name = text_at(node, "name").value_or("");
    if (!end) end = name;
    const auto [mine, its] = std::mismatch(name.rbegin(), name.rend(), end->rbegin(), end->rend());
    end = std::string(its.base(), end->end());
  }
  const std::size_t dot = end && nodes.size() > 1 ? end->find('.') : std::string::npos;
  return dot == std::string::npos ? "" : end->substr(dot);
}

std::string short_name(const Json& node, const std::string& domain) {
  std::string name = text_at(node, "name").value_or("");
  name.resize(name.size() - std::min(domain.size(), name.size()));
  return name;
}

/// The names of the rates that any node has.
std::set<std::string> metrics_of(const Json& nodes) {
  std::set<std::string> metrics;
  for (const Json& node : nodes) {
    for (const Json& rate : list_at(node, "rates")) metrics.insert(text_at(rate, "metric").value_or(""));
  }
  return metrics;
}

/// "1.20 GB/s, 95 %"
std::string rate_of(const Json& rate, const std::string& metric) {
  const std::string value = shown(member(rate, "value"), unit_of_metric(metric));
  return fmt::format("{}{}{:.0f} %", value, value.empty() ? "" : ", ",
                     number_at(rate, "of_median_ratio").value_or(0) * 100);
}

/// The rate of a node in a metric; null without one.
const Json* rate_in(const Json& node, const std::string& metric) {
  const Json& rates = list_at(node, "rates");
  const auto found = std::ranges::find_if(rates, [&](const Json& rate) { return text_at(rate, "metric") == metric; });
  return found == rates.end() ? nullptr : &*found;
}

Cell cell_of(const Json& node, const std::string& metric, const std::string& domain) {
  const std::string name = text_at(node, "name").value_or("");
  const std::string short_one = short_name(node, domain);
  const Json* rate = rate_in(node, metric);
  if (rate == nullptr) return {name + ": " + text_at(node, "state").value_or("no result"), {}, false, short_one};
  return {fmt::format("{}: {} of the median", name, rate_of(*rate, metric)),
          number_at(*rate, "of_median_ratio").value_or(0), is_true(*rate, "straggler"), short_one};
}

/// Nodes by group and name, a map for each of their rates.
std::optional<Section> fleet_map(const Source& source) {
  constexpr std::size_t kMostRows = 64;  // groups that get a line of their own
  const Json& nodes = list_at(source.result, "nodes");
  const std::set<std::string> metrics = metrics_of(nodes);
  if (metrics.empty()) return std::nullopt;
  std::map<std::string, std::map<std::string, const Json*>> groups;
  for (const Json& node : nodes) {
    groups[text_at(node, "group").value_or("")][text_at(node, "name").value_or("")] = &node;
  }
  const std::string domain = common_domain(nodes);
  Section section{.heading = "Nodes by stage"};
  section.paragraphs.push_back(
      "A square is a node, in order of groups and names. Pale green is the median of its group or better, red is less "
      "than 60 % of it, a hollow one was not judged. A frame marks a slow node.");
  for (const std::string& metric : metrics) {
    std::vector<CellRow> rows;
    for (const auto& [group, by_name] : groups) {
      if (rows.empty() || groups.size() <= kMostRows) {
        rows.push_back({group.empty() ? "no group" : group.substr(group.find('=') + 1), {}});
      }
      for (const auto& [name, node] : by_name) rows.back().cells.push_back(cell_of(*node, metric, domain));
    }
    section.figures.emplace_back(heat_map(metric_words(metric) + " of each node", rows), metric_words(metric));
  }
  return section;
}

/// Without defaults: the share of a node that was not judged, and a gate that was not missed.
Json without_defaults(const Json& nodes) {
  Json rows = nodes;
  for (Json& row : rows) {
    if (list_at(row, "rates").empty() && row.is_object()) row.erase("slowest_ratio");
    if (!is_true(row, "gate_missed") && row.is_object()) row.erase("gate_missed");
  }
  return rows;
}

std::optional<Section> fleet_list(const Source& source) {
  constexpr std::size_t kMostBars = 30;
  constexpr std::size_t kEnough = 10;  // for those that are not slow
  const Json& rows = list_at(source.result, "nodes");
  const std::string domain = common_domain(rows);
  std::vector<Bar> bars;
  std::vector<std::string> gains;
  for (const Json& row : rows) {
    const auto share = number_at(row, "slowest_ratio");
    const bool slow = is_true(row, "straggler") || is_true(row, "gate_missed");
    const bool suspect = text_at(row, "state") == "suspect";
    if (!share || list_at(row, "rates").empty() || bars.size() == (slow || suspect ? kMostBars : kEnough)) continue;
    const std::string metric = text_at(row, "slowest_metric").value_or("");
    const Json* rate = rate_in(row, metric);
    const auto value = rate == nullptr ? std::nullopt : number_at(*rate, "value");
    if ((slow || suspect) && value && *share > 0) {
      gains.push_back(fmt::format("{} +{} ({})", short_name(row, domain),
                                  shown(*value / *share - *value, unit_of_metric(metric)), metric_words(metric)));
    }
    bars.push_back(
        {short_name(row, domain),
         fmt::format("{}, {}", rate == nullptr ? percent(*share, false) : rate_of(*rate, metric), metric_words(metric)),
         *share,
         {},
         {},
         1.0,
         slow      ? Color::bad
         : suspect ? Color::unclear
                   : Color::first});
  }
  if (bars.empty()) return std::nullopt;
  Section section{.heading = "Slowest nodes", .figures = {bar_chart("Lowest rate of each node", bars)}};
  section.paragraphs.push_back("In percent of the median of its group, which is the dashed line. Red is slow.");
  if (rows.size() > bars.size()) {
    section.paragraphs.back() +=
        fmt::format(" The {} slowest of {}; the table has all.", bars.size(), format_count(rows.size(), "node"));
  }
  if (!gains.empty())
    section.paragraphs.push_back(fmt::format("Repaired to the median, they add: {}.", fmt::join(gains, ", ")));
  section.table = table_of(without_defaults(rows), {{"node", "name"},
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
  std::vector<std::string> names;
  for (const Json& name : list_at(source.result, "exclude"))
    if (name.is_string()) names.push_back(name.get<std::string>());
  if (names.empty()) return std::nullopt;
  return Section{.heading = "Take these nodes out of service",
                 .code = fmt::format("{}", fmt::join(remedy::exclude_nodes(names), "\n"))};
}

std::optional<Section> unused_results(const Source& source) {
  Section section{.heading = "Results left out"};
  section.table = table_of(list_at(source.result, "left_out"), {{"file", "file"}, {"reason", "reason"}});
  return section.table.rows.empty() ? std::nullopt : std::optional(section);
}

constexpr std::array kSections = std::to_array<SectionOf>(
    {fleet_map, fleet_list, fleet_sums, fleet_exclude, changes, metrics_over_time, unused_results});

}  // namespace

std::span<const SectionOf> fleet_sections() { return kSections; }

}  // namespace shardkit::report
