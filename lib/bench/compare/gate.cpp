#include "bench/compare/gate.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/results/result_file.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/metric_text.hpp"
#include "core/units.hpp"
#include "stats/comparison.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

/// Fewer cannot give an interval of 95 % (stats/summary.hpp).
constexpr std::size_t kLeastForInterval = 6;

/// One requirement of a file, for messages.
class GateReader {
 public:
  explicit GateReader(const std::string& path) : path_(path) {}

  GateRequirement read(const Json& json, std::size_t index) {
    where_ = fmt::format("requirement {}", index + 1);
    if (!json.is_object()) reject("expected an object");
    GateRequirement requirement;
    for (const auto& [name, value] : json.items()) {
      if (name == "metric") {
        requirement.metric = text(value, name);
      } else if (name == "cache") {
        requirement.cache = states(value, name);
      } else if (name == "min") {
        requirement.min = limit(value, name);
      } else if (name == "max") {
        requirement.max = limit(value, name);
      } else {
        reject(fmt::format("unknown member '{}'; expected metric, min, max or cache", name));
      }
    }
    if (requirement.metric.empty()) reject("a metric is missing");
    compare_metric(requirement.metric, fmt::format("gate '{}', {}", path_, where_), path_);
    check(requirement);
    return requirement;
  }

  [[noreturn]] void reject(const std::string& what) const {
    throw Error(ErrorCode::usage, At{path_}, "gate '{}', {}: {}", path_, where_, what);
  }

 private:
  /// That something could meet it.
  void check(const GateRequirement& requirement) const {
    if (!requirement.min && !requirement.max) reject("expected min, max or both");
    if (requirement.min && requirement.max && *requirement.min > *requirement.max) reject("min is more than max");
    for (const std::string& state : requirement.cache) {
      if (std::ranges::find(kGateCacheStates, state) != kGateCacheStates.end()) continue;
      reject(fmt::format("unknown cache state '{}'; expected some of {}", state, fmt::join(kGateCacheStates, ", ")));
    }
  }

  /// A state, or a list of them; an empty text accepts any.
  std::vector<std::string> states(const Json& value, const std::string& name) const {
    std::vector<std::string> states;
    for (const Json& state : value.is_array() ? value : Json::array({value})) states.push_back(text(state, name));
    std::erase(states, "");
    return states;
  }

  std::string text(const Json& value, const std::string& name) const {
    if (!value.is_string()) reject(fmt::format("'{}' is not a string", name));
    return value.get<std::string>();
  }

  double limit(const Json& value, const std::string& name) const {
    if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
    if (value.is_string()) {
      if (const auto parsed = parse_rate(value.get<std::string>())) return static_cast<double>(*parsed);
    }
    reject(fmt::format("'{}' is {}; expected a number of at least 0, or a size such as \"1.5GB/s\"", name,
                       json_text(value)));
  }

  const std::string& path_;
  std::string where_ = "the file";
};

/// The state of the cache in which a stage was measured; empty if unknown.
std::string cache_state_of(const GateRequirement& requirement, const Measurements& measured) {
  const std::string stage = requirement.metric.substr(0, requirement.metric.find('.'));
  for (const std::string& key : {stage + ".cache.state", std::string("read.cache.state")}) {
    const auto found = measured.conditions.find(key);
    if (found != measured.conditions.end()) return found->second;
  }
  return {};
}

/// Whether runs of which so many are disturbed can miss a requirement: those are left out then.
bool can_miss(const Measurements& measured) {
  return 2 * std::ranges::count(measured.runs, "", &MeasuredRun::disturbed) >= std::ssize(measured.runs);
}

/// The median and the interval that decides: that of the runs, or of the repetitions of fewer runs and the drift that
/// no repetition shows.
stats::Summary deciding(const Measurements& measured, const stats::Runs& runs) {
  std::vector<double> medians;
  std::vector<double> values;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].empty() || (can_miss(measured) && !measured.runs[i].disturbed.empty())) continue;
    medians.push_back(stats::summarize(runs[i]).median);
    values.insert(values.end(), runs[i].begin(), runs[i].end());
  }
  if (medians.size() >= kLeastForInterval) return stats::summarize(medians);
  stats::Summary all = stats::summarize(values);
  if (values.size() < kLeastForInterval) all.low = all.high = all.median;
  const double drift = stats::kDriftBetweenRuns * all.median;
  return {all.median, std::min(all.low, all.median - drift), std::max(all.high, all.median + drift)};
}

