#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/checkpoint/checkpoint.hpp"
#include "bench/compare/measurements.hpp"
#include "bench/decode/decode.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/results/result_file.hpp"
#include "bench/run/run.hpp"
#include "bench/timing/timed_run.hpp"
#include "bench/transfer/transfer.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "system/host.hpp"

namespace shardkit::bench {
namespace {

using Part = CompareRole;

/// The fields of samples/pytorch/loader_probe.py that have a role in a comparison.
struct LoaderProbeOptions {
  std::string text;

  void describe(FieldList& v) {
    for (const char* name : {"data", "node", "seconds", "batches", "turns"}) {
      v.field({name, "", kMayDiffer}, text);
    }
  }
};

struct LoaderProbeResult {
  double samples_per_second = 0;
  BatchLatency batch_latency;
  CacheReport cache;

  void describe(FieldList& v) {
    v.field({"samples_per_second", Unit::per_second, "", metric(Better::higher)}, samples_per_second);
    v.field({"batch_latency", Unit::seconds, "", metric(Better::lower, kUnfeltWait)}, batch_latency);
    // It does not name the cache state it used; a requested state was used, or it failed.
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
  return prototype_tree([&](FieldList& v) { value.describe(v); });
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

using Json = nlohmann::json;

constexpr std::string_view kRun = "run";

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return {};
  if (!value.is_array()) return json_text(value);
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(text_of(item));
  return fmt::format("{}", fmt::join(items, ", "));
}

/// Every scalar and list below `value`, by its path.
void flatten(const std::string& key, const Json& value, Conditions& conditions) {
  if (!value.is_object()) {
    conditions[key] = text_of(value);
    return;
  }
  for (const auto& [name, child] : value.items()) flatten(key + "." + name, child, conditions);
}

/// The input and conditions that `verb` reports, from its own result or a stage of a run; an option of the same name is
/// only the request.
void take_stage(std::string_view verb, bool own, const Json& measured, Conditions& conditions) {
  for (const ComparedField& fact : compared_fields()) {
    const Part part = fact.role.part;
    const bool matters = part == Part::condition || part == Part::data || part == Part::circumstance ||
                         (own && part == Part::own_condition);
    if (fact.verb != verb || !matters) continue;
    const Json* value = member(measured, fact.path);
    if (value == nullptr || value->is_object()) continue;
    if (value->is_string() && text_of(*value).empty()) continue;  // unknown, such as the GPU on a machine without one
    conditions[fact.name()] = text_of(*value);
  }
}

/// Each stage in the result of a run.
void take_stages(const Json& run, Conditions& conditions) {
  for (const auto& [stage, measured] : run.items()) take_stage(stage, false, measured, conditions);
}

std::string_view last_name(std::string_view key) { return key.substr(key.rfind('.') + 1); }

void take_options(const Json& options, Conditions& conditions) {
  std::set<std::string, std::less<>> said;  // by a stage
  for (const auto& [key, value] : conditions) said.emplace(last_name(key));
  Conditions wanted;
  flatten("options", options, wanted);
  for (const auto& [key, value] : wanted) {
    if (!said.contains(last_name(key))) conditions.emplace(key, value);
  }
}

/// The field that a condition was read from; null for an option, and for fields without a role.
const ComparedField* field_of(std::string_view key) {
  const auto found = std::ranges::find(compared_fields(), key, &ComparedField::name);
  return found == compared_fields().end() ? nullptr : &*found;
}

bool differ_in(const std::string& key, const Conditions& base, const Conditions& changed) {
  const auto a = base.find(key);
  const auto b = changed.find(key);
  return a != base.end() && b != changed.end() && a->second != b->second;
}

bool is_circumstance(std::string_view key) {
  const ComparedField* const field = field_of(key);
  return field != nullptr && field->role.part == Part::circumstance;
}

bool is_decisive(std::string_view key, const Conditions& base, const Conditions& changed) {
  if (key.starts_with("tool.")) return false;
  if (is_circumstance(key)) return differ_in("options.cache", base, changed);
  if (const ComparedField* const field = field_of(key); field != nullptr && field->role.part == Part::data)
    return differ_in("options.path", base, changed);
  if (key.starts_with("host.")) return field_of(key) != nullptr;
  return !key.starts_with("options.") || !is_free_option(last_name(key));
}

bool is_same(std::string_view key, const std::string& base, const std::string& changed) {
  if (base == changed) return true;
  const ComparedField* const field = field_of(key);
  if (field == nullptr) return false;
  const auto a = parse_decimal(base);
  const auto b = parse_decimal(changed);
  return a && b && std::abs(*a - *b) <= field->role.tolerance * std::max(std::abs(*a), std::abs(*b));
}

bool fits(std::string_view key, std::string_view allowed) {
  if (key == allowed) return true;
  if (key.size() <= allowed.size() + 1) return false;
  return (key.starts_with(allowed) && key[allowed.size()] == '.') ||
         (key.ends_with(allowed) && key[key.size() - allowed.size() - 1] == '.');
}

bool is_allowed(std::string_view key, std::span<const std::string> allow) {
  return std::ranges::any_of(allow, [&](const std::string& allowed) { return fits(key, allowed); });
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
      if (field.role.part == CompareRole::metric) all.push_back(field);
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
  throw Error(ErrorCode::usage, At{file}, "{}: unknown metric '{}'; known metrics: {}", option, name,
              fmt::join(names, ", "));
}

std::optional<double> metric_value(const ComparedField& metric, std::string_view verb, const nlohmann::json& result) {
  const bool own = metric.verb == verb;
  if (!own && verb != "run") return std::nullopt;
  return number_at(result, own ? metric.path : metric.name());
}

Conditions conditions_of(const Json& envelope) {
  Conditions conditions;
  const std::string verb = verb_of(envelope);
  conditions["verb"] = verb;
  if (const Json* version = member(envelope, "schema_version")) conditions["schema_version"] = text_of(*version);
  const Json& result = envelope.at("result");
  take_stage(verb, true, result, conditions);
  if (verb == kRun) take_stages(result, conditions);
  if (const Json* options = member(envelope, "options")) take_options(*options, conditions);
  if (const Json* host = member(envelope, "host")) flatten("host", *host, conditions);
  if (const Json* tool = member(envelope, "tool")) flatten("tool", *tool, conditions);
  return conditions;
}

std::string machine_class_of(const Json& envelope) {
  const auto fact = [&](std::string_view path) {
    const Json* value = member(envelope, path);
    return value == nullptr ? std::string() : text_of(*value);
  };
  const double gib = parse_decimal(fact("host.memory_bytes")).value_or(0) / (1U << 30U);
  std::string storage = fact("result.storage.storage_class");
  if (storage.empty()) storage = fact("result.read.storage.storage_class");
  return fmt::format("{}cpu-{:.0f}gib{}{}", fact("host.cpus"), gib, storage.empty() ? "" : "-", storage);
}

std::vector<Difference> differences(const Conditions& base, const Conditions& changed,
                                    std::span<const std::string> allow) {
  std::vector<Difference> all;
  for (const auto& [key, value] : base) {
    const auto other = changed.find(key);
    // A field of only one side comes from an older or newer version and cannot be compared.
    if (other == changed.end() || is_same(key, value, other->second)) continue;
    const bool decisive = is_decisive(key, base, changed);
    all.push_back({key, value, other->second, decisive, is_allowed(key, allow), is_circumstance(key) && !decisive});
  }
  std::ranges::stable_partition(all, &Difference::decisive);
  return all;
}

void check_allowed(const Conditions& base, const Conditions& changed, std::span<const std::string> allow) {
  for (const std::string& allowed : allow) {
    const auto knows = [&](const Conditions& conditions) {
      return std::ranges::any_of(conditions, [&](const auto& entry) { return fits(entry.first, allowed); });
    };
    if (knows(base) || knows(changed)) continue;
    throw usage_error(
        "--allow-different: neither result contains '{}'; use a key such as engine, read.cache.state, host or verb",
        allowed);
  }
}

}  // namespace shardkit::bench
