#include "bench/compare/measurements.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
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
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "core/text.hpp"
#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "stats/comparison.hpp"
#include "system/host.hpp"

namespace shardkit::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kPipeline = "pipeline";
constexpr std::string_view kRun = "run";

/// The repetitions of one result, or the result itself.
std::vector<const Json*> repetitions_of(const Json& result) {
  const Json* repetitions = member(result, "repetitions");
  if (repetitions == nullptr || !repetitions->is_array() || repetitions->empty()) return {&result};
  std::vector<const Json*> found;
  for (const Json& repetition : *repetitions) found.push_back(&repetition);
  return found;
}

/// Whether a pipeline made too few steps for a rate, which the run itself says too.
bool is_too_short(const Json& pipeline) {
  return number_at(pipeline, "steps").value_or(kLeastSteps) < static_cast<double>(kLeastSteps);
}

/// Its value in the `result` of an envelope of `verb`, or in one of its repetitions. Empty if it is missing, as for
/// metrics of other verbs. Throws Error{usage} with `file` and the field for anything but a number of at least 0.
std::optional<double> metric_value(const ComparedField& metric, std::string_view verb, const Json& result,
                                   const std::string& file) {
  const bool own = metric.verb == verb;
  if (!own && verb != kRun) return std::nullopt;
  const std::string field = own ? metric.path : metric.name();
  const Json* value = member(result, field);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (value->is_number() && value->get<double>() >= 0) return value->get<double>();
  throw Error(ErrorCode::usage, At{file}, "'{}': result.{} is {}, not a rate or a time", file, field,
              json_text(*value));
}

/// Whether --budget ended a checkpoint before all was written: its rate is valid, its times belong to a part.
bool is_part_of_checkpoint(const Json& result) {
  const Json* rows = member(result, "rows");
  if (rows == nullptr || !rows->is_array() || rows->empty()) return false;
  return number_at(rows->front(), "bytes").value_or(0) < number_at(result, "bytes").value_or(0);
}

void take_values(const Json& result, Measurements& measured) {
  const Json* const stage = measured.verb == kRun ? member(result, kPipeline) : nullptr;
  const bool passes_over_pipeline = stage != nullptr && is_too_short(*stage);
  const bool passes_over_times = measured.verb == "checkpoint" && is_part_of_checkpoint(result);
  for (const Json* repetition : repetitions_of(result)) {
    for (const ComparedField& metric : compare_metrics()) {
      if (passes_over_pipeline && metric.verb == kPipeline) continue;
      if (passes_over_times && metric.unit == Unit::seconds) continue;
      const auto value = metric_value(metric, measured.verb, *repetition, measured.files.back());
      if (!value) continue;
      stats::Runs& runs = measured.values[metric.name()];
      runs.resize(measured.runs.size());
      runs.back().push_back(*value);
    }
  }
}

/// Why the values of a result say nothing: it was disturbed, or too short; empty if they do.
std::string disturbance_of(const Json& envelope) {
  if (verb_of(envelope) == kPipeline && is_too_short(envelope.at("result"))) {
    return fmt::format("the pipeline made fewer than {} steps: use more data or a longer --budget", kLeastSteps);
  }
  if (const Json* neighbors = member(envelope.at("result"), "neighbors"))
    return text_at(*neighbors, "text").value_or("");
  return {};
}

/// Files of one folder must be repetitions of one measurement.
void check_same(const Conditions& first, const Conditions& next, const Measurements& measured,
                const std::string& path) {
  const std::vector<Difference> different = differences(first, next, {});
  if (different.empty() || !different.front().decisive) return;
  const Difference& difference = different.front();
  throw Error(ErrorCode::usage, At{path},
              "'{}' and '{}' are not repetitions of one measurement: {} is {} and {}; put only results of "
              "one command and machine into a folder",
              measured.files.front(), path, difference.key, difference.base, difference.changed);
}

/// A copy of a result, or a link to it, would count as a repetition that was never measured.
void check_new(const Json& envelope, const std::string& path, std::map<std::string, std::string>& paths) {
  const auto [known, fresh] = paths.emplace(json_text(envelope), path);
  if (fresh) return;
  throw Error(ErrorCode::usage, At{path},
              "'{}' and '{}' are the same result; each repetition must be a separate run. Give only one of them",
              known->second, path);
}

