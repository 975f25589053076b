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
#include "bench/start/common_start.hpp"
#include "core/error.hpp"
#include "core/json_fields.hpp"
#include "core/metric_text.hpp"
#include "core/text.hpp"
#include "stats/stragglers.hpp"
#include "system/clock.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

/// What a node did in a second.
struct Work {
  double bytes = 0;
  double samples = 0;
  double seconds = 0;  ///< how much of the second was measured
};

/// By the second since 1970, on the clock of the file server where it is known.
using WorkBySecond = std::map<std::uint64_t, Work>;

/// One result of a node.
struct NodeRun {
  std::string node;
  std::string file;
  std::string started_at;
  double started = 0;  ///< Unix time
  double elapsed = 0;  ///< seconds
  std::optional<double> clock_offset;
  bool met_others = false;  ///< it started at a barrier or at an agreed time
  std::optional<std::string> label;
  std::map<std::string, WorkBySecond> stages;
  Measurements measured;
  std::string version;
  std::string job;    ///< what the run was judged by
  std::string start;  ///< of the barrier or time at which it met others; empty: it ran by itself
  double sample_bytes = 0;

  const std::string& disturbed() const { return measured.runs.front().disturbed; }
};

/// Results under one set of conditions.
using RunClass = std::vector<NodeRun>;

/// A node with all its results, the newest first.
struct Node {
  FleetNode row;
  std::vector<NodeRun> runs;

  const NodeRun& newest() const { return runs.front(); }
};

/// Nodes whose clocks differ by more have no common seconds that can be trusted.
constexpr double kMostClockSpread = 1;
/// All nodes together below this share of the sum of single ones: something that they share limits.
constexpr double kCeilingShare = 0.8;
/// Samples of other data differ by more, also those of random parts of one set.
constexpr double kMostSampleRatio = 1.5;
/// Rates of equal machines differ by less.
constexpr double kMostRateRatio = 100;
/// Healthy nodes that a suspect is measured with again.
constexpr std::size_t kControls = 4;
/// A second counts if so much of it was measured on every node.
constexpr double kCommonSecond = 0.9;

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

/// Adds a row of `seconds`. On another clock it is a part of two seconds.
void add_second(const Json& row, double clock_offset, std::map<std::string, WorkBySecond>& stages) {
  const auto at = number_at(row, "unix_time_seconds");
  const double measured = number_at(row, "measured_seconds").value_or(0);
  if (!at || *at - clock_offset < 1 || measured <= 0) return;
  const double begin = *at - clock_offset;
  const double later = begin - std::floor(begin);  // the share in the following second
  WorkBySecond& work = stages[text_at(row, "stage").value_or("")];
  for (const auto& [second, share] :
       {std::pair(std::floor(begin), 1 - later), std::pair(std::floor(begin) + 1, later)}) {
    Work& sum = work[static_cast<std::uint64_t>(second)];
    sum.bytes += share * number_at(row, "bytes").value_or(0);
    sum.samples += share * number_at(row, "samples").value_or(0);
    sum.seconds += share * measured;
  }
}

NodeRun read_run(const std::string& file, const Json& envelope, const std::optional<std::string>& label) {
  NodeRun run;
  run.file = file;
  run.node = node_of(envelope);
  run.started_at = text_at(envelope, "started_at").value_or("");
  if (run.node.empty()) run.node = "unnamed";
  if (const auto time = system::parse_iso8601(run.started_at)) run.started = system::unix_seconds(*time);
  run.elapsed = number_at(envelope, "elapsed_seconds").value_or(0);
  run.clock_offset = number_at(envelope, "result.start.clock_offset_seconds");
  const Json* start = member(envelope, "result.start");
  run.met_others = start != nullptr && start->is_object();
  run.job = job_of(envelope);
  run.version = text_at(envelope, "tool.version").value_or("");
  if (run.met_others) {
    run.start = text_at(*start, "id").value_or("");
    if (run.start.empty()) run.start = text_at(envelope, "options.start-at").value_or("together");
  }
  run.sample_bytes = number_at(envelope, "result.read.mean_sample_bytes").value_or(0);
  if (label) run.label = text_at(envelope, "host.labels." + *label);
  add_run(file, envelope, run.measured);
  settle(run.measured);
  const Json* seconds = member(envelope, "result.seconds");
  if (seconds == nullptr || !seconds->is_array()) return run;
  for (const Json& row : *seconds) add_second(row, run.clock_offset.value_or(0), run.stages);
  return run;
}

