#include "bench/report/history.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/compare/measurements.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "core/metric_text.hpp"
#include "stats/summary.hpp"
#include "system/clock.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

/// What an administrator changes, and what is not a condition of a comparison.
constexpr std::array<std::string_view, 6> kEnvironment{"host.os",
                                                       "host.kernel",
                                                       "tool.version",
                                                       "result.environment.gpu_driver",
                                                       "result.environment.storage.mount_options",
                                                       "result.environment.storage.read_ahead_bytes"};

std::map<std::string, std::string> environment_of(const Json& envelope) {
  std::map<std::string, std::string> facts;
  for (const std::string_view path : kEnvironment) {
    const Json* value = member(envelope, path);
    if (value == nullptr || value->is_null()) continue;
    const std::string name(path.substr(path.starts_with("result.") ? std::string_view("result.").size() : 0));
    facts[name] = value->is_string() ? value->get<std::string>() : json_text(*value);
  }
  return facts;
}

std::vector<std::string> changed_facts(const std::map<std::string, std::string>& before,
                                       const std::map<std::string, std::string>& after) {
  std::vector<std::string> changed;
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    if (old != before.end() && old->second != value) {
      changed.push_back(fmt::format("{}: {} -> {}", name, old->second, value));
    }
  }
  return changed;
}

/// The band of the runs from `from` to before `to`.
NoiseBand band_of(const std::vector<HistoryPoint>& points, std::size_t from, std::size_t to) {
  std::vector<double> values;
  for (std::size_t i = from; i < to; ++i) values.push_back(points[i].value);
  const double median = stats::summarize(values).median;
  const auto next = stats::prediction_interval(values);
  return {points[from].unix_time, points[to - 1].unix_time, median, next ? next->low : median,
          next ? next->high : median};
}

/// The first metric for which `is_so`, or null.
template <class Test>
const MetricHistory* first_metric(const History& history, const Test& is_so) {
  const auto found = std::ranges::find_if(history.metrics, is_so);
  return found == history.metrics.end() ? nullptr : &*found;
}

/// The newest run first: what is wrong now is why people look.
std::string text_of(const History& history) {
  const std::string runs = fmt::format("{} of {}", format_count(history.runs, "run"), history.node);
  const auto is_worse = [](const MetricHistory& one) { return one.now.verdict == stats::ChangeVerdict::regressed; };
  std::string text;
  if (const MetricHistory* const worse = first_metric(history, is_worse)) {
    text = fmt::format("; {} {}", worse->metric, worse->now.text);
  }
  std::size_t changes = 0;
  for (const MetricHistory& metric : history.metrics) changes += metric.changes.size();
  if (const auto* changed = first_metric(history, [](const auto& one) { return !one.changes.empty(); })) {
    text += fmt::format("; {} {}{}", changed->metric, changed->changes.back().text,
                        changes > 1 ? fmt::format(", and {}", format_count(changes - 1, "other change")) : "");
  } else if (history.runs < 2 * stats::kRunsBesideChange) {
    text += fmt::format("; too few for change points, which need {}", 2 * stats::kRunsBesideChange);
  } else {
    text += text.empty() ? "; none regressed" : "; no earlier change points";
  }
  return runs + ":" + text.substr(1);
}

struct Run {
  double unix_time = 0;
  std::string file;
  std::string node;
  std::map<std::string, std::string> environment;
  Measurements measured;
};

Run read_run(const std::string& file, const Json& envelope) {
  const auto started = system::parse_iso8601(text_at(envelope, "started_at").value_or(""));
  if (!started) throw Error(ErrorCode::usage, At{file}, "'{}' has no date in started_at", file);
  Run run;
  run.unix_time = system::unix_seconds(*started);
  run.file = file;
  run.node = node_of(envelope);
  run.environment = environment_of(envelope);
  add_run(file, envelope, run.measured);
  settle(run.measured);
  return run;
}

HistoryNow now_of(const ComparedField& metric, std::span<const double> values, std::size_t metrics) {
  HistoryNow now;
  if (values.empty()) return now;
  static_cast<stats::NewestRun&>(now) =
      stats::judge_newest(values, metric.comparison.better, metrics, 0.05, metric.comparison.floor);
  now.value = values.back();
  if (now.verdict != stats::ChangeVerdict::regressed && now.verdict != stats::ChangeVerdict::improved) return now;
  now.text = fmt::format("{} now, {:.0f} % {} the runs before{}", metric_text(now.value, metric.unit),
                         std::abs(now.ratio) * 100, now.ratio < 0 ? "below" : "above",
                         now.runs > 1 ? fmt::format(" (the last {} runs)", now.runs) : "");
  return now;
}

