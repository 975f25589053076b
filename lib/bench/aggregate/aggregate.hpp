#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/compare/compare.hpp"
#include "bench/compare/measurements.hpp"
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

/// Nodes whose clocks differ by more have no common seconds that can be trusted.
inline constexpr double kMostClockSpread = 1;
/// All nodes together below this share of the sum of single ones: something that they share limits.
inline constexpr double kCeilingShare = 0.8;

/// Collects the results of nodes; for tests and for aggregate().
class FleetReader {
 public:
  explicit FleetReader(const AggregateOptions& options);
  void add(const std::string& file, const nlohmann::json& envelope);
  AggregateResult finish(std::vector<LeftOut> left_out);

 private:
  /// By stage, and by second: bytes and samples.
  struct Work {
    double bytes = 0;
    double samples = 0;
  };
  struct Node {
    FleetNode row;
    std::map<std::string, std::map<std::uint64_t, Work>> seconds;
    Measurements measured;
    std::string version;
    std::string job;  ///< what the run was judged by
  };
  /// Results under one set of conditions.
  using Class = std::vector<Node>;

  Node read_node(const std::string& file, const nlohmann::json& envelope) const;
  static std::string mismatch(const Node& node, const Node& other);
  static void keep_newest(Class& nodes, std::vector<LeftOut>& left_out);
  static void judge_rate(const std::string& metric, const std::vector<Node*>& group);
  static void judge_rates(Class& nodes);
  void judge_gate(Class& nodes) const;
  static std::vector<StageSum> sums(const Class& nodes);

  AggregateOptions options_;
  std::vector<GateRequirement> gate_;
  std::vector<Class> classes_;
};

/// Reads the results and judges them. Those of another verb, version, job or data than most are left out and listed,
/// and so are older results of a node. Warns if clocks differ by more than kMostClockSpread, and if there is no second
/// in which all ran. Throws Error{usage} without a usable result, and the errors of read_gate().
AggregateResult aggregate(const AggregateOptions& options, Context& context);

/// From the median of the absolute deviations to a standard deviation, for normal noise.
inline constexpr double kDeviationOfMad = 1.4826;
inline constexpr double kStragglerDeviations = 4;
inline constexpr double kStragglerShare = 0.1;  ///< of the median that is missing at least
/// Fewer nodes show no median to compare with.
inline constexpr std::size_t kLeastNodesOfGroup = 4;

/// The indexes of rates below median - 4 * 1.4826 * MAD (Leys et al., Journal of Experimental Social Psychology 49,
/// 2013, use 2.5 to 3 for few values; of 1000 nodes, 3 would report a healthy one each time) and below 90 % of the
/// median: noise alone is not reported for a fleet of nearly equal nodes. Empty for fewer than kLeastNodesOfGroup.
std::vector<std::size_t> stragglers(std::span<const double> rates);

}  // namespace shardkit::bench
