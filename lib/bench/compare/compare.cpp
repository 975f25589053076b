#include "bench/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"
#include "core/error.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {
namespace {

/// A metric that both sides measured.
struct Pair {
  const ComparedField* metric;
  std::span<const double> base;
  std::span<const double> changed;
  bool counts = true;  ///< towards the verdict of the call
};

void check_options(const CompareOptions& options) {
  if (!options.base && !options.gate && !options.save_baseline) {
    throw usage_error(
        "missing BASE: give BASE and NEW, or add --gate FILE or --save-baseline FILE to check or save a single result");
  }
  if (options.base && options.save_baseline) {
    throw usage_error("--save-baseline saves a single result: compare first, then save NEW with a second command");
  }
  if (options.machine_class && options.machine_class->empty()) throw usage_error("--class: the name is empty");
  if (options.base) return;
  if (!options.threshold.empty()) throw usage_error("--threshold needs BASE");
  if (!options.allow_different.empty()) throw usage_error("--allow-different needs BASE");
}

Measurements read_base(const std::string& path, const std::string& machine_class, const std::string& verb,
                       Context& context) {
  return is_baseline(path) ? read_baseline(path, machine_class, verb) : read_measurements(path, context);
}

/// A result that is compared with itself always passes.
void warn_of_same(const Measurements& base, const Measurements& changed, Context& context) {
  for (const std::string& file : changed.files) {
    const auto is_same = [&](const std::string& other) {
      std::error_code error;
      return std::filesystem::equivalent(file, other, error);
    };
    if (std::ranges::none_of(base.files, is_same)) continue;
    context.warn("same_result", fmt::format("'{}' is in BASE and in NEW; compare results of different runs", file));
  }
}

ComparedSide side_of(const std::string& source, const Measurements& measured) {
  ComparedSide side{source, measured.verb, measured.machine_class, measured.files.size(), 0};
  std::size_t fewest = measured.values.empty() ? 0 : measured.values.begin()->second.size();
  for (const auto& [name, values] : measured.values) fewest = std::min(fewest, values.size());
  side.repetitions = fewest;
  return side;
}

bool is_wanted(const ComparedField& metric, const CompareOptions& options) {
  return options.metric.empty() || std::ranges::find(options.metric, metric.name()) != options.metric.end();
}

constexpr std::string_view kLoaderProbe = "loader-probe";

/// Start of the names of metrics of what a node or a loader delivers; empty for verbs that measure only a stage.
std::string_view delivered_by(std::string_view verb) {
  if (verb == kLoaderProbe) return "loader-probe.";
  if (verb == "pipeline") return "pipeline.";
  return verb == "run" ? "run.predicted." : "";
}

/// Results of two verbs have metrics of the same name in common. A loader is also compared with what a node delivers.
std::string name_in_base(const ComparedField& metric, const Measurements& base, const Measurements& changed) {
  const std::string name = metric.name();
  if (base.values.contains(name) || (base.verb != kLoaderProbe && changed.verb != kLoaderProbe)) return name;
  const std::string_view start = delivered_by(changed.verb);
  if (start.empty() || !name.starts_with(start)) return name;
  return fmt::format("{}{}", delivered_by(base.verb), name.substr(start.size()));
}

std::vector<Pair> common_metrics(const CompareOptions& options, const Measurements& base, const Measurements& changed) {
  for (const std::string& name : options.metric) {
    compare_metric(name, "--metric");
    if (changed.values.contains(name)) continue;
    throw Error(ErrorCode::usage, At{options.changed}, "--metric: '{}' does not measure {}", options.changed, name);
  }
  std::vector<Pair> pairs;
  for (const ComparedField& metric : compare_metrics()) {
    const auto found = changed.values.find(metric.name());
    if (found == changed.values.end() || !is_wanted(metric, options)) continue;
    const auto other = base.values.find(name_in_base(metric, base, changed));
    if (other != base.values.end()) pairs.push_back({&metric, other->second, found->second});
  }
  return pairs;
}

/// A metric derived from others repeats their change, unless the user named it or there are no others.
void set_what_counts(const CompareOptions& options, const Thresholds& thresholds, std::vector<Pair>& pairs) {
  for (Pair& pair : pairs) {
    const std::string name = pair.metric->name();
    pair.counts = !pair.metric->role.derived || !options.metric.empty() || thresholds.names(name);
  }
  if (std::ranges::any_of(pairs, &Pair::counts)) return;
  for (Pair& pair : pairs) pair.counts = true;
}

/// The metrics that count are judged together, each other one by itself.
std::vector<stats::Change> changes_of(const std::vector<Pair>& pairs,
                                      const std::vector<stats::MetricSamples>& samples) {
  std::vector<stats::MetricSamples> family;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].counts) family.push_back(samples[i]);
  }
  std::vector<stats::Change> judged = stats::judge_changes(family);
  std::vector<stats::Change> changes;
  std::size_t next = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    changes.push_back(pairs[i].counts ? std::move(judged[next++]) : stats::judge_changes({&samples[i], 1}).front());
  }
  return changes;
}

