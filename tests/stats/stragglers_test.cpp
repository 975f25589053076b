#include "stats/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/prng.hpp"
#include "stats/fleet_simulation.hpp"
#include "support/soak.hpp"

namespace shardkit::stats {
namespace {

using test::Fleet;
using test::simulate_fleets;

/// Verdicts on nodes that were each measured once or more often, the newest run first.
std::vector<NodeVerdict> verdicts(const std::vector<std::vector<double>>& runs, std::size_t group_size = 1000) {
  std::vector<NodeRates> nodes;
  for (std::size_t i = 0; i < runs.size(); ++i) nodes.push_back({.group = i / group_size, .rates = runs[i]});
  std::vector<NodeVerdict> found;
  for (const NodeJudgment& one : judge_nodes(nodes)) found.push_back(one.verdict);
  return found;
}

std::vector<std::vector<double>> even_fleet(std::size_t nodes) {
  std::vector<std::vector<double>> runs;
  for (std::size_t i = 0; i < nodes; ++i) runs.push_back({1 + 0.01 * static_cast<double>(i % 3)});
  return runs;
}

using enum NodeVerdict;

TEST_CASE("a node is slow when two runs say so, and a suspect when one does") {
  auto fleet = even_fleet(8);
  fleet[3] = {0.5};
  CHECK(verdicts(fleet)[3] == suspect);
  fleet[3] = {0.5, 0.5};
  CHECK(verdicts(fleet)[3] == slow);
  fleet[3] = {0.5, 1};  // it became slow
  CHECK(verdicts(fleet)[3] == suspect);
  fleet[3] = {1, 0.5};  // it was repaired
  CHECK(verdicts(fleet) == std::vector(8, healthy));
}

TEST_CASE("small groups are judged together, each by its own median") {
  std::vector<std::vector<double>> racks;
  for (const double level : {1.0, 2.0, 4.0}) racks.insert(racks.end(), {{level}, {level * 1.01}, {level * 0.99}});
  CHECK(verdicts(racks, 3) == std::vector(9, healthy));
  racks[4] = {2 * 0.3};
  CHECK(verdicts(racks, 3)[4] == suspect);
}

TEST_CASE("nodes that nothing can be compared with are undecided") {
  CHECK(verdicts({{1.0}, {1.0}, {0.1}}) == std::vector(3, undecided));
  CHECK(verdicts(even_fleet(8), 2) == std::vector(8, undecided));
  CHECK(verdicts({}).empty());
  auto fleet = even_fleet(8);
  fleet[0] = {};
  CHECK(verdicts(fleet)[0] == undecided);
  CHECK(verdicts(fleet)[1] == healthy);
}

TEST_CASE("machines of two generations in one group hide a slow node, so none of them is called healthy") {
  std::vector<std::vector<double>> fleet;
  for (std::size_t i = 0; i < 20; ++i) fleet.push_back({i < 10 ? 1.0 : 2.0});
  fleet[0] = {0.36};
  const auto found = verdicts(fleet);
  CHECK(std::ranges::count(found, healthy) == 0);
}

TEST_CASE("of a healthy fleet fewer than 1 in 100 loses a node, and a slow node is found") {
  for (const test::Noise& noise : test::fleet_noises()) {
    for (const auto& [nodes, rack] : test::kFleets) {
      CAPTURE(noise.name);
      CAPTURE(nodes);
      CAPTURE(rack);
      const Fleet found = simulate_fleets({nodes, rack, noise, tries(8'000, 400'000) / nodes + 10});
      CHECK(found.lost <= 0.01 + 3 / found.fleets);
      if (nodes >= 8) CHECK(found.found >= 0.984 - 3 / found.fleets);  // 98.47 % of 250,000 fleets of 8
    }
  }
}

}  // namespace
}  // namespace shardkit::stats
