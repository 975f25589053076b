#include "stats/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include "stats/comparison.hpp"
#include "stats/summary.hpp"

namespace shardkit::stats {
namespace {

/// From the median of absolute differences to a standard deviation, for normal noise.
constexpr double kDeviationOfMedian = 1.4826;
/// Differences of more deviations are another thing than noise: a node that read from its cache.
constexpr double kMostDeviations = 5;
/// The fleet's noise counts as much as that of so many nodes of the group.
constexpr double kFleetWeight = 64;
/// The medians of several small groups vary too, by up to so much more.
constexpr double kSmallGroups = 1.5;
/// Of the levels of groups, beyond which one is slow.
constexpr double kGroupDeviations = 3;
/// A larger share of slow nodes is a level of its own.
constexpr double kFewNodes = 1.0 / 3;

/// The newest rate of each node in one round, by node.
using Rates = std::map<std::size_t, double>;
/// Those of each group.
using Groups = std::map<std::size_t, Rates>;

std::vector<double> values_of(const Rates& rates) {
  std::vector<double> values;
  for (const auto& [node, rate] : rates) values.push_back(rate);
  std::ranges::sort(values);
  return values;
}

/// The median of sorted values, without one that equals `left_out`.
double median_without(const std::vector<double>& sorted, double left_out) {
  const auto skipped = static_cast<std::size_t>(std::ranges::lower_bound(sorted, left_out) - sorted.begin());
  const bool is_in = skipped < sorted.size() && sorted[skipped] == left_out;
  const auto value = [&](std::size_t at) { return sorted[is_in && at >= skipped ? at + 1 : at]; };
  const std::size_t count = sorted.size() - (is_in ? 1 : 0);
  return (value((count - 1) / 2) + value(count / 2)) / 2;
}

double median_of(const std::vector<double>& values) { return summarize(values).median; }

/// How far two levels are apart: the values are divided at the largest gap, which is larger than twice the range of
/// each part and than `least`. So many values below or above it are only exceptions.
std::optional<double> gap_of(std::vector<double> values, double least, std::size_t most_below, std::size_t most_above) {
  std::ranges::sort(values);
  std::size_t lower = 0;
  double widest = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (const double gap = 1 - values[i - 1] / values[i]; gap > widest) {
      widest = gap;
      lower = i;
    }
  }
  if (widest < least || lower <= most_below || values.size() - lower <= most_above) return std::nullopt;
  const auto range = [](double low, double high) { return 1 - low / high; };
  const double within = std::max(range(values.front(), values[lower - 1]), range(values[lower], values.back()));
  if (2 * within >= widest) return std::nullopt;
  const std::vector<double> below(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(lower));
  const std::vector<double> above(values.begin() + static_cast<std::ptrdiff_t>(lower), values.end());
  return 1 - median_of(below) / median_of(above);
}

/// By how much the faster half of sorted values is above their median.
std::vector<double> fast_side(const std::vector<double>& sorted) {
  std::vector<double> differences;
  const double median = median_of(sorted);
  for (const double value : std::span(sorted).last(sorted.size() / 2)) differences.push_back(value / median - 1);
  return differences;
}

/// Their root mean square.
double noise_of(const std::vector<double>& differences) {
  double sum = 0;
  double count = 0;
  const double most = differences.empty() ? 0 : kMostDeviations * kDeviationOfMedian * median_of(differences);
  for (const double difference : differences) {
    if (difference > most) continue;
    sum += difference * difference;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / count);
}

/// Groups whose noise is estimated together.
struct Pool {
  std::vector<std::size_t> groups = {};
  double nodes = 0;
  double noise = 0;
};

/// Judges the nodes by one metric.
class Fleet {
 public:
  Fleet(std::span<const NodeRates> nodes, std::size_t metrics) : nodes_(nodes), losses_(nodes.size()) {
    std::set<std::size_t> numbers;
    for (const NodeRates& node : nodes) {
      for (const NodeRun& run : node.runs) numbers.insert(run.round);
    }
    std::size_t most = 0;
    for (const std::size_t number : numbers) {
      Groups groups = groups_in(number);
      std::size_t count = 0;
      for (const auto& [group, rates] : groups) count += rates.size() >= kLeastGroup ? rates.size() : 0;
      if (count > most) {
        most = count;
        estimate_noise(groups);
      }
      rounds_.emplace_back(number, std::move(groups));
    }
    const auto deviations_at = [&](double share) {
      return student_quantile(share / static_cast<double>(std::max<std::size_t>(most, 1) * metrics), 0);
    };
    suspect_deviations_ = deviations_at(kFalseSuspects);
    slow_deviations_ = deviations_at(kFalseRuns);
  }