std::vector<CompareRow> judged_rows(const std::vector<Pair>& pairs, const Thresholds& thresholds, bool comparable) {
  std::vector<stats::MetricSamples> samples;
  for (const Pair& pair : pairs) {
    const ComparedField& metric = *pair.metric;
    samples.push_back({pair.base, pair.changed, metric.role.better, thresholds.of(metric.name()), metric.role.floor});
  }
  const std::vector<stats::Change> changes = changes_of(pairs, samples);
  std::vector<CompareRow> rows;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    CompareRow row{pairs[i].metric->name(),
                   stats::summarize(pairs[i].base).median,
                   stats::summarize(pairs[i].changed).median,
                   changes[i],
                   samples[i].threshold,
                   samples[i].floor,
                   !pairs[i].counts,
                   {}};
    if (!comparable) row.change = {row.change.ratio, {}, {}, stats::ChangeVerdict::incomparable};
    row.text = change_text(row, pairs[i].metric->unit);
    rows.push_back(row);
  }
  return rows;
}

stats::ChangeVerdict overall(const std::vector<CompareRow>& rows, bool comparable) {
  if (!comparable) return stats::ChangeVerdict::incomparable;
  using enum stats::ChangeVerdict;
  for (const stats::ChangeVerdict verdict : {regressed, inconclusive, improved}) {
    const auto has = [&](const CompareRow& row) { return !row.derived && row.change.verdict == verdict; };
    if (std::ranges::any_of(rows, has)) return verdict;
  }
  return pass;
}

/// True when the rate moved one way by more than a steady one does, and not only by noise.
bool drifts(std::span<const double> values) {
  if (values.size() < stats::kLeastRepetitions || std::abs(stats::relative_drift(values)) <= stats::kSteadyDrift)
    return false;
  return stats::mann_whitney_p(values.first(values.size() / 2), values.last(values.size() / 2)) <= stats::kFalseAlarms;
}

/// Says so of the first metric of a side that drifts.
void add_drift_hint(const char* side, const std::vector<Pair>& pairs, std::span<const double> Pair::*values,
                    CompareResult& result) {
  for (const Pair& pair : pairs) {
    if (!drifts(pair.*values)) continue;
    result.hints.push_back(
        fmt::format("{} drifted by {:+.0f} % from its first repetition of {} to its last: measure BASE and NEW "
                    "alternately, so that changes over time affect both",
                    side, stats::relative_drift(pair.*values) * 100, pair.metric->name()));
    return;
  }
}

