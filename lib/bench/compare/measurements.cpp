#include "bench/compare/measurements.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/compare/compare_metrics.hpp"
#include "bench/compare/conditions.hpp"
#include "bench/results/result_file.hpp"
#include "core/error.hpp"
#include "stats/rank_test.hpp"

namespace shardkit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The results of a folder, by name.
std::vector<std::string> result_files(const std::string& folder, Context& context) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    context.throw_if_stopped();
    const std::string name = entry.path().filename();
    if (name.starts_with('.') || !name.ends_with(".json") || !entry.is_regular_file()) continue;
    files.push_back(entry.path());
    if (files.size() > kMostRankedValues) {
      throw Error(ErrorCode::usage, fmt::format("'{}' holds more than {} results", folder, kMostRankedValues), folder);
    }
  }
  std::ranges::sort(files);
  if (files.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("'{}' holds no result: expected files of iobench ... --json FILE, named *.json", folder),
                folder);
  }
  return files;
}

/// One result's turns, or itself.
std::vector<const Json*> turns_of(const Json& result) {
  const Json* repetitions = member(result, "repetitions");
  if (repetitions == nullptr || !repetitions->is_array() || repetitions->empty()) return {&result};
  std::vector<const Json*> turns;
  for (const Json& turn : *repetitions) turns.push_back(&turn);
  return turns;
}

void take_values(const Json& result, const std::string& path, Measurements& measured) {
  for (const Json* turn : turns_of(result)) {
    for (const CompareMetric& metric : compare_metrics()) {
      const auto value = metric_value(metric, measured.verb, *turn);
      if (!value) continue;
      std::vector<double>& values = measured.values[metric.name()];
      values.push_back(*value);
      if (values.size() > kMostRankedValues) {
        throw Error(ErrorCode::usage, fmt::format("'{}': more than {} repetitions", path, kMostRankedValues), path);
      }
    }
  }
}

/// Files of one folder must be turns of one measurement.
void check_same(const Conditions& first, const Conditions& next, const Measurements& measured,
                const std::string& path) {
  const std::vector<Difference> different = differences(first, next, {});
  if (different.empty() || !different.front().decisive) return;
  const Difference& difference = different.front();
  throw Error(ErrorCode::usage,
              fmt::format("'{}' and '{}' are no repetitions of one measurement: {} is {} and {}; keep the results of "
                          "one command and machine in a folder of their own",
                          measured.files.front(), path, difference.key, difference.base, difference.changed),
              path);
}

/// A copy of a result, or a link to it, would count as a repetition that nobody measured.
void check_new(const Json& envelope, const std::string& path, std::map<std::string, std::string>& paths) {
  const auto [known, fresh] = paths.emplace(envelope.dump(-1, ' ', false, Json::error_handler_t::replace), path);
  if (fresh) return;
  throw Error(ErrorCode::usage,
              fmt::format("'{}' and '{}' are the same result: each repetition is a run of its own; remove one of them",
                          known->second, path),
              path);
}

/// Takes one more file in.
void take_file(const std::string& path, const Json& envelope, Measurements& measured) {
  const Conditions conditions = conditions_of(envelope);
  if (measured.files.empty()) {
    measured.verb = verb_of(envelope);
    measured.conditions = conditions;
    measured.machine_class = machine_class_of(envelope);
  } else {
    check_same(measured.conditions, conditions, measured, path);
  }
  measured.files.push_back(path);
  take_values(envelope.at("result"), path, measured);
}

}  // namespace

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
    take_file(file, envelope, measured);
  }
  if (measured.values.empty()) {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' is a result of {}, which measures nothing that compare knows; expected one of read, "
                            "decode, pipeline, checkpoint, transfer, run or loader-probe",
                            files.front(), measured.verb),
                files.front());
  }
  return measured;
}

}  // namespace shardkit
