#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/results/result_file.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

/// `iobench aggregate`: many nodes that measured at the same time: what they deliver together, and which are slow.
namespace shardkit::bench {

struct AggregateOptions {
  std::vector<std::string> results;
  std::optional<std::string> group_by = {};
  std::optional<std::string> gate = {};
  std::optional<std::string> alone = {};

  void describe(FieldList& v);
};

/// A rate of a node, compared with those of its group.
struct FleetRate {
  std::string metric;
  double value = 0;
  double of_median = 0;  ///< divided by the median of the group
  bool straggler = false;

  void describe(FieldList& v);
};

struct FleetNode {
  std::string name;
  std::string group;  ///< value of the label of --group-by
  bool straggler = false;
  bool gate_missed = false;
  double slowest = 1;  ///< smallest of_median
  std::string slowest_metric;
  std::string disturbed;  ///< why its values say nothing
  std::string file;
  std::string started_at;
  std::optional<double> clock_offset;
  std::vector<FleetRate> rates;
  std::string text;  ///< why it is listed; empty for a healthy node

  void describe(FieldList& v);
};

/// All nodes in the seconds in which every one ran the stage.
struct StageSum {
  std::string stage;
  std::uint64_t seconds = 0;
  std::optional<double> bytes_per_second;  ///< of all nodes together
  std::optional<double> samples_per_second;

  void describe(FieldList& v);
};

/// One node alone, and all together.
struct Ceiling {
  double alone_bytes_per_second = 0;
  double together_bytes_per_second = 0;
  double of_sum = 0;  ///< together divided by nodes times alone
  bool limits = false;
  std::string text;

  void describe(FieldList& v);
};

struct AggregateResult {
  std::string text;
  std::uint64_t nodes = 0;
  std::uint64_t stragglers = 0;
  std::uint64_t gate_missed = 0;
  std::string slowest;                 ///< node with the smallest share of its group's median
  std::vector<std::string> exclude;    ///< stragglers, and nodes that miss the gate
  std::optional<double> clock_spread;  ///< of the nodes' clocks, in seconds
  std::vector<StageSum> stages;
  std::optional<Ceiling> ceiling;
  std::vector<FleetNode> rows;  ///< the slowest first
  std::vector<LeftOut> left_out;

  bool has_findings() const { return !exclude.empty(); }
  void describe(FieldList& v);
};

/// Reads the results and judges them. Those of another verb, version, job or data than most are left out and listed,
/// and so are older results of a node. Warns if clocks differ by more than a second, and if there is no second
/// in which all ran. Throws Error{usage} without a usable result, and those of read_gate().
AggregateResult aggregate(const AggregateOptions& options, Context& context);

/// The indexes of rates below median - 4 * 1.4826 * MAD (Leys et al., Journal of Experimental Social Psychology 49,
/// 2013, use 2.5 to 3 for few values; of 1000 nodes, 3 would report a healthy one each time) and below 90 % of the
/// median: noise alone is not reported for a fleet of nearly equal nodes. Empty for fewer than 4.
std::vector<std::size_t> stragglers(std::span<const double> rates);

}  // namespace shardkit::bench