constexpr int kVersion = 1;

[[noreturn]] void throw_damaged(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::corrupt, At{path}, "the baselines in '{}' are damaged: {}", path, what);
}

Json read_checked(const std::string& path) {
  Json json = read_own_json(path);
  if (verb_of(json) != "baseline") {
    throw Error(ErrorCode::usage, At{path}, "'{}' contains a result of {}, not baselines; choose another file", path,
                verb_of(json));
  }
  if (json.value("schema_version", Json()) != kVersion) throw_damaged(path, "schema_version is not 1");
  if (!json.contains("classes") || !json["classes"].is_object()) throw_damaged(path, "\"classes\" is not an object");
  return json;
}

std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

/// The member `name`, an object; else an error that lists the existing ones.
const Json& entry(const Json& object, const std::string& name, const std::string& path, std::string_view kind) {
  const auto found = object.find(name);
  if (found == object.end()) {
    throw Error(ErrorCode::not_found, At{path},
                "'{}' has no baseline of {} '{}', only of {}; create one with --save-baseline, or choose "
                "another class with --class",
                path, kind, name, fmt::join(names_of(object), ", "));
  }
  if (!found->is_object()) throw_damaged(path, fmt::format("'{}' is not an object", name));
  return *found;
}

/// Values that version 0.1 saved are a list of numbers, those of one run.
void take_stored(const Json& stored, const std::string& path, Measurements& measured) {
  try {
    stored.at("conditions").get_to(measured.conditions);
    measured.conditions.erase("schema_version");  // of baselines of version 1: results of all versions are compared
    for (const auto& [name, values] : stored.at("values").items()) {
      const bool one_run = !values.empty() && values.front().is_number();
      measured.values[name] = one_run ? stats::Runs{values.get<std::vector<double>>()} : values.get<stats::Runs>();
      measured.runs.resize(std::max(measured.runs.size(), measured.values[name].size()));
    }
    const auto disturbed = stored.value("disturbed", std::vector<std::string>());
    for (std::size_t i = 0; i < std::min(disturbed.size(), measured.runs.size()); ++i) {
      measured.runs[i].disturbed = disturbed[i];
    }
  } catch (const Json::exception&) {
    throw_damaged(path, "expected \"conditions\", an object of strings, and \"values\", an object of lists of runs");
  }
  for (auto& [name, runs] : measured.values) runs.resize(measured.runs.size());
}

/// Adds the runs that `known` does not have.
void add_new_runs(const Measurements& measured, Measurements& known) {
  for (std::size_t run = 0; run < measured.runs.size(); ++run) {
    const auto is_known = [&](std::size_t other) {
      return std::ranges::all_of(measured.values, [&](const auto& entry) {
        return known.values.contains(entry.first) && known.values.at(entry.first)[other] == entry.second[run];
      });
    };
    bool fresh = true;
    for (std::size_t other = 0; other < known.runs.size(); ++other) fresh = fresh && !is_known(other);
    if (!fresh) continue;
    known.runs.push_back({{}, measured.runs[run].disturbed});
    for (const auto& [name, runs] : measured.values) known.values[name].resize(known.runs.size() - 1);
    for (auto& [name, runs] : known.values) {
      runs.push_back(measured.values.contains(name) ? measured.values.at(name)[run] : std::vector<double>());
    }
  }
}

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
  static const std::vector<Verb> all{verb<RepeatedReadOptions, ReadResult>("read"),
                                     verb<DecodeBenchOptions, DecodeResult>("decode"),
                                     verb<PipelineOptions, PipelineResult>("pipeline"),
                                     verb<CheckpointOptions, CheckpointResult>("checkpoint"),
                                     verb<LoaderProbeOptions, LoaderProbeResult>("loader-probe"),
                                     verb<TransferOptions, TransferResult>("transfer"),
                                     verb<RunOptions, RunResult>("run")};
  return all;
}

