#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

/// Two samples held against each other by ranks alone: no shape of their noise is assumed, so that heavy tails and
/// several modes do no harm.
///
/// Whether something became slower: the rule behind `iobench compare`. Its figures are in docs/comparing.md.
namespace shardkit::stats {

/// The most values a side: their pairs are held in memory, 8 MB of them.
inline constexpr std::size_t kMostRankedValues = 1000;

/// Two-sided p value of Mann and Whitney's U test (Annals of Mathematical Statistics 18, 1947) that both samples come
/// from one distribution. Exact where no two values are equal and no side has more than 50; else the normal
/// approximation with its corrections for ties and continuity. 1 when all values are equal or a side is empty.
double mann_whitney_p(std::span<const double> base, std::span<const double> changed);

struct Shift {
  double estimate = 0;
  double low = 0;
  double high = 0;
};

/// By how much `changed` lies above `base`: the median of all differences between a value of one and a value of the
/// other (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963), and the distribution-free interval that goes
/// with the U test: outside of each end lie at most the share `tail` of all cases. Empty when these are too few values
/// for that tail. At most kMostRankedValues a side.
std::optional<Shift> rank_shift(std::span<const double> base, std::span<const double> changed, double tail);

/// The estimate alone; 0 when a side is empty.
double rank_shift_estimate(std::span<const double> base, std::span<const double> changed);

/// Where the median of as many further repetitions will lie.
struct PredictionInterval {
  double low = 0;
  double high = 0;

  void describe(FieldVisitor& v) {
    v.field({"low", "lower end"}, low);
    v.field({"high", "upper end"}, high);
  }
};

/// How far apart runs are taken to lie at least that differ in nothing: share of the median, to each side. Turns that
/// follow each other within seconds agree better than runs minutes apart, between which the host's clock, its heat and
/// its other guests change, and no number of turns in one run shows that. A convention; docs/comparing.md says what was
/// measured without it.
inline constexpr double kDriftBetweenRuns = 0.03;

/// The interval that holds the median of as many new repetitions in 95 % of cases: both medians wander, so it is wider
/// than a confidence interval of one. From 9 values on by ranks, for noise of any shape (Fligner and Wolfe, Journal of
/// the American Statistical Association 74, 1979). Fewer cannot give 95 % so; then by Student's t with the variance
/// that medians of normal noise have at most, which heavy tails make wider, not narrower, and at least their range. Of
/// 3 values that jump between two modes it holds 94.6 %. Never narrower than the median +- kDriftBetweenRuns of it,
/// and not below 0 where no value is: rates and times are none. Empty for fewer than 2 values.
std::optional<PredictionInterval> prediction_interval(std::span<const double> values);

enum class ChangeVerdict {
  pass,          ///< whatever changed, it did not become worse by more than the threshold
  regressed,     ///< it became worse by more than the threshold
  improved,      ///< it became better by more than the threshold
  inconclusive,  ///< these values do not tell
  incomparable,  ///< they were measured under different conditions
};
constexpr auto enum_names(ChangeVerdict) {
  return std::to_array<std::string_view>({"pass", "regressed", "improved", "inconclusive", "incomparable"});
}

/// Fewer values a side decide nothing: a machine with two modes makes changes of its own in so few.
inline constexpr std::size_t kLeastRepetitions = 9;
/// How often a call may say `regressed` though no metric of it became worse by more than its threshold.
inline constexpr double kFalseAlarms = 0.01;

/// The repetitions of one metric on both sides.
struct MetricSamples {
  std::span<const double> base;
  std::span<const double> changed;
  Better better = Better::higher;
  double threshold = 0.05;  ///< share of the base's value
  /// Values below count as this, so that what may be 0 has a ratio and a change too small to matter is none; 0: none.
  double floor = 0;
};

/// A range of the change and how sure it is that the true change lies within.
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
  std::optional<double> p_value;  ///< of the U test, this metric alone
  ChangeVerdict verdict = ChangeVerdict::inconclusive;
};

/// Judges all metrics of one call, in two steps. First, which of them changed at all: Mann and Whitney's U test,
/// Holm's steps over all metrics at the level kFalseAlarms. Then, by how much: an interval for each metric, wrong at
/// either end in at most kFalseAlarms of all cases; of metrics that changed, divided by how many look so by themselves
/// (p at most twice kFalseAlarms), because their intervals must hold together. Regressed: it changed and the whole
/// interval lies beyond the threshold on the bad side. Improved: the same on the good side. Pass: the whole interval
/// lies on this side of the threshold. Inconclusive: anything else, fewer than kLeastRepetitions a side, or values that
/// are not positive, which have no ratio but where the metric has a floor; those pass when no value of NEW is worse
/// than any of BASE.
///
/// Changes are ratios, so logarithms are compared: their difference is free of the noise that a division by the base's
/// median would bring in, and the ranks are the same. At most kMostRankedValues a side.
std::vector<Change> judge_changes(std::span<const MetricSamples> metrics);

}  // namespace shardkit::stats
