#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/prng.hpp"
#include "stats/noise.hpp"
#include "stats/stragglers.hpp"

/// Fleets of nodes whose rates vary, each node measured twice: what judge_nodes() says of healthy ones, and of one that
/// is 20 % slower.
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

struct FleetCase {
  std::size_t nodes = 0;
  std::size_t rack = 0;
  Noise noise;
  std::size_t fleets = 0;
};

/// Shares of fleets.
struct Fleet {
  double fleets = 0;
  double suspected = 0;  ///< healthy fleets with a suspect after one run of each node
  double lost = 0;       ///< healthy fleets of which a node is called slow after two
  double found = 0;      ///< fleets in which the node that is 20 % slower is called slow
};

inline std::vector<stats::NodeRates> draw_fleet(const FleetCase& one, Prng& prng) {
  std::vector<stats::NodeRates> nodes(one.nodes);
  double level = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (one.rack > 0 && i % one.rack == 0) level = 1 + 0.05 * prng.normal();
    nodes[i].group = one.rack > 0 ? i / one.rack : 0;
    for (int run = 0; run < 2; ++run) nodes[i].rates.push_back(level * (1 + one.noise.draw(prng)));
  }
  return nodes;
}

inline bool has(const std::vector<stats::NodeJudgment>& judgments, stats::NodeVerdict verdict) {
  for (const stats::NodeJudgment& one : judgments) {
    if (one.verdict == verdict) return true;
  }
  return false;
}

inline Fleet simulate_fleets(const FleetCase& one, std::uint64_t seed = 1) {
  Prng prng(seed);
  Fleet share{.fleets = static_cast<double>(one.fleets)};
  for (std::size_t fleet = 0; fleet < one.fleets; ++fleet) {
    auto nodes = draw_fleet(one, prng);
    share.lost += has(stats::judge_nodes(nodes), stats::NodeVerdict::slow) ? 1 / share.fleets : 0;
    auto once = nodes;
    for (stats::NodeRates& node : once) node.rates.resize(1);
    share.suspected += has(stats::judge_nodes(once), stats::NodeVerdict::suspect) ? 1 / share.fleets : 0;
    const std::size_t slow = fleet % nodes.size();
    for (double& rate : nodes[slow].rates) rate *= 0.8;
    share.found += stats::judge_nodes(nodes)[slow].verdict == stats::NodeVerdict::slow ? 1 / share.fleets : 0;
  }
  return share;
}

}  // namespace shardkit::test