/// Why two results cannot be added: another verb, version, job or data. Machines may differ.
std::string mismatch(const NodeRun& run, const NodeRun& other) {
  const std::vector<std::string> machines{"host"};
  if (run.version != other.version) return fmt::format("of version {}, not {} as most", run.version, other.version);
  if (run.job != other.job) return fmt::format("for the job '{}', not '{}' as most", run.job, other.job);
  for (const Difference& difference : differences(run.measured.conditions, other.measured.conditions, machines)) {
    if ((!difference.decisive && !difference.disturbs) || difference.allowed) continue;
    return fmt::format("{} is '{}', not '{}' as for most", difference.key, difference.base, difference.changed);
  }
  const auto [smaller, larger] = std::minmax(run.sample_bytes, other.sample_bytes);
  if (smaller > 0 && larger > kMostSampleRatio * smaller) {
    return fmt::format("its samples have {}, not {} as for most: other data", format_rounded_size(run.sample_bytes),
                       format_rounded_size(other.sample_bytes));
  }
  return {};
}

/// Adds a result to those that it can be added to.
void add(NodeRun run, std::vector<RunClass>& classes) {
  const auto fits = [&](const RunClass& known) { return mismatch(run, known.front()).empty(); };
  const auto found = std::ranges::find_if(classes, fits);
  (found == classes.end() ? classes.emplace_back() : *found).push_back(std::move(run));
}

FleetNode unjudged_node(std::string name, NodeState state, std::string text, std::string file = {}) {
  FleetNode node;
  node.name = std::move(name);
  node.state = state;
  node.text = std::move(text);
  node.file = std::move(file);
  return node;
}

/// The nodes of the largest class by name, each with its results.
std::vector<Node> nodes_of(RunClass& runs) {
  std::ranges::stable_sort(runs, [](const NodeRun& a, const NodeRun& b) {
    return std::tie(a.node, b.started_at) < std::tie(b.node, a.started_at);
  });
  std::vector<Node> nodes;
  for (NodeRun& run : runs) {
    if (nodes.empty() || nodes.back().row.name != run.node) {
      Node& node = nodes.emplace_back();
      node.row.name = run.node;
      node.row.file = run.file;
      node.row.started_at = run.started_at;
      node.row.clock_offset = run.clock_offset;
    }
    nodes.back().row.runs += 1;
    nodes.back().runs.push_back(std::move(run));
  }
  return nodes;
}

void set_undecided(Node& node, std::string text) {
  node.row.state = NodeState::undecided;
  node.row.text = std::move(text);
}

/// Two machines that were measured under one name are not distinguishable.
void check_name(Node& node) {
  for (std::size_t i = 1; i < node.runs.size(); ++i) {
    const NodeRun& later = node.runs[i - 1];
    const NodeRun& earlier = node.runs[i];
    constexpr double kClock = 1;  // results have whole seconds
    const bool overlap = later.started < earlier.started + earlier.elapsed - kClock;
    const auto differ = differences(earlier.measured.conditions, later.measured.conditions, {});
    const auto other = std::ranges::find_if(
        differ, [](const Difference& one) { return one.decisive && one.key.starts_with("host."); });
    if (!overlap && other == differ.end()) continue;
    set_undecided(
        node, fmt::format("'{}' and '{}' are of two machines with this name ({}); set NODE_NAME on each", later.file,
                          earlier.file, overlap ? "they ran at the same time" : other->key + " differs"));
    return;
  }
}

/// Puts nodes of one size and label into a group. Those that cannot be judged are undecided and in none.
void set_groups(std::vector<Node>& nodes, const std::optional<std::string>& label) {
  const auto has_label = [](const Node& node) { return node.newest().label.has_value(); };
  if (label && std::ranges::none_of(nodes, has_label)) {
    throw usage_error("--group-by: no result has the label '{}'; set it with `iobench run --label {}=VALUE`", *label,
                      *label);
  }
  const auto size_of = [](const Node& node) { return node.newest().measured.conditions.at("host.cpus"); };
  std::set<std::string> sizes;
  for (const Node& node : nodes) {
    if (node.newest().measured.conditions.contains("host.cpus")) sizes.insert(size_of(node));
  }
  for (Node& node : nodes) {
    check_name(node);
    if (label && !has_label(node)) set_undecided(node, fmt::format("it has no label '{}'", *label));
    if (label && has_label(node)) node.row.group = fmt::format("{}={}", *label, *node.newest().label);
    if (sizes.size() > 1) node.row.group += fmt::format("{}{} CPUs", node.row.group.empty() ? "" : ", ", size_of(node));
    if (!node.newest().disturbed().empty()) set_undecided(node, node.newest().disturbed());
  }
}

