#pragma once

#include <span>

namespace shardkit {

/// By what share of their mean the rates of equal slices of time changed from the first slice to the last, by a line
/// of least squares: 0.2 for a rate that rose by 20 %. 0 for fewer than 4 slices, which show no trend.
double relative_drift(std::span<const double> rates);

/// A run that drifted by more than this is not steady: what it measured would have been another number had it lasted
/// longer.
inline constexpr double kSteadyDrift = 0.1;

}  // namespace shardkit