  std::vector<NodeJudgment> judge() {
    std::vector<NodeJudgment> judgments(nodes_.size());
    for (const auto& [number, groups] : rounds_) compare(number, groups, judgments);
    for (std::size_t i = 0; i < nodes_.size(); ++i) judgments[i].verdict = verdict_on(i, judgments[i]);
    return judgments;
  }

 private:
  Groups groups_in(std::size_t round) const {
    Groups groups;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto run = std::ranges::find(nodes_[i].runs, round, &NodeRun::round);
      if (run != nodes_[i].runs.end()) groups[nodes_[i].group][i] = run->rate;
    }
    return groups;
  }

  void estimate_noise(const Groups& groups) {
    std::vector<Pool> pools(1);  // the first is that of small groups
    for (const auto& [group, rates] : groups) {
      if (rates.size() < kLeastGroup) continue;
      (rates.size() < kOwnNoise ? pools.front() : pools.emplace_back()).groups.push_back(group);
    }
    noises_.clear();
    std::vector<double> all;
    for (Pool& pool : pools) {
      std::vector<double> differences;
      for (const std::size_t group : pool.groups) {
        for (const double one : fast_side(values_of(groups.at(group)))) {
          differences.push_back(one * (pool.groups.size() > 1 ? kSmallGroups : 1));
        }
        pool.nodes += static_cast<double>(groups.at(group).size());
      }
      pool.noise = noise_of(differences);
      all.insert(all.end(), differences.begin(), differences.end());
    }
    const double of_fleet = noise_of(all);
    for (const Pool& pool : pools) {
      if (pool.nodes < kLeastNodes) continue;
      const double noise = std::sqrt((pool.nodes * pool.noise * pool.noise + kFleetWeight * of_fleet * of_fleet) /
                                     (pool.nodes + kFleetWeight));
      for (const std::size_t group : pool.groups) noises_[group] = noise;
    }
  }

  bool is_suspect(std::size_t node) const {
    return !losses_[node].empty() && losses_[node].back() > limit(node, suspect_deviations_);
  }

  double limit(std::size_t node, double deviations) const {
    const auto noise = noises_.find(nodes_[node].group);
    return std::max(noise == noises_.end() ? 0 : deviations * noise->second, kLeastLoss);
  }

  /// Of several small groups some have two levels by chance.
  double least_gap(std::size_t group, std::size_t size) const {
    const bool is_one_of_many = size < kOwnNoise && noises_.size() > 1 && noises_.contains(group);
    return std::max(kLeastLoss, is_one_of_many ? suspect_deviations_ * noises_.at(group) : 0);
  }

  /// The rates of nodes that no earlier round suspects.
  std::vector<double> controls_of(const Rates& rates) const {
    Rates controls = rates;
    std::erase_if(controls, [&](const auto& one) { return is_suspect(one.first); });
    return values_of(controls);
  }

  /// Marks two levels, and compares the nodes of slow groups with other groups. The medians of groups of one kind are
  /// those of `others`, which includes that of the group itself.
  double median_for(double median, const std::vector<double>& others, NodeJudgment& group) const {
    if (others.size() < 2) return median;
    if (others.size() < kLeastGroups) {
      group.gap = gap_of(others, kLargestHiddenLoss, 0, 0);
      return median;
    }
    const double level = median_without(others, median);
    const double loss = 1 - median / level;
    group.of_group = loss > std::max(kLargestHiddenLoss, kGroupDeviations * noise_of(fast_side(others)));
    return group.of_group ? level : median;
  }