/// Numbers of common starts in the order of time; runs by themselves are compared with each other.
using Rounds = std::map<std::string, std::size_t>;

Rounds rounds_of(const std::vector<Node>& nodes) {
  std::map<std::string, double> begins;
  for (const Node& node : nodes) {
    for (const NodeRun& run : node.runs) {
      const auto begin = begins.emplace(run.start, run.started).first;
      begin->second = std::min(begin->second, run.started);
    }
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [start, begin] : begins) order.emplace_back(begin, start);
  std::ranges::sort(order);
  Rounds rounds;
  for (const auto& [begin, start] : order) rounds.emplace(start, rounds.size());
  return rounds;
}

/// The rates of one metric in the runs of a node that were not disturbed.
std::vector<stats::NodeRun> rates_of(const Node& node, const std::string& metric, const Rounds& rounds) {
  std::vector<stats::NodeRun> rates;
  for (const NodeRun& run : node.runs) {
    const std::optional<double> rate = run.measured.median(metric);
    if (rate && *rate > 0 && run.disturbed().empty()) rates.push_back({rounds.at(run.start), *rate});
  }
  return rates;
}

std::string loss_text(const FleetNode& row, const std::string& metric, const stats::NodeJudgment& judgment) {
  return fmt::format("{} {:.0f} % below the median{}", metric, (1 - judgment.of_median) * 100,
                     judgment.of_group   ? fmt::format(" of other groups, as all of {}", row.group)
                     : row.group.empty() ? ""
                                         : " of " + row.group);
}

std::string undecided_text(const std::string& metric, const stats::NodeJudgment& judgment) {
  if (judgment.gap) {
    return fmt::format("{}: two levels, {:.0f} % apart: which one is right is unknown", metric, *judgment.gap * 100);
  }
  return fmt::format("{}: too few equal nodes, or rates too uneven, to show a slow one", metric);
}

/// Takes over what one metric says; the worst of all metrics stays.
void take_judgment(FleetNode& row, const std::string& metric, double rate, const stats::NodeJudgment& judgment) {
  const bool is_slow = judgment.verdict == stats::NodeVerdict::slow;
  row.rates.push_back({metric, rate, judgment.of_median, is_slow});
  row.straggler = row.straggler || is_slow;
  if (row.slowest_metric.empty() || judgment.of_median < row.slowest) {
    row.slowest = judgment.of_median;
    row.slowest_metric = metric;
  }
  const bool is_implausible = std::max(judgment.of_median, 1 / judgment.of_median) > kMostRateRatio;
  if (row.state == NodeState::slow || (judgment.verdict == stats::NodeVerdict::healthy && !is_implausible)) return;
  if (judgment.verdict == stats::NodeVerdict::undecided || is_implausible) {
    if (row.state != NodeState::healthy && !is_implausible) return;
    row.state = NodeState::undecided;
    row.text = is_implausible ? fmt::format("{} is implausible: {:.0f} times the median", metric, judgment.of_median)
                              : undecided_text(metric, judgment);
    return;
  }
  row.state = is_slow ? NodeState::slow : NodeState::suspect;
  row.text = loss_text(row, metric, judgment);
}

