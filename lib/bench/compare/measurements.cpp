#include "bench/compare/measurements.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/pipeline/pipeline.hpp"
#include "bench/results/result_file.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "stats/comparison.hpp"

namespace shardkit::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kPipeline = "pipeline";

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

void take_values(const Json& result, Measurements& measured) {
  const Json* const stage = measured.verb == "run" ? member(result, kPipeline) : nullptr;
  const bool passes_over_pipeline = stage != nullptr && is_too_short(*stage);
  for (const Json* repetition : repetitions_of(result)) {
    for (const ComparedField& metric : compare_metrics()) {
      if (passes_over_pipeline && metric.verb == kPipeline) continue;
      const auto value = metric_value(metric, measured.verb, *repetition);
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
    for (const auto& [name, values] : stored.at("values").items()) {
      const bool one_run = !values.empty() && values.front().is_number();
      measured.values[name] = one_run ? stats::Runs{values.get<std::vector<double>>()} : values.get<stats::Runs>();
      measured.runs.resize(std::max(measured.runs.size(), measured.values[name].size()));
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
    known.runs.emplace_back();
    for (const auto& [name, runs] : measured.values) known.values[name].resize(known.runs.size() - 1);
    for (auto& [name, runs] : known.values) {
      runs.push_back(measured.values.contains(name) ? measured.values.at(name)[run] : std::vector<double>());
    }
  }
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

void save_baseline(const std::string& path, const Measurements& measured, const std::stop_token& stop) {
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
  if (!different.empty() && different.front().decisive) known = {};
  add_new_runs(measured, known);
  verbs[measured.verb] = {{"conditions", measured.conditions}, {"values", known.values}};
  const std::string text = json_file_text(json);
  io::publish(*io::posix_file_system(), file, as_bytes(text));
}

}  // namespace shardkit::bench