/// `group` is the role of the group that holds `nodes`.
void collect(std::string_view verb, const std::vector<FieldNode>& nodes, const std::string& prefix,
             const std::optional<Comparison>& group, std::vector<ComparedField>& fields) {
  for (const FieldNode& node : nodes) {
    std::optional<Comparison> comparison = node.field.comparison;
    if (node.kind == FieldKind::list || (comparison && comparison->role == CompareRole::stage)) continue;
    if (comparison && comparison->role == CompareRole::judged) comparison = group;
    if (node.kind == FieldKind::group) {
      collect(verb, node.children, prefix + node.name + ".", comparison, fields);
    } else if (comparison) {
      fields.push_back({verb, prefix + node.name, node.unit, *comparison});
    }
  }
}

std::vector<ComparedField> fields_of(std::string_view verb, const std::vector<FieldNode>& result) {
  std::vector<ComparedField> fields;
  collect(verb, result, "", {}, fields);
  std::ranges::stable_partition(fields, [](const ComparedField& f) { return f.comparison.better == Better::higher; });
  return fields;
}

std::set<std::string, std::less<>> free_options() {
  std::set<std::string, std::less<>> names;
  for (const Verb& verb : verbs()) {
    for (const FieldNode& option : verb.options) {
      if (option.field.comparison && option.field.comparison->role == CompareRole::free) names.insert(option.name);
    }
  }
  return names;
}

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
    const CompareRole role = fact.comparison.role;
    const bool matters = role == CompareRole::condition || role == CompareRole::data ||
                         role == CompareRole::circumstance || (own && role == CompareRole::own_condition);
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

/// The conditions in an envelope: tool, host, options, and what each stage really used.
Conditions conditions_of(const Json& envelope) {
  Conditions conditions;
  const std::string verb = verb_of(envelope);
  conditions["verb"] = verb;
  const Json& result = envelope.at("result");
  take_stage(verb, true, result, conditions);
  if (verb == kRun) take_stages(result, conditions);
  if (const Json* options = member(envelope, "options")) take_options(*options, conditions);
  if (const Json* host = member(envelope, "host")) flatten("host", *host, conditions);
  if (const Json* tool = member(envelope, "tool")) flatten("tool", *tool, conditions);
  return conditions;
}

/// A name for a class of machines: "8cpu-32gib-nvme".
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
  return field != nullptr && field->comparison.role == CompareRole::circumstance;
}

bool is_decisive(std::string_view key, const Conditions& base, const Conditions& changed) {
  if (key.starts_with("tool.")) return false;
  if (is_circumstance(key)) return differ_in("options.cache", base, changed);
  if (const ComparedField* const field = field_of(key); field != nullptr && field->comparison.role == CompareRole::data)
    return differ_in("options.path", base, changed);
  if (key.starts_with("host.")) return field_of(key) != nullptr;
  return !key.starts_with("options.") || !is_free_option(last_name(key));
}