void judge_metric(const std::string& metric, std::size_t metrics, const Rounds& rounds, std::vector<Node>& nodes) {
  std::map<std::string, std::size_t> groups;
  std::map<std::string, std::size_t> kinds;
  std::vector<Node*> judged;
  std::vector<stats::NodeRates> rates;
  for (Node& node : nodes) {
    if (node.row.state == NodeState::undecided && node.row.rates.empty()) continue;  // for another reason than a rate
    const std::size_t group = groups.emplace(node.row.group, groups.size()).first->second;
    const auto& conditions = node.newest().measured.conditions;
    const auto cpus = conditions.find("host.cpus");
    const std::string kind = cpus == conditions.end() ? "" : cpus->second;
    judged.push_back(&node);
    rates.push_back({kinds.emplace(kind, kinds.size()).first->second, group, rates_of(node, metric, rounds)});
  }
  const std::vector<stats::NodeJudgment> judgments = stats::judge_nodes(rates, metrics);
  const auto measured = std::ranges::count_if(rates, [](const auto& one) { return !one.runs.empty(); });
  for (std::size_t i = 0; i < judged.size(); ++i) {
    FleetNode& row = judged[i]->row;
    if (!rates[i].runs.empty()) {
      take_judgment(row, metric, rates[i].runs.front().rate, judgments[i]);
    } else if (row.state == NodeState::healthy && 2 * static_cast<std::size_t>(measured) > judged.size()) {
      row.state = NodeState::undecided;
      row.text = fmt::format("it did not measure {}, which most did", metric);
    }
  }
}

void judge_rates(std::vector<Node>& nodes) {
  std::vector<std::string> metrics;
  const Rounds rounds = rounds_of(nodes);
  for (const ComparedField& metric : compare_metrics()) {
    const std::string name = metric.name();
    const auto has_rate = [&](const Node& node) { return !rates_of(node, name, rounds).empty(); };
    if (is_judged(metric) && std::ranges::any_of(nodes, has_rate)) metrics.push_back(name);
  }
  for (const std::string& metric : metrics) judge_metric(metric, metrics.size(), rounds, nodes);
}

void append(std::string& text, const std::string& more) { text += (text.empty() ? "" : "; ") + more; }

/// What a run does not meet: the verdict on it, and the requirements in words. The verdict is met, inconclusive or
/// missed.
std::pair<GateVerdict, std::string> gate_of(const std::vector<GateRequirement>& gate, const NodeRun& run) {
  std::pair<GateVerdict, std::string> worst{GateVerdict::met, {}};
  for (const GateRow& outcome : check_gate(gate, run.measured)) {
    if (outcome.verdict == GateVerdict::met) continue;
    append(worst.second, fmt::format("{} {}", outcome.metric, outcome.text));
    if (worst.first != GateVerdict::missed) {
      worst.first = outcome.verdict == GateVerdict::missed ? GateVerdict::missed : GateVerdict::inconclusive;
    }
  }
  return worst;
}

/// A missed gate is confirmed by a second run like a slow rate. A met one adds nothing, except where there are too few
/// nodes to compare with.
void judge_gate(const std::vector<GateRequirement>& gate, std::vector<Node>& nodes) {
  if (gate.empty()) return;
  for (Node& node : nodes) {
    FleetNode& row = node.row;
    if (row.state == NodeState::undecided && row.rates.empty()) continue;
    std::vector<const NodeRun*> runs;
    for (const NodeRun& run : node.runs) {
      if (run.disturbed().empty()) runs.push_back(&run);
    }
    const auto [verdict, text] = gate_of(gate, *runs.front());
    row.gate_missed = verdict == GateVerdict::missed;
    if (verdict == GateVerdict::met) {
      if (row.state != NodeState::undecided || nodes.size() >= stats::kLeastNodes) continue;
      row.state = NodeState::healthy;
      row.text = "healthy, by gate only";
      continue;
    }
    if (row.state == NodeState::undecided) row.text.clear();
    append(row.text, text);
    if (row.state == NodeState::slow) continue;
    const bool is_confirmed = runs.size() > 1 && gate_of(gate, *runs[1]).first == GateVerdict::missed;
    if (row.gate_missed) {
      row.state = is_confirmed ? NodeState::slow : NodeState::suspect;
    } else if (row.state == NodeState::healthy) {
      row.state = NodeState::undecided;
    }
  }
}

/// Healthy nodes with which suspects are measured again, of the groups of those.
std::vector<std::string> controls_for(const std::vector<FleetNode>& rows) {
  std::set<std::string> groups;
  for (const FleetNode& row : rows) {
    if (row.state == NodeState::suspect) groups.insert(row.group);
  }
  std::map<std::string, std::size_t> count;
  std::vector<std::string> names;
  for (const FleetNode& row : rows) {
    if (row.state != NodeState::healthy || !groups.contains(row.group) || ++count[row.group] > kControls) continue;
    names.push_back(row.name);
  }
  return names;
}

