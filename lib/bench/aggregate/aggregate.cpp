#include "bench/aggregate/aggregate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/compare/gate.hpp"
#include "bench/compare/measurements.hpp"
#include "core/error.hpp"
#include "core/json_fields.hpp"
#include "core/metric_text.hpp"
#include "core/text.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

/// What a node did in a second.
struct Work {
  double bytes = 0;
  double samples = 0;
};

struct Node {
  FleetNode row;
  std::map<std::string, std::map<std::uint64_t, Work>> seconds;  ///< by stage
  Measurements measured;
  std::string version;
  std::string job;  ///< what the run was judged by
};

/// Results under one set of conditions.
using NodeClass = std::vector<Node>;

/// Nodes whose clocks differ by more have no common seconds that can be trusted.
constexpr double kMostClockSpread = 1;
/// All nodes together below this share of the sum of single ones: something that they share limits.
constexpr double kCeilingShare = 0.8;

/// From the median of the absolute deviations to a standard deviation, for normal noise.
constexpr double kDeviationOfMad = 1.4826;
constexpr double kStragglerDeviations = 4;
constexpr double kStragglerShare = 0.1;  ///< of the median that is missing at least
/// Fewer nodes show no median to compare with.
constexpr std::size_t kLeastNodesOfGroup = 4;

constexpr std::string_view kReadRate = "read.bytes_per_second";

/// Rates that tell a slow node: not those that follow from others.
bool is_judged(const ComparedField& metric) {
  return metric.comparison.better == Better::higher && !metric.comparison.derived;
}

/// "resnet50-h100, 1,786 samples/s", or "none".
std::string job_of(const Json& envelope) {
  const auto rate = number_at(envelope, "result.requirement.samples_per_second");
  if (!rate) return "none";
  const std::string preset = text_at(envelope, "result.requirement.preset").value_or("");
  return fmt::format("{}{}{} samples/s", preset, preset.empty() ? "" : ", ", format_rounded_count(*rate));
}

std::string straggler_text(const FleetNode& row) {
  if (!row.straggler) return {};
  return fmt::format("{} {:.0f} % below the median{}{}", row.slowest_metric, (1 - row.slowest) * 100,
                     row.group.empty() ? "" : " of " + row.group, row.disturbed.empty() ? "" : "; " + row.disturbed);
}

/// "8 nodes: 9.40 GB/s together (read, 14 s); 1 straggler: node17"
std::string text_of(const AggregateResult& result) {
  std::string text = format_count(result.nodes, "node");
  for (const StageSum& stage : result.stages) {
    const bool has_bytes = stage.bytes_per_second.value_or(0) > 0;
    if (stage.seconds == 0 || stage.stage != "read" || !has_bytes) continue;
    text += fmt::format(": {} together ({}, {} s)", format_rate(*stage.bytes_per_second), stage.stage, stage.seconds);
  }
  if (result.exclude.empty())
    return text + (result.nodes < kLeastNodesOfGroup ? "; too few to judge" : "; none is slow");
  text += fmt::format("; {} {}: {}", result.exclude.size(), result.gate_missed > 0 ? "to exclude" : "slow",
                      listed(result.exclude, 5));
  return text;
}

Ceiling ceiling_of(double alone, double together, std::size_t nodes) {
  Ceiling ceiling{.alone_bytes_per_second = alone, .together_bytes_per_second = together, .text = {}};
  ceiling.of_sum = together / (alone * static_cast<double>(nodes));
  ceiling.limits = ceiling.of_sum < kCeilingShare;
  ceiling.text = fmt::format("one node {}, {} together {}: {}", format_rate(alone), nodes, format_rate(together),
                             ceiling.limits ? "what they share limits" : "what they share does not limit");
  return ceiling;
}

Node read_node(const std::string& file, const Json& envelope, const std::optional<std::string>& label) {
  Node node;
  node.row.name = node_of(envelope);
  if (node.row.name.empty()) node.row.name = "unnamed";
  node.row.file = file;
  node.row.started_at = text_at(envelope, "started_at").value_or("");
  node.row.clock_offset = number_at(envelope, "result.start.clock_offset_seconds");
  node.job = job_of(envelope);
  node.version = text_at(envelope, "tool.version").value_or("");
  if (label) {
    node.row.group = fmt::format("{}={}", *label, text_at(envelope, "host.labels." + *label).value_or("(none)"));
  }
  add_run(file, envelope, node.measured);
  settle(node.measured);
  node.row.disturbed = node.measured.runs.front().disturbed;
  const Json* seconds = member(envelope, "result.seconds");
  if (seconds == nullptr || !seconds->is_array()) return node;
  constexpr double kWhole = 0.9;  // of a second with this stage
  for (const Json& row : *seconds) {
    const auto at = number_at(row, "unix_time_seconds");
    if (!at || *at < 0 || number_at(row, "measured_seconds").value_or(0) < kWhole) continue;
    Work& work = node.seconds[text_at(row, "stage").value_or("")][static_cast<std::uint64_t>(*at)];
    work.bytes += number_at(row, "bytes").value_or(0);
    work.samples += number_at(row, "samples").value_or(0);
  }
  return node;
}

