#include "bench/compare/compared_fields.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/checkpoint/checkpoint.hpp"
#include "bench/decode/decode.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/results/result_file.hpp"
#include "bench/run/run.hpp"
#include "bench/timing/timed_run.hpp"
#include "bench/transfer/transfer.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "system/host.hpp"

namespace shardkit::bench {
namespace {

using Part = Comparison::Part;

/// What samples/pytorch/loader_probe.py writes, as far as it has a role in a comparison.
struct LoaderProbeOptions {
  std::string text;

  void describe(FieldVisitor& v) {
    for (const char* name : {"data", "node", "seconds", "batches", "turns"}) {
      v.field({name, "", kMayDiffer}, text);
    }
  }
};

struct LoaderProbeResult {
  double samples_per_second = 0;
  BatchLatency batch_latency;
  CacheReport cache;

  void describe(FieldVisitor& v) {
    v.field({"samples_per_second", Unit::per_second, "", metric(Better::higher)}, samples_per_second);
    v.field({"batch_latency", Unit::seconds, "", metric(Better::lower, kUnfeltWait)}, batch_latency);
    // It names no state of the cache that was had; one that was asked for was had, or it failed.
    v.field({"cache.requested", "", kCondition}, cache.state);
  }
};

struct Verb {
  std::string_view name;
  std::vector<FieldNode> options;
  std::vector<FieldNode> result;
};

template <Describable T>
std::vector<FieldNode> prototype() {
  T value{};
  return prototype_tree([&](FieldVisitor& v) { value.describe(v); });
}

template <class Options, class Result>
Verb verb(std::string_view name) {
  return {name, prototype<Options>(), prototype<Result>()};
}

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all{verb<ReadOptions, ReadResult>("read"),
                                     verb<DecodeBenchOptions, DecodeResult>("decode"),
                                     verb<PipelineOptions, PipelineResult>("pipeline"),
                                     verb<CheckpointOptions, CheckpointResult>("checkpoint"),
                                     verb<LoaderProbeOptions, LoaderProbeResult>("loader-probe"),
                                     verb<TransferOptions, TransferResult>("transfer"),
                                     verb<RunOptions, RunResult>("run")};
  return all;
}

/// The stages of a run are verbs of their own.
bool is_stage(const FieldNode& node) { return std::ranges::find(verbs(), node.name, &Verb::name) != verbs().end(); }

/// `group` is the role of the group that holds `nodes`.
void collect(std::string_view verb, const std::vector<FieldNode>& nodes, const std::string& prefix,
             const std::optional<Comparison>& group, std::vector<ComparedField>& fields) {
  for (const FieldNode& node : nodes) {
    if (node.kind == FieldKind::list || (node.kind == FieldKind::group && is_stage(node))) continue;
    std::optional<Comparison> role = node.field.comparison;
    if (role && role->part == Part::judged) role = group;
    if (node.kind == FieldKind::group) {
      collect(verb, node.children, prefix + node.name + ".", role, fields);
    } else if (role) {
      fields.push_back({verb, prefix + node.name, node.unit, *role});
    }
  }
}

std::vector<ComparedField> fields_of(std::string_view verb, const std::vector<FieldNode>& result) {
  std::vector<ComparedField> fields;
  collect(verb, result, "", {}, fields);
  std::ranges::stable_partition(fields, [](const ComparedField& f) { return f.role.better == Better::higher; });
  return fields;
}

std::set<std::string, std::less<>> free_options() {
  std::set<std::string, std::less<>> names;
  for (const Verb& verb : verbs()) {
    for (const FieldNode& option : verb.options) {
      if (option.field.comparison && option.field.comparison->part == Part::free) names.insert(option.name);
    }
  }
  return names;
}

}  // namespace

const std::vector<ComparedField>& compared_fields() {
  static const std::vector<ComparedField> fields = [] {
    std::vector<ComparedField> all = fields_of("host", prototype<system::HostInfo>());
    for (const Verb& verb : verbs()) std::ranges::move(fields_of(verb.name, verb.result), std::back_inserter(all));
    return all;
  }();
  return fields;
}

bool is_free_option(std::string_view name) {
  static const auto names = free_options();
  return names.contains(name);
}

std::span<const ComparedField> compare_metrics() {
  static const std::vector<ComparedField> metrics = [] {
    std::vector<ComparedField> all;
    for (const ComparedField& field : compared_fields()) {
      if (field.role.part == Comparison::Part::metric) all.push_back(field);
    }
    return all;
  }();
  return metrics;
}

const ComparedField& compare_metric(std::string_view name, std::string_view option, const std::string& file) {
  const auto found = std::ranges::find(compare_metrics(), name, &ComparedField::name);
  if (found != compare_metrics().end()) return *found;
  std::vector<std::string> names;
  for (const ComparedField& metric : compare_metrics()) names.push_back(metric.name());
  throw Error(ErrorCode::usage,
              fmt::format("{}: there is no metric '{}'; there are {}", option, name, fmt::join(names, ", ")), file);
}

std::optional<double> metric_value(const ComparedField& metric, std::string_view verb, const nlohmann::json& result) {
  const bool own = metric.verb == verb;
  if (!own && verb != "run") return std::nullopt;
  const nlohmann::json* value = member(result, own ? metric.path : metric.name());
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

}  // namespace shardkit::bench
