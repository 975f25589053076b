#include "bench/compare/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/compare/ab_runs.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/metric_text.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {
namespace {

/// "5%", "5 %" or "0.05".
double share(const std::string& text, const std::string& whole) {
  std::string_view digits = text;
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  const double value = parse_decimal(digits).value_or(0) / (percent ? 100 : 1);
  if (value > 0 && value < 1) return value;
  throw usage_error("--threshold: '{}' is not a share between 0 and 1, such as 5% or read.bytes_per_second=3%", whole);
}

/// The default of `threshold` and the values for single metrics: "5%", "read.bytes_per_second=3%", "0.05". Throws
/// Error{usage}.
class Thresholds {
 public:
  explicit Thresholds(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const std::size_t sign = text.find('=');
      if (sign == std::string::npos) {
        common_ = share(text, text);
      } else {
        single_[compare_metric(text.substr(0, sign), "--threshold").name()] = share(text.substr(sign + 1), text);
      }
    }
  }
  double of(const std::string& metric) const {
    const auto found = single_.find(metric);
    return found == single_.end() ? common_ : found->second;
  }
  /// True when the user set one for this metric by name.
  bool names(const std::string& metric) const { return single_.contains(metric); }

 private:
  double common_ = 0.05;
  std::map<std::string, double> single_;
};

/// "typically -9.8 %, medians 1.20 GB/s to 1.08 GB/s, between -12.1 % and -7.4 %, p 0.0002".
std::string change_text(const CompareRow& row, Unit unit) {
  const std::string values =
      fmt::format("medians {} to {}", metric_text(row.base, unit), metric_text(row.changed, unit));
  if (!row.change.ratio) return values;
  std::string text = fmt::format("typically {}, {}", signed_percent(*row.change.ratio), values);
  if (row.change.interval) {
    text += fmt::format(", between {} and {}", signed_percent(row.change.interval->low),
                        signed_percent(row.change.interval->high));
  }
  if (row.change.p_value) text += fmt::format(", p {:.2g}", *row.change.p_value);
  if (std::min(row.base, row.changed) < row.floor) {
    text += fmt::format("; less than {0} counts as {0}", metric_text(row.floor, unit));
  }
  if (row.derived) text += "; follows from others and does not count";
  return text;
}

/// A metric that both sides measured.
struct Pair {
  const ComparedField* metric;
  stats::MetricSamples samples;
  bool counts = true;  ///< towards the verdict of the call
};