MetricHistory metric_history(const ComparedField& metric, std::size_t metrics, const std::vector<const Run*>& runs) {
  MetricHistory history;
  history.metric = metric.name();
  history.unit = unit_suffix(metric.unit);
  if (history.unit.starts_with('_')) history.unit.erase(0, 1);
  std::vector<double> judged;
  std::vector<HistoryPoint> calm;    // of the values in `judged`
  std::vector<const Run*> measured;  // the same
  for (const Run* run : runs) {
    const std::optional<double> value = run->measured.median(metric.name());
    if (!value) continue;
    const bool disturbed = !run->measured.runs.front().disturbed.empty();
    history.points.push_back({run->unix_time, *value, disturbed, run->file});
    if (disturbed) continue;
    judged.push_back(*value);
    calm.push_back(history.points.back());
    measured.push_back(run);
  }
  std::size_t from = 0;
  const stats::ChangePoints changes =
      stats::change_points(judged, metric.comparison.better, 0.05, metric.comparison.floor);
  for (const stats::ChangePoint& point : changes.points) {
    const std::size_t before = point.index - std::min<std::size_t>(point.index, 2);
    const std::size_t after = std::min(point.index + 1, measured.size() - 1);
    HistoryChange change;
    change.unix_time = calm[point.index].unix_time;
    change.change = point.change;
    change.environment = changed_facts(measured[before]->environment, measured[after]->environment);
    change.text = fmt::format("{} by {:.1f} % on {}", enum_name(point.change.verdict),
                              std::abs(point.change.ratio.value_or(0)) * 100, format_day(change.unix_time));
    if (!change.environment.empty()) change.text += fmt::format(" ({})", fmt::join(change.environment, "; "));
    history.changes.push_back(std::move(change));
    history.bands.push_back(band_of(calm, from, point.index));
    from = point.index;
  }
  if (changes.trend) {
    HistoryChange& change = history.changes.emplace_back();
    change.unix_time = calm.back().unix_time;
    change.change = *changes.trend;
    change.text = fmt::format("{} by {:.1f} % in a trend over {}", enum_name(change.change.verdict),
                              std::abs(*change.change.ratio) * 100, format_count(judged.size(), "run"));
  }
  if (from < calm.size()) history.bands.push_back(band_of(calm, from, calm.size()));
  history.now = now_of(metric, std::span(judged).subspan(from), metrics);
  return history;
}

History history_from(std::vector<Run> all, std::vector<LeftOut> left_out) {
  if (all.empty()) {
    throw usage_error("no result can be used: {}", left_out.empty() ? "none was given" : left_out.front().reason);
  }
  std::ranges::stable_sort(all, {}, &Run::unix_time);
  const Run& newest = all.back();
  History history;
  history.node = newest.node;
  history.verb = newest.measured.verb;
  history.left_out = std::move(left_out);
  std::vector<const Run*> runs;
  for (const Run& run : all) {
    const auto different = differences(run.measured.conditions, newest.measured.conditions, {});
    std::string reason;
    if (run.node != newest.node) reason = fmt::format("of another node, not '{}'", newest.node);
    if (reason.empty() && !different.empty() && different.front().decisive) {
      reason = fmt::format("not comparable with the newest result: {} is '{}', not '{}'", different.front().key,
                           different.front().base, different.front().changed);
    }
    if (reason.empty()) {
      runs.push_back(&run);
    } else {
      history.left_out.push_back({run.file, reason});
    }
  }
  history.runs = runs.size();
  std::vector<const ComparedField*> measured;
  for (const ComparedField& metric : compare_metrics()) {
    const auto has_value = [&](const Run* run) { return run->measured.median(metric.name()).has_value(); };
    if (!metric.comparison.derived && std::ranges::any_of(runs, has_value)) measured.push_back(&metric);
  }
  for (const ComparedField* metric : measured) {
    history.metrics.push_back(metric_history(*metric, measured.size(), runs));
  }
  history.text = text_of(history);
  return history;
}

}  // namespace

History read_history(std::span<const std::string> paths, Context& context, Json& newest) {
  std::vector<Run> runs;
  auto left_out = for_each_result(paths, context, [&](const std::string& file, const Json& envelope) {
    runs.push_back(read_run(file, envelope));
    if (text_at(envelope, "started_at") >= text_at(newest, "started_at")) newest = envelope;
  });
  return history_from(std::move(runs), std::move(left_out));
}

void HistoryPoint::describe(FieldList& v) {
  v.field({"unix_time", Unit::seconds, "start of the run"}, unix_time);
  v.field({"value", "median of the run, in the metric's unit"}, value);
  v.field({"disturbed", "true if the run is shown, but not judged"}, disturbed);
  v.field({"file", "result"}, file);
}

void NoiseBand::describe(FieldList& v) {
  v.field({"from", Unit::seconds, "first run of the period, as Unix time"}, from);
  v.field({"to", Unit::seconds, "last run of the period"}, to);
  v.field({"median", "median of the period"}, median);
  v.field({"low", "lower end of the range of 95 % of new runs"}, low);
  v.field({"high", "upper end"}, high);
}

void HistoryChange::describe(FieldList& v) {
  v.field({"unix_time", Unit::seconds, "first run after the change"}, unix_time);
  v.field({"change_ratio", Unit::ratio, "relative change"}, change.ratio);
  v.field({"interval", "interval of the change"}, change.interval);
  v.field({"verdict", "regressed or improved"}, change.verdict);
  v.field({"environment", "what changed in the environment at that time"}, environment);
  v.field({"text", "the change in a line"}, text);
}

void HistoryNow::describe(FieldList& v) {
  v.field({"value", "newest undisturbed run, in the metric's unit"}, value);
  v.field({"verdict", "pass, regressed or improved against the runs before; inconclusive: too few"}, verdict);
  v.field({"change_ratio", Unit::ratio, "change from their median"}, ratio);
  v.field({"runs", Unit::count, "how many of the newest runs in a row have this verdict"}, runs);
  v.field({"text", "the change in words"}, text);
}

void MetricHistory::describe(FieldList& v) {
  v.field({"metric", "name of the metric"}, metric);
  v.field({"unit", "unit of its values"}, unit);
  v.field({"now", "the newest run"}, now);
  v.field({"points", "one for each run"}, points);
  v.field({"bands", "noise of each period between changes"}, bands);
  v.field({"changes", "points at which it regressed or improved"}, changes);
}

void History::describe(FieldList& v) {
  v.field({"text", "the history in a line"}, text);
  v.field({"node", "node of all runs"}, node);
  v.field({"verb", "what was measured"}, verb);
  v.field({"runs", Unit::count, "runs in the history"}, runs);
  v.field({"metrics", "each metric over time"}, metrics);
  v.field({"left_out", "results that are not part of it"}, left_out);
}

}  // namespace shardkit::bench
