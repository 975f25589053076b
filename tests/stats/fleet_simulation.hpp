#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/prng.hpp"
#include "stats/noise.hpp"
#include "stats/stragglers.hpp"

/// Fleets of nodes whose rates vary, each node measured twice: what judge_nodes() says of healthy ones, and of slow
/// ones.
namespace shardkit::test {

/// Noise of a run, relative to the rate.
inline const std::vector<Noise>& fleet_noises() {
  static const std::vector<Noise> all{
      {"normal, 1 %", [](Prng& prng) { return 0.01 * prng.normal(); }},
      {"normal, 3 %", [](Prng& prng) { return 0.03 * prng.normal(); }},
      {"log-normal times, 3 %", [](Prng& prng) { return std::exp(-0.03 * prng.normal()) - 1; }},
      {"Student t, 5 degrees, 3 %",
       [](Prng& prng) {
         double squares = 0;
         for (int i = 0; i < 5; ++i) squares += std::pow(prng.normal(), 2);
         return 0.03 * prng.normal() / std::sqrt(squares / 5) / std::sqrt(5.0 / 3);
       }},
  };
  return all;
}

/// Nodes, and how many of them share a rack, whose level differs from that of others by 5 %; 0: no racks.
inline constexpr auto kFleets = std::to_array<std::pair<std::size_t, std::size_t>>(
    {{4, 0}, {8, 0}, {64, 0}, {1000, 0}, {64, 4}, {1000, 4}, {1000, 16}});

/// Whole runs of four rates.
inline constexpr std::size_t kMetrics = 4;

struct FleetCase {
  std::size_t nodes = 0;
  std::size_t rack = 0;
  Noise noise;
  std::size_t fleets = 0;
  bool is_correlated = false;  ///< all rates of a run change together; else independently
  double slow = 0.2;           ///< loss of slow nodes, in each rate
  std::size_t slow_nodes = 1;
};

/// Shares.
struct Fleet {
  double fleets = 0;
  double undecided = 0;  ///< of healthy fleets, with a node that is undecided after one run of each
  double suspected = 0;  ///< of healthy fleets, with a suspect
  double lost = 0;       ///< of nodes of healthy fleets, called slow after two runs
  double found = 0;      ///< of slow nodes, called slow after two runs of each node
  double acquitted = 0;  ///< of slow nodes, healthy after those two runs
};

/// The rates of each metric.
using FleetRates = std::array<std::vector<stats::NodeRates>, kMetrics>;

/// Each node runs twice, together with all others.
inline FleetRates draw_fleet(const FleetCase& one, Prng& prng) {
  FleetRates rates;
  for (std::size_t metric = 0; metric < kMetrics; ++metric) {
    if (one.is_correlated && metric > 0) {
      rates[metric] = rates[0];
      continue;
    }
    std::vector<stats::NodeRates>& nodes = rates[metric];
    nodes.resize(one.nodes);
    double level = 1;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (one.rack > 0 && i % one.rack == 0) level = 1 + 0.05 * prng.normal();
      nodes[i].group = one.rack > 0 ? i / one.rack : 0;
      for (const std::size_t round : {2, 1}) nodes[i].runs.push_back({round, level * (1 + one.noise.draw(prng))});
    }
  }
  return rates;
}

/// The worst verdict of each node over all metrics, as in `iobench aggregate`.
inline std::vector<stats::NodeVerdict> judge_fleet(const FleetRates& rates) {
  using enum stats::NodeVerdict;
  std::vector<stats::NodeVerdict> worst(rates[0].size(), healthy);
  for (const std::vector<stats::NodeRates>& nodes : rates) {
    const auto judgments = stats::judge_nodes(nodes, kMetrics);
    for (std::size_t i = 0; i < worst.size(); ++i) {
      const auto rank = [](stats::NodeVerdict verdict) {
        return verdict == slow ? 3 : verdict == suspect ? 2 : verdict == undecided ? 1 : 0;
      };
      if (rank(judgments[i].verdict) > rank(worst[i])) worst[i] = judgments[i].verdict;
    }
  }
  return worst;
}

inline Fleet simulate_fleets(const FleetCase& one, std::uint64_t seed = 1) {
  using enum stats::NodeVerdict;
  Prng prng(seed);
  Fleet share{.fleets = static_cast<double>(one.fleets)};
  const auto part = [](const auto& verdicts, stats::NodeVerdict verdict) {
    return static_cast<double>(std::ranges::count(verdicts, verdict)) / static_cast<double>(verdicts.size());
  };
  for (std::size_t fleet = 0; fleet < one.fleets; ++fleet) {
    FleetRates rates = draw_fleet(one, prng);
    share.lost += part(judge_fleet(rates), slow) / share.fleets;
    FleetRates once = rates;
    for (auto& nodes : once) {
      for (stats::NodeRates& node : nodes) node.runs.resize(1);
    }
    const auto first = judge_fleet(once);
    share.undecided += part(first, undecided) > 0 ? 1 / share.fleets : 0;
    share.suspected += part(first, suspect) > 0 ? 1 / share.fleets : 0;
    for (auto& nodes : rates) {
      for (std::size_t i = 0; i < one.slow_nodes; ++i) {
        for (stats::NodeRun& run : nodes[(fleet + i) % one.nodes].runs) run.rate *= 1 - one.slow;
      }
    }
    const auto second = judge_fleet(rates);
    for (std::size_t i = 0; i < one.slow_nodes; ++i) {
      const double weight = 1 / share.fleets / static_cast<double>(one.slow_nodes);
      share.found += second[(fleet + i) % one.nodes] == slow ? weight : 0;
      share.acquitted += second[(fleet + i) % one.nodes] == healthy ? weight : 0;
    }
  }
  return share;
}

}  // namespace shardkit::test
