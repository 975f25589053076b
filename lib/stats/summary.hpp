#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/fields.hpp"

/// Evaluates a curve of rates at rising levels: connections, threads, block sizes.
namespace shardkit::stats {

/// A range of a measured quantity, in its unit.
struct Interval {
  double low = 0;
  double high = 0;

  void describe(FieldList& v) {
    v.field({"low", "lower end"}, low);
    v.field({"high", "upper end"}, high);
  }
};

/// A measured quantity over repetitions or slices of time.
struct Summary {
  double median = 0;
  double low = 0;  ///< of an interval that contains the true median with at least 95 % probability
  double high = 0;

  Interval interval() const { return {low, high}; }
};

/// Median and its distribution-free interval by order statistics: the narrowest pair of ranks symmetric about the
/// middle whose binomial probability is at least 0.95 (Conover, Practical Nonparametric Statistics, 3.2). Fewer than 6
/// values cannot reach it; then the interval is their full range. Zeros for no values.
Summary summarize(std::span<const double> values);

/// The knee: index of the first level with at least 95 % of the best rate. Requires a curve with values.
std::size_t knee_of(std::span<const double> rates);

/// 1, 2, 4, ... below `most`, and `most`.
std::vector<std::uint64_t> doubling_up_to(std::uint64_t most);

/// True when more levels gain nothing: neither of the last two is 5 % above the best before it.
bool has_levelled_off(std::span<const double> rates);

/// Relative change of the rates of equal slices of time from the first to the last, from a line of least squares: 0.2
/// for a rate that rose by 20 %. 0 for fewer than 4 slices, which show no trend.
double relative_drift(std::span<const double> rates);

/// A run with a larger drift is not steady: a longer run would have measured another value.
inline constexpr double kSteadyDrift = 0.1;

}  // namespace shardkit::stats
