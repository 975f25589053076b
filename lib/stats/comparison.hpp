#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "stats/summary.hpp"

/// Compares two samples by ranks only: no shape of their noise is assumed, so heavy tails and several modes do no harm.
///
/// Whether something became slower: the rule of `iobench compare`. docs/explain/comparing.md has its error rates.
namespace shardkit::stats {

/// Maximum number of values per side: their pairs are in memory, 8 MB of them.
inline constexpr std::size_t kMostRankedValues = 1000;

/// Two-sided p value of the U test of Mann and Whitney (Annals of Mathematical Statistics 18, 1947) that both samples
/// come from one distribution. Exact if no two values are equal and no side has more than 50; else the normal
/// approximation with its corrections for ties and continuity. 1 if all values are equal or a side is empty.
double mann_whitney_p(std::span<const double> base, std::span<const double> changed);

struct Shift {
  double estimate = 0;
  double low = 0;
  double high = 0;
};

/// How much `changed` is above `base`: the median of all differences between a value of one and a value of the other
/// (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963), and the distribution-free interval of the U test:
/// at most the share `tail` of all cases is outside each end. Empty if there are too few values for that tail. At most
/// kMostRankedValues per side.
std::optional<Shift> rank_shift(std::span<const double> base, std::span<const double> changed, double tail);

/// Only the estimate; 0 if a side is empty.
double rank_shift_estimate(std::span<const double> base, std::span<const double> changed);


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

/// Fewer values per side are inconclusive: a machine with two modes causes changes by itself in so few.
inline constexpr std::size_t kLeastRepetitions = 9;
/// How often a call may report `regressed` although no metric of it became worse by more than its threshold.
inline constexpr double kFalseAlarms = 0.01;

/// The repetitions of one metric on both sides.
struct MetricSamples {
  std::span<const double> base;
  std::span<const double> changed;
  Better better = Better::higher;
  double threshold = 0.05;  ///< share of the base's value
  /// Values below count as this, so that values of 0 have a ratio and tiny changes count as none; 0: none.
  double floor = 0;
};

/// A range of the change and its confidence.
struct ChangeInterval {
  double low = 0;
  double high = 0;
  double confidence = 0;

  void describe(FieldVisitor& v) {
    v.field({"low_ratio", Unit::ratio, "lower end"}, low);
    v.field({"high_ratio", Unit::ratio, "upper end"}, high);
    v.field({"confidence_ratio", Unit::ratio, "confidence of the interval"}, confidence);
  }
};

struct Change {
  std::optional<double> ratio;  ///< 0.1: a tenth more; the estimate of Hodges and Lehmann. Empty without a ratio
  std::optional<ChangeInterval> interval;
  std::optional<double> p_value;  ///< of the U test, only for this metric
  ChangeVerdict verdict = ChangeVerdict::inconclusive;
};

/// Judges all metrics of one call, in two steps. First, which of them changed: Mann and Whitney's U test, with Holm's
/// method over all metrics at the level kFalseAlarms. Then, by how much: an interval for each metric, wrong at either
/// end in at most kFalseAlarms of all cases; for metrics that changed, divided by the number of metrics that seem
/// changed by themselves (p at most twice kFalseAlarms), because their intervals must hold together. Regressed: it
/// changed and the whole interval is beyond the threshold on the bad side. Improved: the same on the good side. Pass:
/// the whole interval is on this side of the threshold. Inconclusive: anything else, fewer than kLeastRepetitions per
/// side, or values that are not positive, which have no ratio unless the metric has a floor; those pass if no value of
/// NEW is worse than any of BASE.
///
/// Changes are ratios, so logarithms are compared: their difference does not include the noise of a division by the
/// base's median, and the ranks are the same. At most kMostRankedValues per side.
std::vector<Change> judge_changes(std::span<const MetricSamples> metrics);

}  // namespace shardkit::stats