/// The seconds of one stage in which every node ran it.
StageSum sum_of(const std::string& stage, const std::vector<Node>& nodes) {
  struct Together {
    Work work;
    std::size_t nodes = 0;
  };
  std::map<std::uint64_t, Together> seconds;
  for (const Node& node : nodes) {
    const auto found = node.newest().stages.find(stage);
    if (found == node.newest().stages.end()) continue;
    for (const auto& [second, work] : found->second) {
      if (work.seconds < kCommonSecond) continue;
      Together& sum = seconds[second];
      sum.work.bytes += work.bytes / work.seconds;
      sum.work.samples += work.samples / work.seconds;
      ++sum.nodes;
    }
  }
  StageSum sum{.stage = stage, .bytes_per_second = {}, .samples_per_second = {}};
  Work total;
  for (const auto& [second, together] : seconds) {
    if (together.nodes < nodes.size()) continue;
    ++sum.seconds;
    total.bytes += together.work.bytes;
    total.samples += together.work.samples;
  }
  if (total.bytes > 0) sum.bytes_per_second = total.bytes / static_cast<double>(sum.seconds);
  if (total.samples > 0) sum.samples_per_second = total.samples / static_cast<double>(sum.seconds);
  return sum;
}

std::vector<StageSum> sums(const std::vector<Node>& nodes) {
  std::set<std::string> stages;
  for (const Node& node : nodes) {
    for (const auto& [stage, seconds] : node.newest().stages) stages.insert(stage);
  }
  std::vector<StageSum> sums;
  for (const std::string& stage : stages) sums.push_back(sum_of(stage, nodes));
  return sums;
}

/// The node of a file that was left out; the name of the file where it does not tell.
FleetNode left_out_node(const LeftOut& file) {
  std::string name = file.file.substr(file.file.rfind('/') + 1);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  try {
    const Json envelope = read_own_json(file.file);
    if (const std::string node = node_of(envelope); !node.empty()) name = node;
    if (text_at(envelope, "status") == "failed") {
      return unjudged_node(name, NodeState::failed, text_at(envelope, "error.text").value_or("its run failed"),
                           file.file);
    }
  } catch (const Error&) {  // `reason` says it
  }
  return unjudged_node(name, NodeState::undecided, file.reason, file.file);
}

/// Nodes without a result that can be judged: left out, failed, or expected and absent.
void add_unjudged(const std::vector<std::string>& expected, const NodeNames& names,
                  const std::vector<LeftOut>& left_out, std::vector<FleetNode>& rows) {
  std::set<std::string> known;
  for (const FleetNode& row : rows) known.insert(row.name);
  for (const LeftOut& file : left_out) {
    FleetNode node = left_out_node(file);
    node.name = names.of(node.name);
    if (known.insert(node.name).second) rows.push_back(std::move(node));
  }
  for (const std::string& name : expected) {
    if (known.insert(name).second) rows.push_back(unjudged_node(name, NodeState::missing, "no result"));
  }
}

std::vector<std::string> expected_nodes(const AggregateOptions& options) {
  std::string list = fmt::format("{}", fmt::join(options.expect, ","));
  if (list.empty()) list = system::process_environment()("SLURM_JOB_NODELIST").value_or("");
  return expand_hosts(list);
}

void count(AggregateResult& result) {
  result.expected = result.rows.size();
  std::map<NodeState, std::vector<std::string>> names;
  std::optional<double> earliest;
  std::optional<double> latest;
  for (const FleetNode& row : result.rows) {
    names[row.state].push_back(row.name);
    result.stragglers += row.straggler ? 1 : 0;
    result.gate_missed += row.gate_missed ? 1 : 0;
    if (!row.clock_offset) continue;
    earliest = std::min(earliest.value_or(*row.clock_offset), *row.clock_offset);
    latest = std::max(latest.value_or(*row.clock_offset), *row.clock_offset);
  }
  if (earliest) result.clock_spread = *latest - *earliest;
  result.exclude = names[NodeState::slow];
  result.suspects = names[NodeState::suspect];
  result.controls = controls_for(result.rows);
  for (const NodeState state : {NodeState::undecided, NodeState::failed, NodeState::missing})
    result.unjudged.insert(result.unjudged.end(), names[state].begin(), names[state].end());
  result.nodes = result.expected - result.unjudged.size();
}

