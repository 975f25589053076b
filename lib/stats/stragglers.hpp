#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

/// Which of many equal machines are slow: the rule of `iobench aggregate`. docs/explain/report.md has its error rates.
namespace shardkit::stats {

enum class NodeVerdict {
  healthy,
  suspect,    ///< slow in its newest run, which no second run confirms
  slow,       ///< slow in each of its runs, of which there are at least two
  undecided,  ///< too few nodes to compare with, no usable run, or rates that vary too much to show a slow node
};
constexpr auto enum_names(NodeVerdict) {
  return std::to_array<std::string_view>({"healthy", "suspect", "slow", "undecided"});
}

/// One metric of one node.
struct NodeRates {
  std::size_t group = 0;           ///< nodes of a group should be equally fast
  std::vector<double> rates = {};  ///< positive, one for each run, the newest first
};

struct NodeJudgment {
  NodeVerdict verdict = NodeVerdict::undecided;
  double of_median = 1;  ///< the newest rate divided by the median of the group
};

/// How often a fleet of healthy nodes has a suspect, if noise is normal.
inline constexpr double kFalseSuspects = 0.01;
/// The same of each run where several must agree: together they accuse a healthy node in fewer than 1 of 100 fleets,
/// also if the tails of the noise are heavy.
inline constexpr double kFalseRuns = 0.03;
/// A smaller loss is not reported, however even the fleet is.
inline constexpr double kLeastLoss = 0.1;
/// Nodes are undecided if noise could hide a larger loss.
inline constexpr double kLargestHiddenLoss = 0.2;
/// Smaller groups show no median that one slow node does not move.
inline constexpr std::size_t kLeastGroup = 3;
/// Groups of fewer nodes share one estimate of the noise.
inline constexpr std::size_t kOwnNoise = 8;
/// Fewer nodes that share an estimate are undecided.
inline constexpr std::size_t kLeastNodes = 4;

/// Compares the logarithm of each rate with the median of the other nodes of its group. The noise of a group is 1.4826
/// times the median absolute difference (of many, at least their ninth decile divided by 1.645), shrunk towards that of
/// the whole fleet. A run is slow if it is lower by more than the quantile of the normal distribution at which
/// kFalseSuspects or kFalseRuns of healthy fleets have such a run, and by kLeastLoss. `metrics` is how many metrics of
/// the same nodes are judged: they share these rates. Returns a judgment for each node.
std::vector<NodeJudgment> judge_nodes(std::span<const NodeRates> nodes, std::size_t metrics = 1);

}  // namespace shardkit::stats