bool is_same(std::string_view key, const std::string& base, const std::string& changed) {
  if (base == changed) return true;
  const ComparedField* const field = field_of(key);
  const double tolerance = field == nullptr ? 0 : field->comparison.tolerance;
  const auto a = parse_decimal(base);  // 1.0 is 1 after any other program wrote the file
  const auto b = parse_decimal(changed);
  return a && b && std::abs(*a - *b) <= tolerance * std::max(std::abs(*a), std::abs(*b));
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

void add_run(const std::string& path, const Json& envelope, Measurements& measured) {
  const Conditions conditions = conditions_of(envelope);
  if (measured.files.empty()) {
    measured.verb = verb_of(envelope);
    measured.conditions = conditions;
    measured.machine_class = machine_class_of(envelope);
  } else {
    check_same(measured.conditions, conditions, measured, path);
  }
  measured.files.push_back(path);
  measured.runs.push_back({conditions, disturbance_of(envelope)});
  take_values(envelope.at("result"), measured);
}

void settle(Measurements& measured) {
  if (measured.values.empty()) {
    const std::string& path = measured.files.front();
    if (std::ranges::find(verbs(), measured.verb, &Verb::name) != verbs().end()) {
      throw Error(ErrorCode::usage, At{path}, "'{}' has no metric of {} that compare knows; measure again", path,
                  measured.verb);
    }
    throw Error(ErrorCode::usage, At{path},
                "'{}' is a result of {}, which compare does not support; expected one of read, decode, "
                "pipeline, checkpoint, transfer, run or loader-probe",
                path, measured.verb);
  }
  measured.conditions = measured.runs.back().conditions;
  for (auto& [name, runs] : measured.values) runs.resize(measured.runs.size());
  for (MeasuredRun& run : measured.runs) {
    for (const Difference& difference : differences(run.conditions, measured.conditions, {})) {
      if (!difference.disturbs) continue;
      run.disturbed = fmt::format("{} was {} in one run and {} in the last one", difference.key, difference.base,
                                  difference.changed);
    }
  }
}

std::optional<double> Measurements::median(const std::string& metric) const {
  const auto found = values.find(metric);
  if (found == values.end() || found->second.front().empty()) return std::nullopt;
  return stats::summarize(found->second.front()).median;
}

Measurements read_measurements(const std::string& path, Context& context) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  const std::vector<std::string> files = folder ? result_files(path, context) : std::vector{path};
  Measurements measured;
  std::map<std::string, std::string> paths;  // of results
  for (const std::string& file : files) {
    context.throw_if_stopped();
    const Json envelope = read_result_file(file);
    check_new(envelope, file, paths);
    add_run(file, envelope, measured);
  }
  settle(measured);
  return measured;
}

bool is_baseline(const std::string& path) {
  std::error_code error;
  return !std::filesystem::is_directory(path, error) && verb_of(read_own_json(path)) == "baseline";
}

Measurements read_baseline(const std::string& path, const std::string& machine_class, const std::string& verb) {
  const Json json = read_checked(path);
  const Json& verbs = entry(json["classes"], machine_class, path, "class");
  const Json& stored = entry(verbs, verb, path, "verb");
  Measurements measured;
  measured.verb = verb;
  measured.machine_class = machine_class;
  measured.files = {path};
  take_stored(stored, path, measured);
  return measured;
}

std::size_t save_baseline(const std::string& path, const Measurements& measured, const std::stop_token& stop) {
  const std::string file = io::published_path(path);
  const std::filesystem::path name = std::filesystem::path(file).filename();
  const io::FolderLock lock(io::join_path(io::parent_folder(file), fmt::format(".{}.lock", name.string())), stop);
  std::error_code error;
  Json json;
  if (std::filesystem::exists(path, error)) {
    json = read_checked(path);
  } else {
    json = {{"schema", "shardkit/baseline"}, {"schema_version", kVersion}, {"classes", Json::object()}};
  }
  Json& verbs = json["classes"][measured.machine_class];
  Measurements known;
  if (verbs.contains(measured.verb)) take_stored(verbs[measured.verb], path, known);
  const auto different = differences(known.conditions, measured.conditions, {});
  std::size_t replaced = 0;
  if (!different.empty() && different.front().decisive) {
    replaced = known.runs.size();
    known = {};
  }
  add_new_runs(measured, known);
  Json& stored = verbs[measured.verb] = {{"conditions", measured.conditions}, {"values", known.values}};
  std::vector<std::string> disturbed;
  for (const MeasuredRun& run : known.runs) disturbed.push_back(run.disturbed);
  if (std::ranges::any_of(disturbed, [](const std::string& one) { return !one.empty(); }))
    stored["disturbed"] = disturbed;
  const std::string text = json_file_text(json);
  io::publish(*io::posix_file_system(), file, as_bytes(text));
  return replaced;
}

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
      if (field.comparison.role == CompareRole::metric) all.push_back(field);
    }
    return all;
  }();
  return metrics;
}

const ComparedField& compare_metric(std::string_view name, std::string_view option, std::string_view file) {
  const auto found = std::ranges::find(compare_metrics(), name, &ComparedField::name);
  if (found != compare_metrics().end()) return *found;
  std::vector<std::string> names;
  for (const ComparedField& metric : compare_metrics()) names.push_back(metric.name());
  throw Error(ErrorCode::usage, At{std::string(file)}, "{}: unknown metric '{}'; known metrics: {}", option, name,
              fmt::join(names, ", "));
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