/// Warns if a rate fell and the same rate per core did not: then the cores were busy with something else.
void add_cores_hint(const std::vector<Pair>& pairs, CompareResult& result) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const CompareRow& all = result.rows[i];
    const auto each = std::ranges::find(result.rows, all.metric + "_per_core", &CompareRow::metric);
    if (each == result.rows.end() || !each->change.ratio) continue;
    if (all.change.verdict != stats::ChangeVerdict::regressed || *each->change.ratio < -each->threshold) continue;
    result.hints.push_back(
        fmt::format("a core is as fast as before, but {} had {:.1f} cores in BASE and {:.1f} in NEW: other processes "
                    "or a CPU limit used the rest. Measure on an idle node, or measure BASE and NEW alternately",
                    stage_activity(pairs[i].metric->verb), all.base / each->base, all.changed / each->changed));
  }
}

/// Background for the reader of an unclear verdict.
void add_hints(const std::vector<Pair>& pairs, CompareResult& result) {
  const std::uint64_t fewest = std::min(result.base->repetitions, result.changed.repetitions);
  if (fewest < stats::kLeastRepetitions) {
    result.hints.push_back(fmt::format(
        "{} in BASE and {} in NEW: with fewer than {} per side the noise is unknown and the result is inconclusive; "
        "use iobench run --repeat 10, or a folder of ten results",
        format_count(result.base->repetitions, "repetition"), result.changed.repetitions, stats::kLeastRepetitions));
  }
  add_drift_hint("BASE", pairs, &Pair::base, result);
  add_drift_hint("NEW", pairs, &Pair::changed, result);
  if (std::ranges::any_of(result.rows, [](const CompareRow& row) {
        return !row.change.ratio && row.change.verdict == stats::ChangeVerdict::inconclusive;
      })) {
    result.hints.push_back("values of 0 or less have no ratio and are not compared");
  }
  add_cores_hint(pairs, result);
}

void judge(const CompareOptions& options, const Measurements& changed, Context& context, CompareResult& result) {
  const Thresholds thresholds(options.threshold);
  const Measurements base = read_base(*options.base, changed.machine_class, changed.verb, context);
  warn_of_same(base, changed, context);
  result.base = side_of(*options.base, base);
  check_allowed(base.conditions, changed.conditions, options.allow_different);
  result.differences = differences(base.conditions, changed.conditions, options.allow_different);
  const bool comparable =
      std::ranges::none_of(result.differences, [](const Difference& d) { return d.decisive && !d.allowed; });
  std::vector<Pair> pairs = common_metrics(options, base, changed);
  if (pairs.empty() && (comparable || base.verb != changed.verb)) {
    throw Error(ErrorCode::usage, At{options.changed},
                "'{}', a result of {}, and '{}', one of {}, have no metric in common", *options.base, base.verb,
                options.changed, changed.verb);
  }
  set_what_counts(options, thresholds, pairs);
  result.rows = judged_rows(pairs, thresholds, comparable);
  result.verdict = overall(result.rows, comparable);
  if (comparable) add_hints(pairs, result);
}

/// Called while more repetitions can still be measured.
void warn_of_small_baseline(std::size_t repetitions, Context& context) {
  if (repetitions >= stats::kLeastRepetitions) return;
  context.warn("few_repetitions",
               fmt::format("the baseline has {}: comparisons with it will be inconclusive; save {} or more",
                           format_count(repetitions, "repetition"), stats::kLeastRepetitions));
}

}  // namespace

bool CompareResult::has_findings() const {
  using enum stats::ChangeVerdict;
  if (verdict == regressed || verdict == incomparable) return true;
  if (verdict == inconclusive && fail_on_inconclusive) return true;
  return std::ranges::any_of(gate, [&](const GateRow& row) {
    return row.verdict == GateVerdict::missed || row.verdict == GateVerdict::absent ||
           (row.verdict == GateVerdict::inconclusive && fail_on_inconclusive);
  });
}