void check_options(const CompareOptions& options) {
  check_ranges(options);
  check_usage(!options.ab || options.base, "--ab: give two commands, each as one argument");
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

/// Baselines are a reference and no result.
void refuse_swapped(const CompareOptions& options) {
  if (options.ab || !options.base || !is_baseline(options.changed) || is_baseline(*options.base)) return;
  CompareOptions other = options;
  std::swap(*other.base, other.changed);
  throw Error(ErrorCode::usage, At{options.changed},
              "BASE '{}' is a result, and NEW '{}' contains baselines: they look swapped. In the other order: {}",
              *options.base, options.changed, remedy::in_text(command_text("iobench compare", other)));
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

std::size_t values_in(const stats::Runs& runs) {
  std::size_t values = 0;
  for (const std::vector<double>& run : runs) values += run.size();
  return values;
}

ComparedSide side_of(const std::string& source, const Measurements& measured) {
  ComparedSide side{.source = source,
                    .verb = measured.verb,
                    .machine_class = measured.machine_class,
                    .files = measured.files.size(),
                    .runs = measured.runs.size()};
  std::size_t fewest = measured.values.empty() ? 0 : values_in(measured.values.begin()->second);
  for (const auto& [name, runs] : measured.values) fewest = std::min(fewest, values_in(runs));
  side.repetitions = fewest;
  for (const MeasuredRun& run : measured.runs) {
    if (run.disturbed.empty()) continue;
    if (side.disturbed++ == 0) side.disturbance = run.disturbed;
  }
  return side;
}

bool is_wanted(const ComparedField& metric, const CompareOptions& options) {
  return options.include.empty() || std::ranges::find(options.include, metric.name()) != options.include.end();
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

/// Which runs count, of BASE and of NEW.
using Selection = std::array<std::vector<bool>, 2>;

/// All but disturbed ones. If those are more than half of a side, all are shown and none is judged.
Selection select_runs(const Measurements& base, const Measurements& changed, bool paired, CompareResult& result) {
  Selection calm;
  for (const MeasuredRun& run : base.runs) calm[0].push_back(run.disturbed.empty());
  for (const MeasuredRun& run : changed.runs) calm[1].push_back(run.disturbed.empty());
  for (std::size_t i = 0; paired && i < calm[0].size(); ++i) calm[0][i] = calm[1][i] = calm[0][i] && calm[1][i];
  const auto enough = [](const std::vector<bool>& side) {
    return 2 * std::ranges::count(side, true) >= std::ssize(side);
  };
  if (enough(calm[0]) && enough(calm[1])) return calm;
  const bool of_base = result.base->disturbed > result.changed.disturbed;
  const ComparedSide& side = of_base ? *result.base : result.changed;
  result.disturbance = fmt::format("{} of {} of {} cannot be judged: {}", side.disturbed,
                                   format_count(side.runs, "run"), of_base ? "BASE" : "NEW", side.disturbance);
  return {std::vector<bool>(base.runs.size(), true), std::vector<bool>(changed.runs.size(), true)};
}

/// The selected runs that have the metric; with --ab both runs of a pair. A run of NEW without a rate that others of it
/// have is a lost one.
void select_samples(const stats::Runs& base, const stats::Runs& changed, const Selection& selected,
                    stats::MetricSamples& samples) {
  const auto has = [&](std::size_t side, std::size_t i) {
    return selected[side][i] && !(side == 0 ? base : changed)[i].empty();
  };
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (has(0, i) && (!samples.paired || has(1, i))) samples.base.push_back(base[i]);
  }
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const bool is_lost = selected[1][i] && !samples.paired && changed[i].empty() && samples.better == Better::higher;
    if (is_lost) samples.changed.push_back({0});
    if (has(1, i) && (!samples.paired || has(0, i))) samples.changed.push_back(changed[i]);
  }
}

std::vector<Pair> common_metrics(const CompareOptions& options, const Measurements& base, const Measurements& changed,
                                 const Selection& selection) {
  const Thresholds thresholds(options.threshold);
  for (const std::string& name : options.include) {
    compare_metric(name, "--include");
    if (changed.values.contains(name)) continue;
    throw Error(ErrorCode::usage, At{options.changed}, "--include: '{}' does not measure {}", options.changed, name);
  }
  std::vector<Pair> pairs;
  for (const ComparedField& metric : compare_metrics()) {
    const auto found = changed.values.find(metric.name());
    if (found == changed.values.end() || !is_wanted(metric, options)) continue;
    const auto other = base.values.find(name_in_base(metric, base, changed));
    if (other == base.values.end()) continue;
    Pair& pair = pairs.emplace_back(Pair{&metric,
                                         {.better = metric.comparison.better,
                                          .threshold = thresholds.of(metric.name()),
                                          .floor = metric.comparison.floor,
                                          .paired = options.ab}});
    select_samples(other->second, found->second, selection, pair.samples);
  }
  std::erase_if(pairs, [](const Pair& pair) { return pair.samples.base.empty() || pair.samples.changed.empty(); });
  return pairs;
}

/// A metric derived from others repeats their change, unless the user named it or there are no others.
void set_what_counts(const CompareOptions& options, std::vector<Pair>& pairs) {
  const Thresholds thresholds(options.threshold);
  for (Pair& pair : pairs) {
    const std::string name = pair.metric->name();
    pair.counts = !pair.metric->comparison.derived || !options.include.empty() || thresholds.names(name);
  }
  if (std::ranges::any_of(pairs, &Pair::counts)) return;
  for (Pair& pair : pairs) pair.counts = true;
}

/// The metrics that count are judged together, each other one by itself.
std::vector<stats::Change> changes_of(const std::vector<Pair>& pairs) {
  std::vector<stats::MetricSamples> family;
  for (const Pair& pair : pairs) {
    if (pair.counts) family.push_back(pair.samples);
  }
  std::vector<stats::Change> judged = stats::judge_changes(family);
  std::vector<stats::Change> changes;
  std::size_t next = 0;
  for (const Pair& pair : pairs) {
    changes.push_back(pair.counts ? std::move(judged[next++]) : stats::judge_changes({&pair.samples, 1}).front());
  }
  return changes;
}

/// The median over all repetitions of all runs.
double median_of(const stats::Runs& runs) {
  std::vector<double> all;
  for (const std::vector<double>& run : runs) all.insert(all.end(), run.begin(), run.end());
  return stats::summarize(all).median;
}

/// With `without`, a verdict of all: they cannot be judged.
std::vector<CompareRow> judged_rows(const std::vector<Pair>& pairs, std::optional<stats::ChangeVerdict> without) {
  const std::vector<stats::Change> changes = changes_of(pairs);
  std::vector<CompareRow> rows;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const stats::MetricSamples& samples = pairs[i].samples;
    CompareRow row{pairs[i].metric->name(), median_of(samples.base), median_of(samples.changed), changes[i],
                   samples.threshold,       samples.floor,           !pairs[i].counts,           {}};
    if (without) row.change = {.ratio = row.change.ratio, .verdict = *without};
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

/// "pipeline.au_ratio, pipeline.samples_per_second": what `one` measured and `other` did not, without what is derived.
std::string measured_only_in(const Measurements& one, const Measurements& other, const CompareOptions& options) {
  std::vector<std::string> names;
  for (const ComparedField& metric : compare_metrics()) {
    const std::string name = metric.name();
    if (!metric.comparison.derived && is_wanted(metric, options) && one.values.contains(name) &&
        !other.values.contains(name))
      names.push_back(name);
  }
  return listed(names, 3);
}

/// Nobody should take a metric for unchanged that was not compared.
void add_uncompared(const Measurements& base, const Measurements& changed, const CompareOptions& options,
                    CompareResult& result) {
  if (base.verb != changed.verb) return;
  const auto add = [&](const std::string& names, std::string_view side) {
    if (!names.empty()) result.hints.push_back(fmt::format("not compared, because only {} has it: {}", side, names));
  };
  add(measured_only_in(base, changed, options), "BASE");
  add(measured_only_in(changed, base, options), "NEW");
}

/// Background for the reader of an unclear verdict.
void add_hints(CompareResult& result) {
  if (std::ranges::any_of(result.rows, [](const CompareRow& row) { return row.change.assumed; })) {
    result.hints.push_back(fmt::format(
        "{} in BASE and {} in NEW do not show how much runs differ: a deviation of {:.3g} % between them is assumed. "
        "Use {}",
        format_count(result.base->runs, "run"), result.changed.runs,
        (result.base->runs + result.changed.runs <= 2 ? stats::kAssumedSingleDeviation : stats::kAssumedRunDeviation) *
            100,
        result.ab ? "--repeat 5 or more" : "--ab, or folders of five runs or more"));
  }
  if (result.disturbance.empty()) {
    for (const ComparedSide* side : {&result.base.value(), &result.changed}) {
      if (side->disturbed == 0) continue;
      result.hints.push_back(fmt::format("{} of {} of {} are left out: {}", side->disturbed, side->runs,
                                         side == &result.changed ? "NEW" : "BASE", side->disturbance));
    }
  }
  if (std::ranges::any_of(result.rows, [](const CompareRow& row) {
        return !row.change.ratio && row.change.verdict == stats::ChangeVerdict::inconclusive;
      })) {
    result.hints.push_back("values below 0, and rates of 0 in BASE, have no ratio and are not compared");
  }
}

/// Found in other circumstances, though the same was requested.
void set_disturbance(CompareResult& result) {
  for (const Difference& d : result.differences) {
    if (!d.disturbs || d.allowed || !result.disturbance.empty()) continue;
    result.disturbance = fmt::format("{} was {} in BASE and {} in NEW; use --cache warm or --cache cold for both",
                                     d.key, d.base, d.changed);
  }
}

void judge(const CompareOptions& options, const Measurements& base, const Measurements& changed,
           CompareResult& result) {
  result.base = side_of(*options.base, base);
  check_allowed(base.conditions, changed.conditions, options.allow_different);
  result.differences = differences(base.conditions, changed.conditions, options.allow_different);
  const bool comparable =
      std::ranges::none_of(result.differences, [](const Difference& d) { return d.decisive && !d.allowed; });
  const Selection selection = select_runs(base, changed, options.ab, result);
  std::vector<Pair> pairs = common_metrics(options, base, changed, selection);
  if (pairs.empty() && (comparable || base.verb != changed.verb)) {
    throw Error(ErrorCode::usage, At{options.changed},
                "'{}', a result of {}, and '{}', one of {}, have no metric in common", *options.base, base.verb,
                options.changed, changed.verb);
  }
  set_disturbance(result);
  set_what_counts(options, pairs);
  std::optional<stats::ChangeVerdict> without;
  if (!result.disturbance.empty()) without = stats::ChangeVerdict::inconclusive;
  if (!comparable) without = stats::ChangeVerdict::incomparable;
  result.rows = judged_rows(pairs, without);
  result.verdict = overall(result.rows, comparable);
  if (comparable) {
    add_hints(result);
    add_uncompared(base, changed, options, result);
  }
}

void warn_of_baseline(const ComparedSide& saved, Context& context) {
  if (saved.disturbed == 0) return;
  context.warn("disturbed_baseline", fmt::format("{} of {} in the baseline were disturbed: {}", saved.disturbed,
                                                 format_count(saved.runs, "run"), saved.disturbance));
}

std::string rows_text(const CompareResult& result, stats::ChangeVerdict verdict) {
  std::string text;
  std::size_t found = 0;
  for (const CompareRow& row : result.rows) {
    if (row.derived || row.change.verdict != verdict) continue;
    if (++found == 1) text = fmt::format("{} {}", row.metric, row.text);
  }
  return found > 1 ? fmt::format("{}; and {} more", text, found - 1) : text;
}

std::string incomparable_text(const CompareResult& result) {
  const auto decides = [](const Difference& d) { return d.decisive && !d.allowed; };
  const Difference& first = *std::ranges::find_if(result.differences, decides);
  std::vector<std::string_view> keys;
  for (const Difference& difference : result.differences) {
    if (decides(difference)) keys.push_back(difference.key);
  }
  const std::string more =
      keys.size() > 1 ? fmt::format(", and {} more", format_count(keys.size() - 1, "difference")) : "";
  return fmt::format("{} is {} in BASE and {} in NEW{}; use --allow-different {} to compare them anyway", first.key,
                     first.base.empty() ? "not set" : first.base, first.changed.empty() ? "not set" : first.changed,
                     more, fmt::join(keys, ","));
}

/// "needs about 24 pairs": to see a change by twice the threshold.
std::string inconclusive_text(const CompareResult& result) {
  if (!result.disturbance.empty()) return result.disturbance;
  std::uint64_t needed = 0;
  for (const CompareRow& row : result.rows) {
    if (!row.derived) needed = std::max(needed, row.change.runs_needed.value_or(0));
  }
  const std::string text = rows_text(result, stats::ChangeVerdict::inconclusive);
  if (needed == 0) return text;
  return fmt::format("needs about {} {}; {}", needed, result.ab ? "pairs" : "runs per side", text);
}

std::string reason_of(stats::ChangeVerdict verdict, const CompareResult& result) {
  if (verdict == stats::ChangeVerdict::incomparable) return incomparable_text(result);
  const bool is_single = result.base->runs == 1 && result.changed.runs == 1;
  const std::string single = is_single ? "one run per side shows only losses of about 35 % or more; " : "";
  if (verdict == stats::ChangeVerdict::inconclusive) return single + inconclusive_text(result);
  if (verdict != stats::ChangeVerdict::pass) return rows_text(result, verdict);
  const auto counted = std::ranges::count(result.rows, false, &CompareRow::derived);
  return single + "no metric is worse by more than its threshold, in " +
         format_count(static_cast<std::uint64_t>(counted), "metric");
}

bool is_decided(const GateRow& row) { return row.verdict == GateVerdict::met || row.verdict == GateVerdict::missed; }

std::string gate_text(const CompareResult& result) {
  const auto unjudged = result.gate.size() - static_cast<std::size_t>(std::ranges::count_if(result.gate, is_decided));
  for (const GateVerdict verdict : {GateVerdict::missed, GateVerdict::inconclusive, GateVerdict::absent}) {
    const auto row = std::ranges::find(result.gate, verdict, &GateRow::verdict);
    if (row == result.gate.end()) continue;
    const std::string words = verdict == GateVerdict::missed
                                  ? "gate missed"
                                  : fmt::format("gate undecided, {} of {} not judged", unjudged, result.gate.size());
    return fmt::format("{}: {} {}", words, row->metric, row->text);
  }
  return fmt::format("gate met: {}", format_count(result.gate.size(), "requirement"));
}

/// The first line of every report: the verdict and its reason, and whether NEW was saved as baseline.
/// `replaced`: earlier runs of the baseline, if it was saved.
std::string verdict_text(const CompareResult& result, const CompareOptions& options,
                         std::optional<std::size_t> replaced) {
  std::vector<std::string> parts;
  if (result.verdict) {
    parts.push_back(fmt::format("{}: {}", enum_name(*result.verdict), reason_of(*result.verdict, result)));
  }
  if (!result.gate.empty()) parts.push_back(gate_text(result));
  if (replaced) {
    parts.push_back(fmt::format(
        "saved {} of {} as baseline of class '{}' in {}{}", format_count(result.changed.repetitions, "repetition"),
        result.changed.verb, result.changed.machine_class, *options.save_baseline,
        *replaced == 0 ? "" : fmt::format(", in place of {} under other conditions", format_count(*replaced, "run"))));
  } else if (options.save_baseline) {
    parts.push_back(fmt::format("not saved as baseline in {}", *options.save_baseline));
  }
  const std::string begin = result.interrupted ? fmt::format("interrupted after {} of {}: ", result.ab->pairs,
                                                             format_count(options.repeat, "pair"))
                                               : "";
  return fmt::format("{}{}", begin, fmt::join(parts, "; "));
}

}  // namespace

std::string signed_percent(double ratio) {
  constexpr double kHardToRead = 10;
  constexpr double kLeast = 0.0005;  // a smaller one is shown as 0, which has no sign
  if (std::abs(ratio) < kLeast) return "0.0 %";
  return ratio < kHardToRead ? fmt::format("{:+.1f} %", ratio * 100) : format_factor(ratio + 1) + " times";
}

bool CompareResult::has_findings() const {
  using enum stats::ChangeVerdict;
  if (verdict == regressed || verdict == incomparable) return true;
  if (verdict == inconclusive && strict) return true;
  return std::ranges::any_of(
      gate, [&](const GateRow& row) { return row.verdict == GateVerdict::missed || (strict && !is_decided(row)); });
}

CompareResult compare(const CompareOptions& options, Context& context) {
  return compare_measurements(options, context).result;
}

ComparedMeasurements compare_measurements(const CompareOptions& options, Context& context) {
  check_options(options);
  refuse_swapped(options);
  ComparedMeasurements compared;
  auto& [result, base, changed] = compared;
  result.strict = options.strict;
  std::vector<GateRequirement> requirements;
  if (options.gate) requirements = read_gate(*options.gate);
  if (options.ab) {
    AbMeasurements ab = measure_ab(options, context);
    result.ab = ab.runs;
    result.interrupted = ab.runs.pairs < options.repeat;
    base = std::move(ab.base);
    changed = std::move(ab.changed);
  } else {
    changed = read_measurements(options.changed, context);
  }
  if (options.machine_class) changed.machine_class = *options.machine_class;
  result.changed = side_of(options.changed, changed);
  if (options.base && !options.ab) {
    base = read_base(*options.base, changed.machine_class, changed.verb, context);
    warn_of_same(base, changed, context);
  }
  if (options.base) judge(options, base, changed, result);
  result.gate = check_gate(requirements, changed);
  // A run that fails the gate, or is incomplete, cannot be a baseline.
  const bool keep = options.save_baseline && !result.has_findings() && !result.interrupted;
  std::optional<std::size_t> replaced;
  if (keep) {
    replaced = save_baseline(*options.save_baseline, changed, context.stop_token());
    warn_of_baseline(result.changed, context);
  }
  result.text = verdict_text(result, options, replaced);
  return compared;
}

void CompareOptions::describe(FieldList& v) {
  v.field({"BASE",
           "reference: a result, a folder with a result per run, or a baseline file; optional with --gate and "
           "--save-baseline. With --ab a command",
           Role::optional_positional},
          base);
  v.field({"NEW", "what to check: a result, or a folder with a result per run; with --ab a command", Role::positional},
          changed);
  v.field({"ab", "BASE and NEW are commands: run both alternately, in random order in each pair"}, ab);
  v.field({"repeat", Unit::count, "with --ab: how often to run both commands", between(2, 1000), Misnomers{"pairs"}},
          repeat);
  v.field({"threshold",
           "how much worse a metric may become: 5% (default) for all metrics, read.bytes_per_second=3% for one; "
           "separated by commas",
           "LIST"},
          threshold);
  v.field({"include", "compare only these metrics", "LIST", Misnomers{"metric"}}, include);
  v.field({"allow-different",
           "compare even if these differ: a key as shown in the report, or its first or last part: host, engine, verb",
           "LIST"},
          allow_different);
  v.field({"strict", "also exit 3 if the result is inconclusive", Misnomers{"fail-on-inconclusive"}}, strict);
  v.field({"gate", "requirements that NEW must meet, independent of BASE", Role::input_file}, gate);
  v.field({"save-baseline", "save NEW in FILE as baseline of its machine class, unless it misses the gate",
           Role::output_file, kSharedOutput},
          save_baseline);
  v.field({"class", "name of the machine class, for baselines; default: derived from the host", "NAME"}, machine_class);
}

void ComparedSide::describe(FieldList& v) {
  v.field({"source", "file or folder"}, source);
  v.field({"verb", "program and verb that measured it"}, verb);
  v.field({"machine_class", "machine class"}, machine_class);
  v.field({"files", Unit::count, "number of results read"}, files);
  v.field({"runs", Unit::count, "number of runs"}, runs);
  v.field({"repetitions", Unit::count, "repetitions of all runs; smallest number over all metrics"}, repetitions);
  v.field({"disturbed", Unit::count, "runs that cannot be judged"}, disturbed);
  v.field({"disturbance", "why the first of them cannot be judged"}, disturbance);
}

void CompareRow::describe(FieldList& v) {
  v.field({"metric", "name of the metric"}, metric);
  v.field({"base", "median in BASE, in the metric's unit"}, base);
  v.field({"new", "median in NEW"}, changed);
  v.field(
      {"change_ratio", Unit::ratio, "relative change from BASE to NEW: -0.1 is 10 % less; ratio of geometric means"},
      change.ratio);
  v.field({"interval", "interval of the change"}, change.interval);
  v.field({"p_value", "p value of the t test"}, change.p_value);
  v.field({"threshold_ratio", Unit::ratio, "how much worse the metric may become"}, threshold);
  v.field({"floor", "smaller values count as this value, in the metric's unit; 0: no limit"}, floor);
  v.field({"derived", "true if the metric follows from others and does not count towards the overall verdict"},
          derived);
  v.field({"verdict", "verdict for this metric"}, change.verdict);
  v.field({"runs_needed", Unit::count,
           "if it is inconclusive: runs per side that would show a change by twice the threshold in 95 % of calls"},
          change.runs_needed);
  v.field({"text", "the verdict in words"}, text);
}

void CompareResult::describe(FieldList& v) {
  v.field({"verdict", "verdict over all metrics; empty without BASE"}, verdict);
  v.field({"text", "the verdict in one line"}, text);
  v.field({"ab", "how --ab ran both commands"}, ab);
  v.field({"base", "the reference"}, base);
  v.field({"new", "the result that was checked"}, changed);
  v.field({"differences", "differences in how they were measured"}, differences);
  v.field({"disturbance", "why no metric can be judged"}, disturbance);
  v.field({"rows", "one row per metric"}, rows);
  v.field({"gate", "one row per requirement"}, gate);
  v.field({"hints", "how to get a clearer verdict"}, hints);
}

}  // namespace shardkit::bench
