#pragma once

#include <cstddef>
#include <optional>
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

/// The changes of a series: steps, or a trend.
struct ChangePoints {
  std::vector<ChangePoint> points;  ///< in order
  std::optional<Change> trend;      ///< from the first run to the last one, if a line fits better than a step
};

/// The points at which a metric regressed or improved. Binary segmentation: the two parts whose logarithms deviate
/// least from their means (Scott and Knott, Biometrics 30, 1974) are judged as two sides of a comparison. Because the
/// best of many positions is judged, its p value is multiplied by their number. Then each part is searched. If the best
/// position is too near to an end, the rest is searched without the few runs beyond it. If a line of least squares fits
/// better than the first step, its total change is judged instead. Successive runs that are alike have a larger
/// variance of their mean: (1 + r) / (1 - r) times, where r is their autocorrelation. Rates of 0 are left out, and
/// times below `floor` count as that. Empty for fewer than 2 * kRunsBesideChange values.
ChangePoints change_points(std::span<const double> values, Better better, double threshold = 0.05, double floor = 0);

/// The newest run beside the runs before it.
struct NewestRun {
  ChangeVerdict verdict = ChangeVerdict::inconclusive;  ///< inconclusive: too few runs before it
  double ratio = 0;                                     ///< change from their median
  std::size_t runs = 0;                                 ///< how many of the newest in a row have this verdict
};

/// Judges the newest of `values`. The runs before it are all but the last kRunsBesideChange - 1, and at least 4,
/// without rates of 0. A rate of 0 is a lost run, which regressed. Times below `floor` count as that. It regressed or
/// improved if the logarithm of its change is more than the quantile of Student's t at which a healthy series alarms
/// once in 100 runs (in simulations up to 1.7, because the noise is estimated), shared by `metrics`, and more than
/// `threshold`.
NewestRun judge_newest(std::span<const double> values, Better better, std::size_t metrics = 1, double threshold = 0.05,
                       double floor = 0);

}  // namespace shardkit::stats