CompareResult compare(const CompareOptions& options, Context& context) {
  check_options(options);
  CompareResult result;
  result.fail_on_inconclusive = options.fail_on_inconclusive;
  std::vector<GateRequirement> requirements;
  if (options.gate) requirements = read_gate(*options.gate);
  Measurements changed = read_measurements(options.changed, context);
  if (options.machine_class) changed.machine_class = *options.machine_class;
  result.changed = side_of(options.changed, changed);
  if (options.base) judge(options, changed, context, result);
  result.gate = check_gate(requirements, changed);
  const bool keep = options.save_baseline && !result.has_findings();  // a run that fails the gate cannot be a baseline
  if (keep) {
    save_baseline(*options.save_baseline, changed, context.stop_token());
    warn_of_small_baseline(result.changed.repetitions, context);
  }
  result.text = verdict_text(result, keep ? options.save_baseline : std::nullopt);
  if (options.save_baseline && !keep)
    result.text += fmt::format("; not saved as baseline in {}", *options.save_baseline);
  return result;
}

void CompareOptions::describe(FieldVisitor& v) {
  v.field({"BASE",
           "reference: a result, a folder of repetitions, or a baseline file; optional with --gate and --save-baseline",
           Role::optional_positional},
          base);
  v.field({"NEW", "what to check: a result, or a folder of repetitions", Role::positional}, changed);
  v.field({"threshold",
           "how much worse a metric may become: 5% (default) for all metrics, read.bytes_per_second=3% for one; "
           "separated by commas",
           "LIST"},
          threshold);
  v.field({"metric", "compare only these metrics", "LIST"}, metric);
  v.field({"allow-different",
           "compare even if these differ: a key as shown in the report, or its first or last part: host, engine, verb",
           "LIST"},
          allow_different);
  v.field({"fail-on-inconclusive", "also exit 3 if the result is inconclusive"}, fail_on_inconclusive);
  v.field({"gate", "requirements that NEW must meet, independent of BASE", Role::input_file}, gate);
  v.field({"save-baseline", "save NEW in FILE as baseline of its machine class, unless it misses the gate",
           Role::output_file, kSharedOutput},
          save_baseline);
  v.field({"class", "name of the machine class, for baselines; default: derived from the host", "NAME"}, machine_class);
}

void ComparedSide::describe(FieldVisitor& v) {
  v.field({"source", "file or folder"}, source);
  v.field({"verb", "program and verb that measured it"}, verb);
  v.field({"machine_class", "machine class"}, machine_class);
  v.field({"files", Unit::count, "number of results read"}, files);
  v.field({"repetitions", Unit::count, "smallest number of values of a metric"}, repetitions);
}

void CompareRow::describe(FieldVisitor& v) {
  v.field({"metric", "name of the metric"}, metric);
  v.field({"base", "median in BASE, in the metric's unit"}, base);
  v.field({"new", "median in NEW"}, changed);
  v.field({"change_ratio", Unit::ratio, "relative change from BASE to NEW: -0.1 is 10 % less; Hodges-Lehmann estimate"},
          change.ratio);
  v.field({"interval", "95 % interval of the change"}, change.interval);
  v.field({"p_value", "p value of the Mann-Whitney U test"}, change.p_value);
  v.field({"threshold_ratio", Unit::ratio, "how much worse the metric may become"}, threshold);
  v.field({"floor", "smaller values count as this value, in the metric's unit; 0: no limit"}, floor);
  v.field({"derived", "true if the metric follows from others and does not count towards the overall verdict"},
          derived);
  v.field({"verdict", "verdict for this metric"}, change.verdict);
  v.field({"text", "the verdict in words"}, text);
}

void CompareResult::describe(FieldVisitor& v) {
  v.field({"verdict", "verdict over all metrics; empty without BASE"}, verdict);
  v.field({"text", "the verdict in one line"}, text);
  v.field({"base", "the reference"}, base);
  v.field({"new", "the result that was checked"}, changed);
  v.field({"differences", "differences in how they were measured"}, differences);
  v.field({"rows", "one row per metric"}, rows);
  v.field({"gate", "one row per requirement"}, gate);
  v.field({"hints", "how to get a clearer verdict"}, hints);
}

}  // namespace shardkit::bench
