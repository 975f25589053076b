#pragma once

#include <cstddef>
#include <span>

#include "core/fields.hpp"

/// What a curve of rates says that were measured at rising levels of something: connections, threads, bytes a read.
namespace shardkit::stats {

/// A measured quantity over repetitions or slices of time.
struct Summary {
  double median = 0;
  double low = 0;  ///< of an interval that holds the true median with at least 95 % probability
  double high = 0;
};

/// Median and its distribution-free interval by order statistics: the narrowest pair of ranks symmetric about the
/// middle whose binomial probability is at least 0.95 (Conover, Practical Nonparametric Statistics, 3.2). Fewer than 6
/// values cannot reach it; then the interval is all of their range. Zeros for no values.
Summary summarize(std::span<const double> values);

/// The knee: index of the first level that gives at least 95 % of the best rate. Not for an empty curve.
std::size_t knee_of(std::span<const double> rates);

/// True once more brings nothing: neither of the last two levels is 5 % above the best before it.
bool has_levelled_off(std::span<const double> rates);

/// By what share of their mean the rates of equal slices of time changed from the first slice to the last, by a line
/// of least squares: 0.2 for a rate that rose by 20 %. 0 for fewer than 4 slices, which show no trend.
double relative_drift(std::span<const double> rates);

/// A run that drifted by more than this is not steady: what it measured would have been another number had it lasted
/// longer.
inline constexpr double kSteadyDrift = 0.1;

}  // namespace shardkit::stats
