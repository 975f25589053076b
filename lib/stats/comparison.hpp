#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

/// Whether something became slower: the rule behind `iobench compare`. Its figures are in docs/comparing.md.
namespace shardkit {

/// In which direction a metric is good.
enum class Better { higher, lower };

enum class ChangeVerdict {
  pass,          ///< whatever changed, it did not become worse by more than the threshold
  regressed,     ///< it became worse by more than the threshold
  improved,      ///< it became better by more than the threshold
  inconclusive,  ///< these values do not tell
  incomparable,  ///< they were measured under different conditions
};
template <>
struct EnumNames<ChangeVerdict> {
  static constexpr std::array<std::string_view, 5> names{"pass", "regressed", "improved", "inconclusive",
                                                         "incomparable"};
};

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
    v.field({"confidence_ratio", Unit::ratio, "how surely the true change lies between them"}, confidence);
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

}  // namespace shardkit
