#pragma once

#include <optional>
#include <span>

#include "core/fields.hpp"

namespace shardkit {

/// Where the median of as many further repetitions will lie.
struct PredictionInterval {
  double low = 0;
  double high = 0;

  void describe(FieldVisitor& v) {
    v.field({"low", Unit::none, "lower end"}, low);
    v.field({"high", Unit::none, "upper end"}, high);
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

}  // namespace shardkit
