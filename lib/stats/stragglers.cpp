#include "stats/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "stats/comparison.hpp"
#include "stats/summary.hpp"

namespace shardkit::stats {
namespace {

/// From the median of absolute differences to a standard deviation, for normal noise.
constexpr double kDeviationOfMedian = 1.4826;
/// The same from the difference that a tenth of them exceeds.
constexpr double kDeviationOfTenth = 1 / 1.645;
/// So many show that difference.
constexpr std::size_t kManyDifferences = 64;
/// The fleet's noise counts as much as that of so many nodes of the group.
constexpr double kFleetWeight = 64;

double median_of(const std::vector<double>& values) { return summarize(values).median; }

/// A node with usable runs.
struct Judged {
  std::size_t at = 0;               ///< its place in the fleet
  double level = 0;                 ///< logarithm of the median of its rates
  double others = 0;                ///< median level of the other nodes of its group
  std::vector<double> losses = {};  ///< how far each run is below `others`, the newest first; negative if above
};

using Group = std::vector<Judged>;

std::map<std::size_t, Group> groups_of(std::span<const NodeRates> nodes) {
  std::map<std::size_t, Group> groups;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].rates.empty()) continue;
    groups[nodes[i].group].push_back({.at = i, .level = std::log(median_of(nodes[i].rates))});
  }
  return groups;
}

/// Fills in what needs the whole group.
void compare_within(Group& group, std::span<const NodeRates> nodes) {
  std::ranges::sort(group, {}, &Judged::level);
  const std::size_t others = group.size() - 1;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto level = [&](std::size_t at) { return group[at < i ? at : at + 1].level; };  // without this node
    Judged& node = group[i];
    node.others = (level((others - 1) / 2) + level(others / 2)) / 2;
    for (const double rate : nodes[node.at].rates) node.losses.push_back(node.others - std::log(rate));
  }
}

/// Groups whose noise is estimated together.
struct Pool {
  std::vector<Judged> nodes;

  /// A standard deviation. The middle of the differences decides, and where there are many their upper tenth too, which
  /// is heavier than normal for some noise; slow nodes, which are few, do not.
  double noise() const {
    std::vector<double> differences;
    for (const Judged& node : nodes) {
      for (const double loss : node.losses) differences.push_back(std::abs(loss));
    }
    std::ranges::sort(differences);
    const auto count = static_cast<double>(differences.size());
    const double middle =
        kDeviationOfMedian * median_of(differences) * count / (count - 1);  // few show too little of it
    if (differences.size() < kManyDifferences) return middle;
    return std::max(middle, kDeviationOfTenth * differences[differences.size() * 9 / 10]);
  }
};

std::vector<Pool> pools_of(const std::map<std::size_t, Group>& groups) {
  std::vector<Pool> pools(1);  // the first is that of small groups
  for (const auto& [name, group] : groups) {
    if (group.size() < kLeastGroup) continue;
    Pool& pool = group.size() < kOwnNoise ? pools.front() : pools.emplace_back();
    pool.nodes.insert(pool.nodes.end(), group.begin(), group.end());
  }
  std::erase_if(pools, [](const Pool& pool) { return pool.nodes.size() < kLeastNodes; });
  return pools;
}

/// The noise, in deviations, that a loss must exceed.
struct Limits {
  double suspect = 0;
  double slow = 0;  ///< in each of several runs
};

NodeVerdict verdict_on(const Judged& node, double noise, const Limits& deviations) {
  const double least = -std::log(1 - kLeastLoss);
  const double best_run = std::ranges::min(node.losses);
  if (node.losses.size() > 1 && best_run > std::max(deviations.slow * noise, least)) return NodeVerdict::slow;
  if (node.losses.front() > std::max(deviations.suspect * noise, least)) return NodeVerdict::suspect;
  return deviations.suspect * noise > -std::log(1 - kLargestHiddenLoss) ? NodeVerdict::undecided : NodeVerdict::healthy;
}

}  // namespace

std::vector<NodeJudgment> judge_nodes(std::span<const NodeRates> nodes, std::size_t metrics) {
  std::vector<NodeJudgment> judgments(nodes.size());
  auto groups = groups_of(nodes);
  std::size_t tests = 0;
  for (auto& [name, group] : groups) {
    if (group.size() < 2) continue;
    compare_within(group, nodes);
    tests += group.size();
    std::vector<double> levels;
    for (const Judged& node : group) levels.push_back(node.level);
    const double middle = std::exp(median_of(levels));
    for (const Judged& node : group) judgments[node.at].of_median = nodes[node.at].rates.front() / middle;
  }
  const std::vector<Pool> pools = pools_of(groups);
  Pool fleet;
  for (const Pool& pool : pools) fleet.nodes.insert(fleet.nodes.end(), pool.nodes.begin(), pool.nodes.end());
  if (fleet.nodes.empty()) return judgments;
  const double fleet_noise = fleet.noise();
  const auto deviations_at = [&](double share) {
    return student_quantile(share / static_cast<double>(tests * metrics), 0);
  };
  const Limits deviations{deviations_at(kFalseSuspects), deviations_at(kFalseRuns)};
  for (const Pool& pool : pools) {
    const auto count = static_cast<double>(pool.nodes.size());
    const double noise = std::sqrt((count * std::pow(pool.noise(), 2) + kFleetWeight * std::pow(fleet_noise, 2)) /
                                   (count + kFleetWeight));
    for (const Judged& node : pool.nodes) judgments[node.at].verdict = verdict_on(node, noise, deviations);
  }
  return judgments;
}

}  // namespace shardkit::stats
