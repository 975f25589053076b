#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// Which of many equal machines are slow: the rule of `iobench aggregate`. docs/explain/report.md has its error rates.
namespace shardkit::stats {

enum class NodeVerdict {
  healthy,
  suspect,    ///< slow in its newest run, which no second run confirms
  slow,       ///< slow in its two newest runs
  undecided,  ///< too few nodes to compare with, no usable run, rates that vary too much, or two levels
};
constexpr auto enum_names(NodeVerdict) {
  return std::to_array<std::string_view>({"healthy", "suspect", "slow", "undecided"});
}

/// A run of a node.
struct NodeRun {
  std::size_t round = 0;  ///< it is compared with other nodes in the same round; later rounds have larger numbers
  double rate = 0;        ///< positive
};

/// One metric of one node.
struct NodeRates {
  std::size_t kind = 0;            ///< nodes of a kind are equal machines
  std::size_t group = 0;           ///< nodes of a group are of one kind and should be equally fast
  std::vector<NodeRun> runs = {};  ///< the newest first
};

struct NodeJudgment {
  NodeVerdict verdict = NodeVerdict::undecided;
  double of_median = 1;       ///< the newest rate that was compared, divided by the median that it was compared with
  bool of_group = false;      ///< its whole group is slow
  std::optional<double> gap;  ///< two levels of nodes, or of groups, that are so far apart: 0.4
};

/// How often a fleet of healthy nodes has a suspect, if noise is normal and well known.
inline constexpr double kFalseSuspects = 0.005;
/// How many runs of a healthy fleet are slow by chance where two of a node must agree.
inline constexpr double kFalseRuns = 1;
/// A smaller loss is not reported, however even the fleet is.
inline constexpr double kLeastLoss = 0.11;
/// Nodes are undecided if noise could hide a larger loss. A group is slow, or two levels of groups are named, from this
/// loss on: equal racks may differ by 5 %.
inline constexpr double kLargestHiddenLoss = 0.25;
/// Smaller groups show no median that one slow node does not move.
inline constexpr std::size_t kLeastGroup = 3;
/// Groups of fewer nodes share one estimate of the noise.
inline constexpr std::size_t kOwnNoise = 8;
/// Fewer nodes that share an estimate are undecided.
inline constexpr std::size_t kLeastNodes = 4;
/// Of fewer groups none is known to be the slow one.
inline constexpr std::size_t kLeastGroups = 5;

/// Compares each rate with the median of the other nodes of its group in the same round, without nodes that an earlier
/// round suspects. The noise is the root mean square of the differences on the fast side, where slow nodes cannot be,
/// in the largest round, with one value for each node; that of a group is shrunk towards that of the fleet. A run is
/// slow if it is lower by more than the quantile of the normal distribution at which kFalseSuspects or kFalseRuns of
/// healthy fleets have such a run, and by kLeastLoss. A run without others to compare it with does not count.
///
/// Groups whose median is far below that of the other groups of their kind are slow as a whole: their nodes are
/// compared with those. Where a third or more of the nodes of a group, or some of few groups, are on a lower level,
/// nobody is judged.
///
/// `metrics` is how many metrics of the same nodes are judged: they share these rates. Returns a judgment for each
/// node.
std::vector<NodeJudgment> judge_nodes(std::span<const NodeRates> nodes, std::size_t metrics = 1);

}  // namespace shardkit::stats
