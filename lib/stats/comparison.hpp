#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "stats/summary.hpp"

/// Whether something became slower: the rule of `iobench compare`. Values vary on two levels: repetitions within a run,
/// and runs, which differ more than their repetitions. docs/explain/comparing.md has its error rates.
namespace shardkit::stats {

/// P(T > t) of Student's t with `degrees` of freedom, t >= 0 (Abramowitz and Stegun, Handbook of Mathematical
/// Functions, 26.7.3 and 26.7.4). 0 degrees: the normal distribution.
double student_tail(double t, std::size_t degrees);

/// Where that tail is `tail`, at most 0.5.
double student_quantile(double tail, std::size_t degrees);

/// Minimum difference assumed between identical runs: share of the median, to each side. Repetitions within seconds
/// agree better than runs minutes apart, between which the host's clock, its heat and its other guests change. No
/// number of repetitions in one run shows that. A convention; docs/explain/comparing.md has measurements without it.
inline constexpr double kDriftBetweenRuns = 0.03;

/// The interval that contains the median of as many new repetitions in 95 % of cases: both medians vary, so it is wider
/// than a confidence interval of one. From 9 values on it uses ranks, for noise of any shape (Fligner and Wolfe,
/// Journal of the American Statistical Association 74, 1979). For fewer, Student's t with the maximum variance of
/// medians of normal noise, which heavy tails make wider, not narrower, and at least their range. For 3 values that
/// jump between two modes it contains 94.6 %. Never narrower than the median +- kDriftBetweenRuns of it, and not below
/// 0 if no value is, because rates and times are not. Empty for fewer than 2 values.
std::optional<Interval> prediction_interval(std::span<const double> values);

enum class ChangeVerdict {
  pass,          ///< whether it changed or not, it did not become worse by more than the threshold
  regressed,     ///< it became worse by more than the threshold
  improved,      ///< it became better by more than the threshold
  inconclusive,  ///< inconclusive
  incomparable,  ///< they were measured under different conditions
};
constexpr auto enum_names(ChangeVerdict) {
  return std::to_array<std::string_view>({"pass", "regressed", "improved", "inconclusive", "incomparable"});
}

/// The deviation between identical runs that is assumed while there are too few of them to show it.
inline constexpr double kAssumedRunDeviation = 0.05;
/// The same of a single run per side, which shows only losses of about 35 % or more.
inline constexpr double kAssumedSingleDeviation = 0.07;
/// A side with fewer runs does not show how much its own differ.
inline constexpr std::size_t kLeastRuns = 3;
/// Runs whose differences have fewer degrees of freedom do not show how much runs differ.
inline constexpr std::size_t kLeastDegrees = 4;
/// How often a call may report `regressed` although no metric of it became worse by more than its threshold.
inline constexpr double kFalseAlarms = 0.01;

/// The repetitions of each run.
using Runs = std::vector<std::vector<double>>;

/// One metric on both sides.
struct MetricSamples {
  Runs base = {};
  Runs changed = {};
  Better better = Better::higher;
  double threshold = 0.05;  ///< share of the base's value
  /// Values below count as this, so that values of 0 have a ratio and tiny changes count as none; 0: none.
  double floor = 0;
  bool paired = false;  ///< the i-th runs of both sides were made together; both have as many
};

/// A range of the change and its confidence.
struct ChangeInterval {
  double low = 0;
  double high = 0;
  double confidence = 0;

  void describe(FieldList& v) {
    v.field({"low_ratio", Unit::ratio, "lower end"}, low);
    v.field({"high_ratio", Unit::ratio, "upper end"}, high);
    v.field({"confidence_ratio", Unit::ratio, "confidence of the interval"}, confidence);
  }
};

struct Change {
  std::optional<double> ratio;  ///< 0.1: a tenth more; the ratio of the geometric means. Empty without a ratio
  std::optional<ChangeInterval> interval = {};
  std::optional<double> p_value = {};  ///< of the t test, only for this metric
  ChangeVerdict verdict = ChangeVerdict::inconclusive;
  bool assumed = false;                           ///< there are too few runs: kAssumedRunDeviation was used
  std::optional<std::uint64_t> runs_needed = {};  ///< inconclusive: runs per side with which it would see a change
};

/// Judges all metrics of one call, in two steps. First, which of them changed: a t test, with Holm's method over all
/// metrics at the level kFalseAlarms. Then, by how much: an interval for each metric, wrong at either end in at most
/// kFalseAlarms of all cases; for metrics that changed, divided by the number of metrics that seem changed by
/// themselves (p at most twice kFalseAlarms), because their intervals must hold together. Regressed: it changed and the
/// whole interval is beyond the threshold on the bad side. Improved: the same on the good side. Pass: the whole
/// interval is on this side of the threshold. Inconclusive: anything else, or values that are not positive, which have
/// no ratio unless the metric has a floor; those pass if no value of NEW is worse than any of BASE. A run whose rate is
/// 0 is lost. A metric regressed if BASE lost no run and NEW more than half; if NEW lost fewer, the others are judged,
/// but do not pass.
///
/// Changes are ratios, so logarithms are compared. The value of a run is the median of its repetitions. Runs in pairs
/// are compared by the differences within each pair, others by the means of both sides and their common deviation, or
/// that of each side if one has more runs (Welch, Biometrika 34, 1947).
/// With fewer than kLeastDegrees, or on a side of fewer than kLeastRuns, the deviation between runs is
/// kAssumedRunDeviation (kAssumedSingleDeviation for one run per side), or what is seen if that is more, and all
/// intervals hold together.
///
/// `runs_needed` would see a change by twice the threshold in 95 % of calls; empty if there are as many already, or if
/// more than anyone would make are needed.
std::vector<Change> judge_changes(std::span<const MetricSamples> metrics);

/// Judges a change of a logarithm by its variance, which has so many degrees of freedom, as one metric of a call.
Change judge_shift(double shift, double variance, std::size_t degrees, Better better, double threshold);

}  // namespace shardkit::stats
