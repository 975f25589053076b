#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/prng.hpp"
#include "noise.hpp"
#include "stats/comparison.hpp"

/// Calls of the comparator on values whose true change is known.
namespace shardkit::test {

struct Scenario {
  Noise noise;
  Better better = Better::higher;
  double shift = 0;         ///< by how much metrics became worse: 0.1 is a tenth
  std::size_t shifted = 6;  ///< in so many of the metrics
  std::size_t metrics = 6;
  std::size_t repetitions = 10;  ///< a side
  double drift = 0;              ///< of the machine over the whole session, in which the sides take turns
};

/// Shares of the calls that say so.
struct Shares {
  double regressed = 0;
  double inconclusive = 0;
  double pass = 0;
};

/// One metric on both sides, base and new in turns.
struct Values {
  std::vector<double> base;
  std::vector<double> changed;
};

inline Values draw_values(const Scenario& scenario, bool shifted, Prng& prng) {
  Values values;
  const double worse = scenario.better == Better::higher ? 1 - scenario.shift : 1 + scenario.shift;
  for (std::size_t i = 0; i < 2 * scenario.repetitions; ++i) {
    const double time = static_cast<double>(i) / static_cast<double>(2 * scenario.repetitions);
    const double measured = (1 + scenario.noise.draw(prng)) * (1 + scenario.drift * time);
    if (i % 2 == 0) {
      values.base.push_back(measured);
    } else {
      values.changed.push_back(measured * (shifted ? worse : 1));
    }
  }
  return values;
}

inline Shares simulate(const Scenario& scenario, std::size_t calls, std::uint64_t seed) {
  Prng prng(seed);
  Shares shares;
  const double one = 1 / static_cast<double>(calls);
  for (std::size_t call = 0; call < calls; ++call) {
    std::vector<Values> values;
    std::vector<stats::MetricSamples> metrics;
    for (std::size_t i = 0; i < scenario.metrics; ++i) {
      values.push_back(draw_values(scenario, i < scenario.shifted, prng));
    }
    for (const Values& v : values) metrics.push_back({v.base, v.changed, scenario.better, 0.05});
    const std::vector<stats::Change> changes = stats::judge_changes(metrics);
    const auto any = [&](stats::ChangeVerdict verdict) {
      return std::ranges::any_of(changes, [&](const stats::Change& change) { return change.verdict == verdict; });
    };
    if (any(stats::ChangeVerdict::regressed)) {
      shares.regressed += one;
    } else if (any(stats::ChangeVerdict::inconclusive)) {
      shares.inconclusive += one;
    } else {
      shares.pass += one;
    }
  }
  return shares;
}

}  // namespace shardkit::test
