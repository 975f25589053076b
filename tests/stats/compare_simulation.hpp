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
  Noise noise = noises().front();  ///< of repetitions
  Better better = Better::higher;
  double shift = 0;         ///< by how much metrics became worse: 0.1 is a tenth
  std::size_t shifted = 6;  ///< in so many of the metrics
  std::size_t metrics = 6;
  double run_deviation = 0;  ///< of the level of a run
  std::size_t runs = 10;     ///< a side, in turns
  std::size_t repetitions = 5;
  bool paired = true;
  double drift = 0;  ///< of the machine over the whole session
};

/// Shares of the calls that say so.
struct Shares {
  double regressed = 0;
  double inconclusive = 0;
  double pass = 0;
  double improved = 0;  ///< in any metric
  double needed = 0;    ///< mean number of runs per side that calls without a verdict ask for; 0: none did
};

/// One metric; the sides take turns.
inline stats::MetricSamples draw_samples(const Scenario& scenario, bool shifted, Prng& prng) {
  stats::MetricSamples metric{.better = scenario.better, .threshold = 0.05, .paired = scenario.paired};
  const double worse = shifted ? scenario.shift : 0;
  for (std::size_t i = 0; i < 2 * scenario.runs; ++i) {
    const double time = static_cast<double>(i) / static_cast<double>(2 * scenario.runs);
    double level = (1 + scenario.run_deviation * prng.normal()) * (1 + scenario.drift * time);
    if (i % 2 == 1) level *= scenario.better == Better::higher ? 1 - worse : 1 + worse;
    std::vector<double>& run = (i % 2 == 0 ? metric.base : metric.changed).emplace_back();
    for (std::size_t k = 0; k < scenario.repetitions; ++k) run.push_back(level * (1 + scenario.noise.draw(prng)));
  }
  return metric;
}

inline Shares simulate(const Scenario& scenario, std::size_t calls, std::uint64_t seed) {
  Prng prng(seed);
  Shares shares;
  std::size_t asked = 0;
  const double one = 1 / static_cast<double>(calls);
  for (std::size_t call = 0; call < calls; ++call) {
    std::vector<stats::MetricSamples> metrics;
    for (std::size_t i = 0; i < scenario.metrics; ++i) {
      metrics.push_back(draw_samples(scenario, i < scenario.shifted, prng));
    }
    const std::vector<stats::Change> changes = stats::judge_changes(metrics);
    const auto any = [&](stats::ChangeVerdict verdict) {
      return std::ranges::any_of(changes, [&](const stats::Change& change) { return change.verdict == verdict; });
    };
    if (any(stats::ChangeVerdict::improved)) shares.improved += one;
    std::uint64_t most = 0;
    for (const stats::Change& change : changes) most = std::max(most, change.runs_needed.value_or(0));
    if (most > 0)
      shares.needed =
          (shares.needed * static_cast<double>(asked) + static_cast<double>(most)) / static_cast<double>(asked + 1);
    asked += most > 0 ? 1 : 0;
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
