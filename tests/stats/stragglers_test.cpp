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

/// Verdicts on nodes that were each measured by themselves, once or more often, the newest run first.
std::vector<NodeVerdict> verdicts(const std::vector<std::vector<double>>& runs, std::size_t group_size = 1000) {
  std::vector<NodeRates> nodes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    NodeRates& node = nodes.emplace_back(NodeRates{.group = i / group_size});
    for (const double rate : runs[i]) node.runs.push_back({0, rate});
  }
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
  for (const double level : {1.0, 1.1, 1.2}) racks.insert(racks.end(), {{level}, {level * 1.01}, {level * 0.99}});
  CHECK(verdicts(racks, 3) == std::vector(9, healthy));
  racks[4] = {0.3};
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

/// Nodes around a level, with normal noise of 3 %, all measured in round 1.
std::vector<NodeRates> noisy_fleet(std::size_t nodes, std::uint64_t seed, std::size_t rack = 1000,
                                   double rack_noise = 0.05) {
  Prng prng(seed);
  std::vector<NodeRates> fleet(nodes);
  double level = 1;
  for (std::size_t i = 0; i < nodes; ++i) {
    if (rack < nodes && i % rack == 0) level = 1 + rack_noise * prng.normal();
    fleet[i].group = i / rack;
    fleet[i].runs = {{1, level * (1 + 0.03 * prng.normal())}};
  }
  return fleet;
}

std::size_t count_of(std::span<const NodeJudgment> judgments, NodeVerdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(judgments, verdict, &NodeJudgment::verdict));
}

TEST_CASE("two levels are named, and nobody is judged") {
  for (const std::size_t fast : {4, 10, 13}) {  // of 20: the slow ones are the majority, half, or a third
    std::vector<NodeRates> fleet = noisy_fleet(20, fast);
    for (std::size_t i = fast; i < 20; ++i) fleet[i].runs[0].rate *= 0.6;
    const auto judgments = judge_nodes(fleet);
    CHECK(count_of(judgments, undecided) == 20);
    CHECK(judgments[0].gap.value() == doctest::Approx(0.4).epsilon(0.2));
  }
}

TEST_CASE("an unlabelled rack of slow nodes is found as single nodes are, in the first run") {
  for (std::uint64_t seed = 0; seed < tries(20, 1000); ++seed) {
    std::vector<NodeRates> fleet = noisy_fleet(64, seed);
    for (std::size_t i = 0; i < 8; ++i) fleet[i].runs[0].rate *= 0.6;
    const auto judgments = judge_nodes(fleet, 4);
    CHECK(count_of(std::span(judgments).first(8), suspect) == 8);
    CHECK(count_of(judgments, undecided) == 0);
  }
}

TEST_CASE("a rack is compared with the others: one of 8 at -40 % is named, and levels that differ by 5 % are not") {
  double wrong = 0;
  const std::uint64_t fleets = tries(50, 4000);
  for (std::uint64_t seed = 0; seed < fleets; ++seed) {
    for (const std::size_t racks : {8, 64}) {
      std::vector<NodeRates> fleet = noisy_fleet(8 * racks, seed, 8);
      wrong += std::ranges::any_of(judge_nodes(fleet, 4), &NodeJudgment::of_group) ? 1 : 0;
      for (std::size_t i = 0; i < 8; ++i) fleet[i].runs[0].rate *= 0.6;
      const auto judgments = judge_nodes(fleet, 4);
      CHECK(count_of(std::span(judgments).first(8), suspect) == 8);
      CHECK(judgments[0].of_group);
    }
  }
  CHECK(wrong / static_cast<double>(2 * fleets) <= 0.01);
}

TEST_CASE("of 2 to 4 racks nobody knows which is the slow one") {
  for (const std::size_t racks : {2, 3, 4}) {
    std::vector<NodeRates> fleet = noisy_fleet(8 * racks, racks, 8);
    CHECK(count_of(judge_nodes(fleet), healthy) == 8 * racks);
    for (std::size_t i = 0; i < 8; ++i) fleet[i].runs[0].rate *= 0.6;
    const auto judgments = judge_nodes(fleet);
    CHECK(count_of(judgments, undecided) == 8 * racks);
    CHECK(judgments[9].gap.value() == doctest::Approx(0.4).epsilon(0.3));
  }
}

