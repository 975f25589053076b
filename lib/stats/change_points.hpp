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

/// The points at which a metric regressed or improved, in order. Binary segmentation: the two parts whose logarithms
/// deviate least from their means (Scott and Knott, Biometrics 30, 1974) are judged by judge_changes(), as two sides of
/// a comparison. Because the best of many places is judged, its p value is multiplied by their number. Then each part
/// is searched. Empty for fewer than 2 * kRunsBesideChange values, and for values that are not positive.
std::vector<ChangePoint> change_points(std::span<const double> values, Better better, double threshold = 0.05);

}  // namespace shardkit::stats