/// "61 of 64 judged, 2 failed, 1 missing; slow: n05; 9.40 GB/s together (read, 14 s)"
std::string text_of(const AggregateResult& result) {
  std::string text = result.unjudged.empty() ? format_count(result.nodes, "node") + " judged"
                                             : fmt::format("{} of {} judged", result.nodes, result.expected);
  for (const NodeState state : {NodeState::undecided, NodeState::failed, NodeState::missing}) {
    const auto number = std::ranges::count(result.rows, state, &FleetNode::state);
    if (number > 0) text += fmt::format(", {} {}", number, enum_name(state));
  }
  if (!result.exclude.empty()) append(text, "slow: " + listed(result.exclude, 5));
  if (!result.suspects.empty()) append(text, "slow in one run: " + listed(result.suspects, 5));
  if (result.exclude.empty() && result.suspects.empty() && result.nodes > 0) append(text, "none is slow");
  for (const StageSum& stage : result.stages) {
    if (stage.stage != "read" || !stage.bytes_per_second) continue;
    append(text,
           fmt::format("{} together ({}, {} s)", format_rate(*stage.bytes_per_second), stage.stage, stage.seconds));
  }
  return text;
}

/// The largest class of results; the others are left out, with the reason.
RunClass most_results(std::vector<RunClass> classes, std::vector<LeftOut>& left_out) {
  if (classes.empty()) {
    throw usage_error("no result can be used: {}", left_out.empty() ? "none was given" : left_out.front().reason);
  }
  std::ranges::stable_sort(classes, std::ranges::greater(), [](const RunClass& one) { return one.size(); });
  for (const RunClass& other : std::span(classes).subspan(1)) {
    for (const NodeRun& run : other) left_out.push_back({run.file, mismatch(run, classes.front().front())});
  }
  return std::move(classes.front());
}

Ceiling ceiling_of(double alone, double together, std::size_t nodes) {
  Ceiling ceiling{.alone_bytes_per_second = alone, .together_bytes_per_second = together, .text = {}};
  ceiling.of_sum = together / (alone * static_cast<double>(nodes));
  ceiling.limits = ceiling.of_sum < kCeilingShare;
  ceiling.text = fmt::format("one node {}, {} together {}: {}", format_rate(alone), nodes, format_rate(together),
                             ceiling.limits ? "what they share limits" : "what they share does not limit");
  return ceiling;
}

/// The rate of a node that was measured alone, under the conditions of the others.
double rate_alone(const std::string& path, const NodeRun& other) {
  const NodeRun alone = read_run(path, read_result_file(path), {});
  const std::optional<double> rate = alone.measured.median(std::string(kReadRate));
  const std::string reason = mismatch(alone, other);
  if (!rate || !reason.empty()) {
    throw Error(ErrorCode::usage, At{path}, "--alone: '{}' cannot be compared with the others: {}", path,
                rate ? reason : fmt::format("it does not measure {}", kReadRate));
  }
  return *rate;
}

void warn_of_sums(const AggregateResult& result, const std::vector<Node>& nodes, bool together, Context& context) {
  const bool met = std::ranges::all_of(nodes, [](const Node& node) { return node.newest().met_others; });
  if (nodes.size() > 1 && !together) {
    context.warn(
        "no_overlap", "there is no second in which all nodes were reading, so no sum: {}",
        met ? "measure longer, with --budget" : "start them together with `iobench run --barrier DIR --world N`");
  }
  if (result.clock_spread.value_or(0) <= kMostClockSpread) return;
  const auto by_clock = [](const FleetNode& row) { return row.clock_offset.value_or(0); };
  const auto [low, high] = std::ranges::minmax_element(result.rows, {}, by_clock);
  context.warn(
      "clocks_differ",
      "the clocks of {} and {} differ by {:.1f} s; the sums are corrected by what the barrier measured, within "
      "a fraction of a second. Synchronize the clocks",
      low->name, high->name, *result.clock_spread);
}

}  // namespace

