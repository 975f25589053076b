#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stats/comparison.hpp"

/// When a series of runs changed.
namespace shardkit::stats {

/// Runs on each side of a change point; fewer do not show one.
inline constexpr std::size_t kRunsBesideChange = 9;

struct ChangePoint {
  std::size_t index = 0;  ///< of the first run after it
  Change change;
};

/// The changes of a series.
struct ChangePoints {
  std::vector<ChangePoint> points;  ///< in order
  /// Successive runs are alike beyond what changes explain, so none are named: the rule assumes runs that do not depend
  /// on each other, and would mark slow drifts.
  bool drifts = false;
};

/// Autocorrelation between changes from which on a series drifts; less if there are changes, which hide a part of it.
inline constexpr double kMostCorrelation = 0.4;

/// The points at which a metric regressed or improved. Binary segmentation: the two parts whose logarithms deviate
/// least from their means (Scott and Knott, Biometrics 30, 1974) are judged by judge_changes(), as two sides of a
/// comparison. Because the best of many positions is judged, its p value is multiplied by their number. Then each part
/// is searched. If the best position is too near to an end, the rest is searched without the few runs beyond it. Empty
/// for fewer than 2 * kRunsBesideChange values, and for values that are not positive.
ChangePoints change_points(std::span<const double> values, Better better, double threshold = 0.05);

/// The newest run beside the runs before it.
struct NewestRun {
  ChangeVerdict verdict = ChangeVerdict::inconclusive;  ///< inconclusive: too few runs before it
  double ratio = 0;                                     ///< change from their median
  std::size_t runs = 0;                                 ///< how many of the newest in a row have this verdict
};

/// Judges the newest of `values`, all positive. The runs before it are all but the last kRunsBesideChange - 1, and at
/// least 4. It regressed or improved if the logarithm of its change is more than the quantile of Student's t at which a
/// healthy series alarms once in 100 runs (in simulations up to 1.7, because the noise is estimated), shared by
/// `metrics`, and more than `threshold`.
NewestRun judge_newest(std::span<const double> values, Better better, std::size_t metrics = 1, double threshold = 0.05);

}  // namespace shardkit::stats