/// Why two results cannot be added: another verb, version, job or data. Machines may differ.
std::string mismatch(const Node& node, const Node& other) {
  const std::vector<std::string> machines{"host"};
  if (node.version != other.version) {
    return fmt::format("of version {}, not {} as most", node.version, other.version);
  }
  if (node.job != other.job) return fmt::format("for the job '{}', not '{}' as most", node.job, other.job);
  for (const Difference& difference : differences(node.measured.conditions, other.measured.conditions, machines)) {
    if ((!difference.decisive && !difference.disturbs) || difference.allowed) continue;
    return fmt::format("{} is '{}', not '{}' as for most", difference.key, difference.base, difference.changed);
  }
  return {};
}

/// Adds a node to the results that it can be added to.
void add(Node node, std::vector<NodeClass>& classes) {
  const auto fits = [&](const NodeClass& known) { return mismatch(node, known.front()).empty(); };
  const auto found = std::ranges::find_if(classes, fits);
  (found == classes.end() ? classes.emplace_back() : *found).push_back(std::move(node));
}

void keep_newest(NodeClass& nodes, std::vector<LeftOut>& left_out) {
  const auto by_name = [](const Node& a, const Node& b) {
    return std::tie(a.row.name, b.row.started_at) < std::tie(b.row.name, a.row.started_at);
  };
  std::ranges::stable_sort(nodes, by_name);
  NodeClass kept;
  for (Node& node : nodes) {
    if (!kept.empty() && kept.back().row.name == node.row.name) {
      left_out.push_back({node.row.file, fmt::format("an older result of node '{}'", node.row.name)});
    } else {
      kept.push_back(std::move(node));
    }
  }
  nodes = std::move(kept);
}

void judge_rate(const std::string& metric, const std::vector<Node*>& group) {
  std::vector<FleetNode*> rows;
  std::vector<double> rates;
  for (Node* node : group) {
    const std::optional<double> rate = node->measured.median(metric);
    if (!rate) continue;
    rows.push_back(&node->row);
    rates.push_back(*rate);
  }
  const double median = stats::summarize(rates).median;
  if (rates.empty() || median <= 0) return;
  const std::vector<std::size_t> slow = stragglers(rates);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    FleetNode& row = *rows[i];
    const bool is_slow = std::ranges::binary_search(slow, i);
    row.rates.push_back({metric, rates[i], rates[i] / median, is_slow});
    row.straggler = row.straggler || is_slow;
    if (!row.slowest_metric.empty() && rates[i] / median >= row.slowest) continue;
    row.slowest = rates[i] / median;
    row.slowest_metric = metric;
  }
}

void judge_rates(NodeClass& nodes) {
  std::map<std::string, std::vector<Node*>> groups;
  for (Node& node : nodes) groups[node.row.group].push_back(&node);
  for (const auto& [name, group] : groups) {
    for (const ComparedField& metric : compare_metrics()) {
      if (is_judged(metric)) judge_rate(metric.name(), group);
    }
  }
}

void judge_gate(const std::vector<GateRequirement>& gate, NodeClass& nodes) {
  for (Node& node : nodes) {
    node.row.text = straggler_text(node.row);
    for (const GateRow& row : check_gate(gate, node.measured)) {
      if (row.verdict != GateVerdict::missed && row.verdict != GateVerdict::absent) continue;
      node.row.gate_missed = true;
      node.row.text += fmt::format("{}{} {}", node.row.text.empty() ? "" : "; ", row.metric, row.text);
    }
  }
}