TEST_CASE("suspects that are measured again are compared with healthy nodes in the same round") {
  std::size_t acquitted = 0;
  for (std::uint64_t seed = 0; seed < tries(100, 2500); ++seed) {
    std::vector<NodeRates> fleet = noisy_fleet(64, seed);
    Prng prng(seed + 1'000'000);
    for (std::size_t i = 0; i < 4; ++i) fleet[i].runs[0].rate *= 0.7;
    std::vector<NodeRates> alone = fleet;  // at night, when all nodes are twice as fast
    const auto again = [&](NodeRates& node, double level) {
      node.runs.insert(node.runs.begin(), NodeRun{2, 2 * level * (1 + 0.03 * prng.normal())});
    };
    for (std::size_t i = 0; i < 4; ++i) again(alone[i], 0.7);
    auto judgments = judge_nodes(alone, 4);
    CHECK(count_of(std::span(judgments).first(4), suspect) == 4);  // those runs do not count
    for (std::size_t i = 0; i < 9; ++i) again(fleet[i], i < 4 ? 0.7 : 1);
    judgments = judge_nodes(fleet, 4);
    acquitted += count_of(std::span(judgments).first(4), healthy);
    CHECK(count_of(std::span(judgments).first(4), slow) >= 3);
    for (std::size_t i = 0; i < 9; ++i) fleet[i].runs.insert(fleet[i].runs.begin(), NodeRun{3, 1.0});
    judgments = judge_nodes(fleet, 4);
    CHECK(count_of(std::span(judgments).first(4), healthy) == 4);  // repaired
  }
  CHECK(acquitted == 0);
}

TEST_CASE("one node that read from its cache hides no slow one") {
  std::vector<NodeRates> fleet = noisy_fleet(64, 1);
  fleet[0].runs[0].rate = 20;
  fleet[1].runs[0].rate = 0.7;
  const auto judgments = judge_nodes(fleet, 4);
  CHECK(judgments[1].verdict == suspect);
  CHECK(count_of(judgments, undecided) == 0);
}

/// With as many fleets by SHARDKIT_SOAK, prints the table of docs/explain/report.md.
TEST_CASE(
    "few healthy fleets have an undecided node or a suspect, few healthy nodes are called slow, and slow ones are") {
  const std::size_t usual = 8'000;
  const std::size_t runs = tries(usual, 400'000);
  for (const test::Noise& noise : test::fleet_noises()) {
    for (const auto& [nodes, rack] : test::kFleets) {
      for (const bool is_correlated : {false, true}) {
        CAPTURE(noise.name);
        CAPTURE(nodes);
        CAPTURE(rack);
        const Fleet found = simulate_fleets({nodes, rack, noise, runs / nodes + 10, is_correlated});
        const double chance = 3 / std::sqrt(found.fleets);  // of so few fleets
        const bool has_heavy_tails = noise.name.starts_with("Student");
        CHECK(found.lost <= 0.001);
        if (rack == 0) CHECK(found.undecided <= 0.05 + 0.22 * chance);
        if (!has_heavy_tails) CHECK(found.suspected <= 0.02 + 0.14 * chance);
        CHECK(found.found >= (nodes == 4 ? 0.8 : 0.95) - 0.22 * chance);
        if (runs == usual) continue;
        MESSAGE(fmt::format("| {} | {} | {} | {} | {:.1f} % | {:.1f} % | {:.3f} % | {:.1f} % |", noise.name, nodes,
                            rack == 0 ? "-" : std::to_string(rack), is_correlated ? "together" : "independent",
                            found.undecided * 100, found.suspected * 100, found.lost * 100, found.found * 100));
      }
    }
  }
}

}  // namespace
}  // namespace shardkit::stats
