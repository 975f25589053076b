#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  std::vector<std::string> expect = {};  ///< names of nodes

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

enum class NodeState {
  healthy,
  slow,       ///< slow, or missing the gate, in its two newest runs: to be taken out of service
  suspect,    ///< in its newest run: to be measured again
  undecided,  ///< it has a result that cannot be judged
  failed,     ///< its run failed
  missing,    ///< expected, and without a result
};
constexpr auto enum_names(NodeState) {
  return std::to_array<std::string_view>({"healthy", "slow", "suspect", "undecided", "failed", "missing"});
}

struct FleetNode {
  std::string name;
  NodeState state = NodeState::healthy;
  std::string group;  ///< value of the label of --group-by, and the size of the machine if there are several
  std::uint64_t runs = 0;
  bool straggler = false;  ///< slow in a rate
  bool gate_missed = false;
  double slowest = 1;  ///< smallest of_median
  std::string slowest_metric;
  std::string file;  ///< the newest
  std::string started_at;
  std::optional<double> clock_offset;
  std::vector<FleetRate> rates;
  std::string text;  ///< why it is not healthy

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
  std::uint64_t nodes = 0;     ///< with a result that was judged
  std::uint64_t expected = 0;  ///< all that are listed
  std::uint64_t stragglers = 0;
  std::uint64_t gate_missed = 0;
  std::string slowest;                 ///< node with the smallest share of its group's median
  std::vector<std::string> exclude;    ///< slow nodes
  std::vector<std::string> suspects;   ///< to be measured again,
  std::vector<std::string> controls;   ///< together with these healthy nodes
  std::vector<std::string> unjudged;   ///< undecided, failed and missing ones
  std::optional<double> clock_spread;  ///< of the nodes' clocks, in seconds
  std::vector<StageSum> stages;
  std::optional<Ceiling> ceiling;
  std::vector<FleetNode> rows;  ///< those that are not healthy first, then the slowest first
  std::vector<LeftOut> left_out;

  bool has_findings() const { return !exclude.empty() || !suspects.empty() || !unjudged.empty(); }
  void describe(FieldList& v);
};

/// Reads the results and judges each node: its rates among those of its group (stats/stragglers.hpp), and the gate. A
/// node may have several results: the newest two that nobody disturbed count. Results of another verb,
/// version, job or data than most are left out and listed, and their nodes are undecided unless they have others.
/// Warns if clocks differ by more than a second, and if there is no second in which all ran. Throws Error{usage}
/// without a usable result, for a label that no result has, and for an --alone under other conditions; and the errors
/// of read_gate().
AggregateResult aggregate(const AggregateOptions& options, Context& context);

}  // namespace shardkit::bench