std::vector<StageSum> sums(const NodeClass& nodes) {
  std::set<std::string> stages;
  for (const Node& node : nodes) {
    for (const auto& [stage, seconds] : node.seconds) stages.insert(stage);
  }
  std::vector<StageSum> sums;
  for (const std::string& stage : stages) {
    struct Together : Work {
      std::size_t nodes = 0;
    };
    std::map<std::uint64_t, Together> seconds;
    for (const Node& node : nodes) {
      const auto found = node.seconds.find(stage);
      if (found == node.seconds.end()) continue;
      for (const auto& [second, work] : found->second) {
        Together& sum = seconds[second];
        sum.bytes += work.bytes;
        sum.samples += work.samples;
        ++sum.nodes;
      }
    }
    StageSum& sum = sums.emplace_back(StageSum{.stage = stage, .bytes_per_second = {}, .samples_per_second = {}});
    Work total;
    for (const auto& [second, work] : seconds) {
      if (work.nodes < nodes.size()) continue;
      ++sum.seconds;
      total.bytes += work.bytes;
      total.samples += work.samples;
    }
    if (sum.seconds == 0) continue;
    if (total.bytes > 0) sum.bytes_per_second = total.bytes / static_cast<double>(sum.seconds);
    if (total.samples > 0) sum.samples_per_second = total.samples / static_cast<double>(sum.seconds);
  }
  return sums;
}

AggregateResult combine(std::vector<NodeClass> classes, const std::vector<GateRequirement>& gate,
                        std::vector<LeftOut> left_out) {
  if (classes.empty()) {
    throw usage_error("no result can be used: {}", left_out.empty() ? "none was given" : left_out.front().reason);
  }
  std::ranges::stable_sort(classes, std::ranges::greater(), [](const NodeClass& one) { return one.size(); });
  for (const NodeClass& other : std::span(classes).subspan(1)) {
    for (const Node& node : other) left_out.push_back({node.row.file, mismatch(node, classes.front().front())});
  }
  NodeClass& nodes = classes.front();
  keep_newest(nodes, left_out);
  judge_rates(nodes);
  judge_gate(gate, nodes);
  AggregateResult result;
  result.nodes = nodes.size();
  result.stages = sums(nodes);
  result.left_out = std::move(left_out);
  std::optional<double> earliest;
  std::optional<double> latest;
  for (Node& node : nodes) {
    const FleetNode& row = node.row;
    result.stragglers += row.straggler ? 1 : 0;
    result.gate_missed += row.gate_missed ? 1 : 0;
    if (row.straggler || row.gate_missed) result.exclude.push_back(row.name);
    if (row.clock_offset) {
      earliest = std::min(earliest.value_or(*row.clock_offset), *row.clock_offset);
      latest = std::max(latest.value_or(*row.clock_offset), *row.clock_offset);
    }
    result.rows.push_back(std::move(node.row));
  }
  if (earliest) result.clock_spread = *latest - *earliest;
  std::ranges::stable_sort(result.rows, {}, &FleetNode::slowest);
  result.slowest = result.rows.front().name;
  result.text = text_of(result);
  return result;
}

}  // namespace

std::vector<std::size_t> stragglers(std::span<const double> rates) {
  if (rates.size() < kLeastNodesOfGroup) return {};
  const double median = stats::summarize(rates).median;
  std::vector<double> deviations;
  for (const double rate : rates) deviations.push_back(std::abs(rate - median));
  const double noise = kDeviationOfMad * stats::summarize(deviations).median;
  const double limit = std::min(median - kStragglerDeviations * noise, (1 - kStragglerShare) * median);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] < limit) found.push_back(i);
  }
  return found;
}

AggregateResult aggregate(const AggregateOptions& options, Context& context) {
  context.progress().start("reading results", 0, 0, "results");
  std::vector<GateRequirement> gate;
  if (options.gate) gate = read_gate(*options.gate);
  std::vector<NodeClass> classes;
  auto left_out = for_each_result(options.results, context, [&](const std::string& file, const Json& envelope) {
    add(read_node(file, envelope, options.group_by), classes);
    context.progress().items.fetch_add(1, std::memory_order_relaxed);
  });
  AggregateResult result = combine(std::move(classes), gate, std::move(left_out));
  const auto read = std::ranges::find(result.stages, "read", &StageSum::stage);
  const bool together = read != result.stages.end() && read->bytes_per_second;
  if (options.alone) {
    const Measurements alone = read_measurements(*options.alone, context);
    const std::optional<double> rate = alone.median(std::string(kReadRate));
    if (!rate) {
      throw Error(ErrorCode::usage, At{*options.alone}, "--alone: '{}' does not measure {}", *options.alone, kReadRate);
    }
    if (together && *rate > 0) result.ceiling = ceiling_of(*rate, *read->bytes_per_second, result.nodes);
  }
  if (result.nodes > 1 && !together) {
    context.warn("no_overlap",
                 "there is no second in which all nodes were reading, so no sum: start them together with `iobench run "
                 "--barrier DIR --world N` or --start-at");
  }
  if (result.clock_spread.value_or(0) > kMostClockSpread) {
    const auto by_clock = [](const FleetNode& row) { return row.clock_offset.value_or(0); };
    const auto [low, high] = std::ranges::minmax_element(result.rows, {}, by_clock);
    context.warn(
        "clocks_differ",
        "the clocks of {} and {} differ by {:.1f} s: seconds of the nodes do not match, so sums are too small; "
        "synchronize the clocks",
        low->name, high->name, *result.clock_spread);
  }
  return result;
}