  /// What the runs of a round are compared with, each sorted.
  struct References {
    std::map<std::size_t, std::vector<double>> controls = {};  ///< by group
    std::map<std::size_t, std::vector<double>> medians = {};   ///< of the groups of a kind
    std::map<std::size_t, std::vector<double>> fleet = {};     ///< the controls of a kind
  };

  References references_in(const Groups& groups) const {
    References found;
    for (const auto& [group, rates] : groups) {
      const std::size_t kind = kind_of(rates);
      const std::vector<double>& some = found.controls[group] = controls_of(rates);
      found.fleet[kind].insert(found.fleet[kind].end(), some.begin(), some.end());
      if (some.size() >= kLeastGroup) found.medians[kind].push_back(median_of(some));
    }
    for (auto& [kind, sorted] : found.medians) std::ranges::sort(sorted);
    for (auto& [kind, sorted] : found.fleet) std::ranges::sort(sorted);
    return found;
  }

  std::size_t kind_of(const Rates& rates) const { return nodes_[rates.begin()->first].kind; }

  void compare(std::size_t round, const Groups& groups, std::vector<NodeJudgment>& judgments) {
    References references = references_in(groups);
    std::vector<std::pair<std::size_t, double>> found;  // losses, which make suspects only of later rounds
    for (const auto& [group, rates] : groups) {
      const std::vector<double>& some = references.controls[group];
      NodeJudgment of_group;
      std::optional<double> level;
      if (some.size() >= kLeastGroup) {
        level = median_for(median_of(some), references.medians[kind_of(rates)], of_group);
      }
      const auto most_below = static_cast<std::size_t>(kFewNodes * static_cast<double>(some.size()));
      if (!of_group.gap) of_group.gap = gap_of(some, least_gap(group, some.size()), most_below, 1);
      for (const auto& [node, rate] : rates) {
        const bool from_fleet = is_suspect(node) && some.size() < kLeastGroup;
        const std::vector<double>& others = from_fleet ? references.fleet[kind_of(rates)] : some;
        if (others.size() < kLeastGroup) continue;
        const double median = of_group.of_group ? *level : median_without(others, is_suspect(node) ? 0 : rate);
        judgments[node] = of_group;
        judgments[node].of_median = rate / median;
        for (const NodeRun& run : nodes_[node].runs | std::views::reverse) {
          if (run.round == round) found.emplace_back(node, 1 - run.rate / median);
        }
      }
    }
    for (const auto& [node, loss] : found) losses_[node].push_back(loss);
  }

  NodeVerdict verdict_on(std::size_t node, const NodeJudgment& judgment) const {
    using enum NodeVerdict;
    const std::vector<double>& losses = losses_[node];
    if (losses.empty() || judgment.gap || !noises_.contains(nodes_[node].group)) return undecided;
    const double confirmed = losses.size() > 1 ? std::min(losses.back(), losses[losses.size() - 2]) : 0;
    if (confirmed > limit(node, slow_deviations_)) return slow;
    if (is_suspect(node)) return suspect;
    return limit(node, suspect_deviations_) > kLargestHiddenLoss ? undecided : healthy;
  }

  std::span<const NodeRates> nodes_;
  std::vector<std::pair<std::size_t, Groups>> rounds_;  ///< with their numbers, the oldest first
  std::map<std::size_t, double> noises_;                ///< standard deviations, by group
  std::vector<std::vector<double>> losses_;  ///< how far each run is below the median, by node, the newest last
  double suspect_deviations_ = 0;
  double slow_deviations_ = 0;
};

}  // namespace

std::vector<NodeJudgment> judge_nodes(std::span<const NodeRates> nodes, std::size_t metrics) {
  return Fleet(nodes, metrics).judge();
}

}  // namespace shardkit::stats