/// Whether a result that lacks the metric has another of its stage. The times of a checkpoint that --budget ended are
/// left out on purpose.
bool measured_stage_of(const ComparedField& metric, const Measurements& measured) {
  if (metric.verb == "checkpoint" && metric.unit == Unit::seconds) return false;
  return std::ranges::any_of(
      measured.values, [&](const auto& other) { return compare_metric(other.first, "gate").verb == metric.verb; });
}

GateVerdict verdict_on(const GateRequirement& requirement, const stats::Summary& summary) {
  const bool low_fails = requirement.min && summary.low < *requirement.min;
  const bool high_fails = requirement.max && summary.high > *requirement.max;
  if (!low_fails && !high_fails) return GateVerdict::met;
  const bool all_below = requirement.min && summary.high < *requirement.min;
  const bool all_above = requirement.max && summary.low > *requirement.max;
  return all_below || all_above ? GateVerdict::missed : GateVerdict::inconclusive;
}

std::string limits_text(const GateRequirement& requirement, Unit unit) {
  std::string text;
  if (requirement.min) text += "at least " + metric_text(*requirement.min, unit);
  if (requirement.max) text += (text.empty() ? "at most " : ", at most ") + metric_text(*requirement.max, unit);
  return text;
}

GateRow check(const GateRequirement& requirement, const Measurements& measured) {
  const ComparedField& metric = compare_metric(requirement.metric, "gate");
  const Unit unit = metric.unit;
  GateRow row{requirement, fmt::format("{}", fmt::join(requirement.cache, " or ")), {}, GateVerdict::absent, {}};
  const std::string limits = limits_text(requirement, unit);
  const auto found = measured.values.find(requirement.metric);
  if (found == measured.values.end()) {
    if (measured_stage_of(metric, measured)) row.verdict = GateVerdict::missed;
    row.text = fmt::format("required {}, but this result of {} does not measure it", limits, measured.verb);
    return row;
  }
  const std::string state = cache_state_of(requirement, measured);
  if (!row.accepted.empty() && std::ranges::find(requirement.cache, state) == requirement.cache.end()) {
    row.text = fmt::format("required {} {}, but it was measured {}", limits, row.accepted,
                           state.empty() ? "with an unknown cache state" : state);
    return row;
  }
  const stats::Summary summary = deciding(measured, found->second);
  row.measured = summary.median;
  row.verdict = verdict_on(requirement, summary);
  row.text = fmt::format("required {}{}{}, measured {}", limits, row.accepted.empty() ? "" : " ", row.accepted,
                         metric_text(summary.median, unit));
  if (summary.low < summary.high) {
    row.text += fmt::format(" ({} to {})", metric_text(summary.low, unit), metric_text(summary.high, unit));
  }
  if (row.verdict == GateVerdict::missed && !can_miss(measured)) {
    row.verdict = GateVerdict::inconclusive;
    row.text +=
        "; " + std::ranges::find_if(measured.runs, [](const auto& run) { return !run.disturbed.empty(); })->disturbed;
  }
  return row;
}

}  // namespace

void GateRow::describe(FieldList& v) {
  v.field({"metric", "requirement"}, metric);
  v.field({"cache", "accepted page cache states; empty: any"}, accepted);
  v.field({"min", "minimum, in the metric's unit"}, min);
  v.field({"max", "maximum, in the metric's unit"}, max);
  v.field({"measured", "measured median"}, measured);
  v.field({"verdict", "whether the requirement is met"}, verdict);
  v.field({"text", "the outcome in words"}, text);
}

std::vector<GateRequirement> read_gate(const std::string& path) {
  const Json json = read_own_json(path, "a gate, such as samples/ci/gate.json");
  GateReader reader(path);
  if (verb_of(json) != "gate") reader.reject("its schema is not shardkit/gate");
  if (json.value("schema_version", Json()) != 1) reader.reject("its schema_version is not 1");
  const auto list = json.find("requirements");
  if (list == json.end() || !list->is_array()) reader.reject("expected a list \"requirements\"");
  if (list->empty()) reader.reject("expected at least one requirement in \"requirements\"");
  std::vector<GateRequirement> requirements;
  for (std::size_t i = 0; i < list->size(); ++i) requirements.push_back(reader.read((*list)[i], i));
  return requirements;
}

std::vector<GateRow> check_gate(const std::vector<GateRequirement>& requirements, const Measurements& measured) {
  std::vector<GateRow> rows;
  for (const GateRequirement& requirement : requirements) rows.push_back(check(requirement, measured));
  return rows;
}

}  // namespace shardkit::bench
