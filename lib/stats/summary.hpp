#pragma once

#include <span>

#include "core/fields.hpp"

namespace shardkit {

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

}  // namespace shardkit
