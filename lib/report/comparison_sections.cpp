#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json_fields.hpp"
#include "report/section_tools.hpp"

/// Sections of comparisons: changes of metrics, and both sides on one axis.
namespace shardkit::report {
namespace {

Color verdict_color(const Json& row) {
  const std::string verdict = text_at(row, "verdict").value_or("");
  if (verdict == "regressed" || verdict == "incomparable") return Color::bad;
  if (verdict == "improved") return Color::good;
  return verdict == "pass" ? Color::first : Color::unclear;
}

/// "2.97 GB/s to 2.55 GB/s"
std::string medians_text(const Json& row) {
  const Unit unit = unit_of_metric(text_at(row, "metric").value_or(""));
  const std::string base = shown(member(row, "base"), unit);
  return base.empty() ? base : fmt::format("{} to {}", base, shown(member(row, "new"), unit));
}

/// The single runs of a metric, as changes from the median of BASE.
void add_runs(const Source& source, const std::string& metric, double base, Range& range) {
  const auto runs = std::ranges::find(source.beside.runs, metric, &MetricRuns::metric);
  if (runs == source.beside.runs.end() || base <= 0) return;
  for (const double value : runs->base) range.before.push_back(value / base - 1);
  for (const double value : runs->changed) range.after.push_back(value / base - 1);
}

std::optional<Section> compared_rows(const Source& source) {
  const Json& rows = list_at(source.result, "rows");
  std::vector<Range> ranges;
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    const auto change = number_at(row, "change_ratio");
    const std::string metric = text_at(row, "metric").value_or("");
    if (!change || metric.empty()) continue;
    const double base = number_at(row, "base").value_or(0);
    const std::string verdict = text_at(row, "verdict").value_or("");
    ranges.push_back({metric_words(metric), fmt::format("{}, {}", verdict, percent(*change, true)), *change,
                      number_at(row, "interval.low_ratio"), number_at(row, "interval.high_ratio"), verdict_color(row),
                      number_at(row, "threshold_ratio")});
    add_runs(source, metric, base, ranges.back());
    const auto changed = number_at(row, "new");
    if (changed && base > 0) {
      bars.push_back({metric_words(metric), medians_text(row), *changed / base, {}, {}, 1.0, verdict_color(row)});
    }
  }
  if (ranges.empty()) return std::nullopt;
  Section section{.heading = "Changes by metric"};
  section.paragraphs.emplace_back(
      "Relative change from BASE to NEW with its interval. A metric regressed if its whole interval is beyond the "
      "threshold on the bad side.");
  const std::string dots = source.beside.runs.empty() ? "" : " A dot is a run: above of BASE, below of NEW.";
  section.figures.emplace_back(range_chart(section.heading, ranges),
                               "Zoomed: the dashed line is BASE, dotted ones are thresholds." + dots);
  section.figures.emplace_back(bar_chart("Medians of NEW and BASE", bars, true),
                               "From zero: the bar is the median of NEW in percent of BASE, which is the dashed line.");
  section.table = table_of(rows, {{"metric", "metric"},
                                  {"verdict", "verdict"},
                                  {"change", "change_ratio", Unit::ratio},
                                  {"threshold", "threshold_ratio", Unit::ratio},
                                  {"result", "text"}});
  return section;
}

/// The stages of both results, in the order of the first one.
std::vector<std::string> common_stages(const Json& base, const Json& changed) {
  std::vector<std::string> names = stages_of(base);
  const std::vector<std::string> others = stages_of(changed);
  std::erase_if(names, [&](const std::string& name) { return std::ranges::find(others, name) == others.end(); });
  return names;
}

std::vector<Curve> both(std::vector<Point> base, std::vector<Point> changed) {
  return {{"BASE", std::move(base), Color::unclear, true}, {"NEW", std::move(changed), Color::first, true}};
}

/// Each stage of both runs on one axis, from its own first second.
std::optional<Section> overlaid(const Source& source) {
  if (source.beside.base == nullptr || source.beside.changed == nullptr) return std::nullopt;
  const Json& base = list_at(*source.beside.base, "result.seconds");
  const Json& changed = list_at(*source.beside.changed, "result.seconds");
  Section section{.heading = "Both runs over time"};
  for (const std::string& stage : common_stages(base, changed)) {
    const bool has_bytes = !rates_over_time(base, stage, "bytes").empty();
    const char* amount = has_bytes ? "bytes" : "samples";
    std::vector<Curve> curves = both(rates_over_time(base, stage, amount), rates_over_time(changed, stage, amount));
    for (Curve& curve : curves) {
      const double start = curve.points.empty() ? 0 : curve.points.front().x;
      for (Point& point : curve.points) point.x -= start;
    }
    const Axes axes{.x_text = elapsed_text,
                    .y_text = has_bytes ? bytes_rate_text : rate_text,
                    .x_name = "time since its first second"};
    section.figures.emplace_back(line_chart(stage + " of both runs", curves, axes), stage);
  }
  const auto drawn = [](const Figure& figure) { return !figure.svg.empty(); };
  return std::ranges::any_of(section.figures, drawn) ? std::optional(section) : std::nullopt;
}

std::vector<Point> latency_shares(const Json& envelope) {
  const Json* read = member(envelope, "result.read");
  const Json& steps =
      list_at(read != nullptr ? *read : envelope, read != nullptr ? "latency_histogram" : "result.latency_histogram");
  double all = 0;
  for (const Json& step : steps) all += number_at(step, "count").value_or(0);
  std::vector<Point> points;
  for (const Json& step : steps) {
    points.push_back(
        {number_at(step, "to_seconds").value_or(0), number_at(step, "count").value_or(0) / std::max(all, 1.0)});
  }
  return points;
}

std::string share_text(double value) { return fmt::format("{:.0f} %", value * 100); }

std::optional<Section> overlaid_latency(const Source& source) {
  if (source.beside.base == nullptr || source.beside.changed == nullptr) return std::nullopt;
  const std::vector<Curve> curves = both(latency_shares(*source.beside.base), latency_shares(*source.beside.changed));
  const Axes axes{.x_text = seconds_text,
                  .y_text = share_text,
                  .x_name = "latency of a read",
                  .logarithmic_x = true,
                  .ticks_at_points = true};
  std::string figure = line_chart("Reads of both runs by latency", curves, axes);
  if (figure.empty() || curves[0].points.empty() || curves[1].points.empty()) return std::nullopt;
  return Section{.heading = "Latency of both runs",
                 .paragraphs = {"Share of the reads in each step of the histogram. A step ends at twice its start."},
                 .figures = {std::move(figure)}};
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

}  // namespace

std::span<const SectionOf> comparison_sections() {
  static constexpr auto sections =
      std::to_array<SectionOf>({compared_rows, overlaid, overlaid_latency, gate, differences});
  return sections;
}

}  // namespace shardkit::report
