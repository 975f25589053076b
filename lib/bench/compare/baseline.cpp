#include "bench/compare/baseline.hpp"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/results/result_file.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "io/folder_lock.hpp"
#include "io/publish.hpp"
#include "stats/comparison.hpp"
#include "stats/rank_test.hpp"

namespace shardkit {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

[[noreturn]] void throw_damaged(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::corrupt, fmt::format("the baselines in '{}' are damaged: {}", path, what), path);
}

Json read_checked(const std::string& path) {
  Json json = read_own_json(path);
  if (verb_of(json) != "baseline") {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' holds a result of {}, not baselines; name another file", path, verb_of(json)), path);
  }
  if (json.value("schema_version", Json()) != kVersion) throw_damaged(path, "schema_version is not 1");
  if (!json.contains("classes") || !json["classes"].is_object()) throw_damaged(path, "\"classes\" is no object");
  return json;
}

std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

/// The member `name`, an object; else an error that lists what there is.
const Json& entry(const Json& object, const std::string& name, const std::string& path, std::string_view kind) {
  const auto found = object.find(name);
  if (found == object.end()) {
    throw Error(ErrorCode::not_found,
                fmt::format("'{}' has no baseline of {} '{}', only of {}; --save-baseline makes one, --class names "
                            "another class",
                            path, kind, name, fmt::join(names_of(object), ", ")),
                path);
  }
  if (!found->is_object()) throw_damaged(path, fmt::format("'{}' is no object", name));
  return *found;
}

void take_conditions(const Json& stored, const std::string& path, Measurements& measured) {
  for (const auto& [key, value] : stored.items()) {
    if (!value.is_string()) throw_damaged(path, fmt::format("condition '{}' is no text", key));
    measured.conditions[key] = value.get<std::string>();
  }
}

void take_values(const Json& stored, const std::string& path, Measurements& measured) {
  for (const auto& [name, list] : stored.items()) {
    if (!list.is_array() || list.size() > kMostRankedValues) {
      throw_damaged(path, fmt::format("'{}' is no list of at most {} numbers", name, kMostRankedValues));
    }
    for (const Json& value : list) {
      if (!value.is_number()) throw_damaged(path, fmt::format("'{}' holds what is no number", name));
      measured.values[name].push_back(value.get<double>());
    }
  }
}

}  // namespace

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
  for (const char* part : {"conditions", "values"}) {
    if (!stored.contains(part) || !stored[part].is_object()) throw_damaged(path, fmt::format("no \"{}\"", part));
  }
  take_conditions(stored["conditions"], path, measured);
  take_values(stored["values"], path, measured);
  return measured;
}

void save_baseline(const std::string& path, const Measurements& measured, const std::stop_token& stop) {
  const std::string file = published_path(path);
  const std::filesystem::path name = std::filesystem::path(file).filename();
  const FolderLock lock(join_path(parent_folder(file), fmt::format(".{}.lock", name.string())), stop);
  std::error_code error;
  Json json;
  if (std::filesystem::exists(path, error)) {
    json = read_checked(path);
  } else {
    json = {{"schema", "shardkit/baseline"}, {"schema_version", kVersion}, {"classes", Json::object()}};
  }
  Json& verbs = json["classes"][measured.machine_class];
  verbs[measured.verb] = {{"conditions", measured.conditions}, {"values", measured.values}};
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  publish(*posix_file_system(), file, as_bytes(text));
}

void warn_of_small_baseline(std::size_t repetitions, Context& context) {
  if (repetitions >= kLeastRepetitions) return;
  context.warn("few_repetitions",
               fmt::format("the baseline has {}: comparisons with it will be inconclusive; keep {} or more",
                           format_count(repetitions, "repetition"), kLeastRepetitions));
}

}  // namespace shardkit