void AggregateOptions::describe(FieldList& v) {
  v.field({"RESULT", "results of `iobench run` on each node, or folders of them", Role::positional}, results);
  v.field({"group-by", "compare a node only with nodes that have the same value of this label: rack", "LABEL"},
          group_by);
  v.field({"gate", "requirements that each node must meet, as for `iobench compare`", Role::input_file}, gate);
  v.field({"alone", "result of one of the nodes measured alone, to find out whether the storage limits all together",
           Role::input_file},
          alone);
}

void FleetRate::describe(FieldList& v) {
  v.field({"metric", "name of the metric"}, metric);
  v.field({"value", "rate of this node"}, value);
  v.field({"of_median", Unit::factor, "rate divided by the median of its group"}, of_median);
  v.field({"straggler", "true if the node is slow in this metric"}, straggler);
}

void FleetNode::describe(FieldList& v) {
  v.field({"name", "name of the node", kLabel}, name);
  v.field({"group", "value of its label"}, group);
  v.field({"straggler", "true if a rate is below the median of its group by more than 4 deviations and 10 %"},
          straggler);
  v.field({"gate_missed", "true if it misses a requirement of the gate"}, gate_missed);
  v.field({"slowest", Unit::factor, "its lowest rate divided by the median of its group"}, slowest);
  v.field({"slowest_metric", "that rate"}, slowest_metric);
  v.field({"disturbed", "what other processes used meanwhile, if it disturbed"}, disturbed);
  v.field({"file", "its result"}, file);
  v.field({"started_at", "start of the run"}, started_at);
  v.field({"clock_offset", Unit::seconds, "its clock less that of the file server"}, clock_offset);
  v.field({"rates", "its rates"}, rates);
  v.field({"text", "why it is slow or misses the gate"}, text);
}

void StageSum::describe(FieldList& v) {
  v.field({"stage", "stage of the run", kLabel}, stage);
  v.field({"common_seconds", Unit::seconds, "seconds in which all nodes ran it"}, seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "sum of all nodes in these seconds"}, bytes_per_second);
  v.field({"samples_per_second", Unit::per_second, "sum of all nodes in these seconds"}, samples_per_second);
}

void Ceiling::describe(FieldList& v) {
  v.field({"alone_bytes_per_second", Unit::bytes_per_second, "rate of a node alone"}, alone_bytes_per_second);
  v.field({"together_bytes_per_second", Unit::bytes_per_second, "rate of all together"}, together_bytes_per_second);
  v.field({"of_sum", Unit::factor, "together divided by the number of nodes times alone"}, of_sum);
  v.field({"limits", "true below 0.8: what the nodes share limits"}, limits);
  v.field({"text", "in a line"}, text);
}

void AggregateResult::describe(FieldList& v) {
  v.field({"text", "the result in a line"}, text);
  v.field({"nodes_judged", Unit::count, "nodes that are judged"}, nodes);
  v.field({"stragglers", Unit::count, "nodes that are slower than their group"}, stragglers);
  v.field({"gate_missed", Unit::count, "nodes that miss the gate"}, gate_missed);
  v.field({"slowest", "the slowest node"}, slowest);
  v.field({"exclude", "nodes that are slow or miss the gate"}, exclude);
  v.field({"clock_spread", Unit::seconds, "largest difference of the nodes' clocks"}, clock_spread);
  v.field({"stages", "all nodes together, by stage"}, stages);
  v.field({"ceiling", "one node alone against all together"}, ceiling);
  v.field({"nodes", "each node, the slowest first"}, rows);
  v.field({"left_out", "results that are not part of it"}, left_out);
}

}  // namespace shardkit::bench