AggregateResult aggregate(const AggregateOptions& options, Context& context) {
  context.progress().start("reading results", 0, 0, "results");
  std::vector<GateRequirement> gate;
  if (options.gate) gate = read_gate(*options.gate);
  std::vector<RunClass> classes;
  AggregateResult result;
  result.left_out = for_each_result(options.results, context, [&](const std::string& file, const Json& envelope) {
    add(read_run(file, envelope, options.group_by), classes);
    context.progress().items.fetch_add(1, std::memory_order_relaxed);
  });
  RunClass runs = most_results(std::move(classes), result.left_out);
  const std::vector<std::string> expected = expected_nodes(options);
  std::vector<std::string> found;
  for (const NodeRun& run : runs) found.push_back(run.node);
  const NodeNames names(expected, found);
  for (NodeRun& run : runs) run.node = names.of(run.node);
  std::vector<Node> nodes = nodes_of(runs);
  set_groups(nodes, options.group_by);
  judge_rates(nodes);
  judge_gate(gate, nodes);
  result.stages = sums(nodes);
  for (const Node& node : nodes) result.rows.push_back(node.row);
  add_unjudged(expected, names, result.left_out, result.rows);
  std::ranges::stable_sort(
      result.rows, {}, [](const FleetNode& row) { return std::pair(row.state == NodeState::healthy, row.slowest); });
  count(result);
  result.slowest = std::ranges::min_element(result.rows, {}, &FleetNode::slowest)->name;
  const auto read = std::ranges::find(result.stages, "read", &StageSum::stage);
  const bool together = read != result.stages.end() && read->bytes_per_second;
  if (options.alone) {
    const double rate = rate_alone(*options.alone, nodes.front().newest());
    if (together && rate > 0) result.ceiling = ceiling_of(rate, *read->bytes_per_second, nodes.size());
  }
  warn_of_sums(result, nodes, together, context);
  result.text = text_of(result);
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
  v.field({"expect", "names of the nodes that should have a result, such as node[01-16]; default: SLURM_JOB_NODELIST",
           "LIST"},
          expect);
}

void FleetRate::describe(FieldList& v) {
  v.field({"metric", "name of the metric"}, metric);
  v.field({"value", "rate of this node"}, value);
  v.field({"of_median", Unit::factor, "rate divided by the median of its group"}, of_median);
  v.field({"straggler", "true if the node is slow in this metric"}, straggler);
}

void FleetNode::describe(FieldList& v) {
  v.field({"name", "name of the node", kLabel}, name);
  v.field({"state", "healthy; slow: in its two newest runs; suspect: in the newest; or why it was not judged"}, state);
  v.field({"group", "value of its label, and its number of CPUs if these differ"}, group);
  v.field({"runs", Unit::count, "its results"}, runs);
  v.field({"straggler", "true if a rate is slow in its two newest runs"}, straggler);
  v.field({"gate_missed", "true if its newest run misses a requirement of the gate"}, gate_missed);
  v.field({"slowest", Unit::factor, "its lowest rate divided by the median of its group"}, slowest);
  v.field({"slowest_metric", "that rate"}, slowest_metric);
  v.field({"file", "its newest result"}, file);
  v.field({"started_at", "start of the run"}, started_at);
  v.field({"clock_offset", Unit::seconds, "its clock less that of the file server"}, clock_offset);
  v.field({"rates", "its rates"}, rates);
  v.field({"text", "why it is not healthy"}, text);
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
  v.field({"nodes_expected", Unit::count, "all nodes: with a result, failed and missing ones"}, expected);
  v.field({"stragglers", Unit::count, "nodes that are slower than their group"}, stragglers);
  v.field({"gate_missed", Unit::count, "nodes that miss the gate"}, gate_missed);
  v.field({"slowest", "the slowest node"}, slowest);
  v.field({"exclude", "nodes that are slow, or miss the gate, in their two newest runs"}, exclude);
  v.field({"suspects", "nodes that are slow, or miss the gate, in one run: measure them again"}, suspects);
  v.field({"controls", "healthy nodes to measure again together with the suspects"}, controls);
  v.field({"unjudged", "nodes that were not judged"}, unjudged);
  v.field({"clock_spread", Unit::seconds, "largest difference of the nodes' clocks"}, clock_spread);
  v.field({"stages", "all nodes together, by stage"}, stages);
  v.field({"ceiling", "one node alone against all together"}, ceiling);
  v.field({"nodes", "each node, those that are not healthy first, then the slowest first"}, rows);
  v.field({"left_out", "results that are not part of it"}, left_out);
}

}  // namespace shardkit::bench
