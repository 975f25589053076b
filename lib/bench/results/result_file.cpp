#include "bench/results/result_file.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "io/file.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSchema = "shardkit/";
constexpr std::uint64_t kLongestResult = 1U << 28U;

/// Makes results of older versions like those of this one: until version 2, the "stages" of a run were its "ladder".
void upgrade(Json& envelope) {
  if (verb_of(envelope) != "run" || envelope.value("schema_version", Json()) != 1) return;
  envelope["schema_version"] = 2;
  const auto result = envelope.find("result");
  if (result == envelope.end() || !result->is_object() || !result->contains("ladder")) return;
  (*result)["stages"] = std::move((*result)["ladder"]);
  result->erase("ladder");
}

}  // namespace

Json read_own_json(const std::string& path, std::string_view wanted) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error);
  if (std::filesystem::exists(kind) && !std::filesystem::is_regular_file(kind)) {
    throw Error(ErrorCode::usage, At{path},
                "'{}' is not a regular file but {}; write the result to a file and give its name", path,
                std::filesystem::is_directory(kind) ? "a folder" : "a pipe or a device");
  }
  Json json = parse_json(io::read_text_file(path, kLongestResult));
  const auto schema = json.is_object() ? json.find("schema") : json.end();
  if (!json.is_object() || schema == json.end() || !schema->is_string() ||
      !schema->get<std::string>().starts_with(kSchema)) {
    throw Error(ErrorCode::corrupt, At{path}, "'{}' is not a shardkit result file; expected {}", path, wanted);
  }
  upgrade(json);
  return json;
}

std::string node_of(const Json& envelope) {
  const std::string name = text_at(envelope, "host.node").value_or("");
  return name.empty() ? text_at(envelope, "host.hostname").value_or("") : name;
}

std::string verb_of(const Json& envelope) { return envelope.at("schema").get<std::string>().substr(kSchema.size()); }

void check_result(const Json& envelope, const std::string& path) {
  if (!envelope.contains("result")) {
    throw Error(ErrorCode::corrupt, At{path}, "'{}' is not a result of iobench: it has no member \"result\"", path);
  }
  const auto tool = text_at(envelope, "tool.name");
  if (tool && *tool == "shardctl") {
    throw Error(ErrorCode::usage, At{path}, "'{}' is a result of shardctl {}; give a result of iobench", path,
                verb_of(envelope));
  }
  const bool failed = envelope.value("status", Json()) == "failed" || envelope.value("error", Json()).is_object();
  const bool undecided = text_at(envelope, "error.code") == error_code_name(ErrorCode::in_use);  // of a disturbed run
  if (envelope["result"].is_object() && (!failed || undecided)) return;
  const auto text = text_at(envelope, "error.text");
  throw Error(ErrorCode::conflict, At{path}, "'{}' is the result of a failed run{}; leave it out or measure again",
              path, text ? ": " + *text : "");
}

Json read_result_file(const std::string& path) {
  Json envelope = read_own_json(path);
  check_result(envelope, path);
  return envelope;
}

std::vector<std::string> result_files(const std::string& folder, Context& context) {
  std::vector<std::string> files;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder)) {
    context.throw_if_stopped();
    const std::string name = entry.path().filename();
    if (name.starts_with('.') || !name.ends_with(".json") || !entry.is_regular_file()) continue;
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) {
    throw Error(ErrorCode::not_found, At{folder},
                "'{}' contains no result; expected files of iobench ... --json FILE, named *.json", folder);
  }
  return files;
}

std::vector<LeftOut> for_each_result(std::span<const std::string> paths, Context& context,
                                     const std::function<void(const std::string& file, const Json&)>& take) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    const bool folder = std::filesystem::is_directory(path, error);
    for (const std::string& file : folder ? result_files(path, context) : std::vector{path}) files.push_back(file);
  }
  std::vector<LeftOut> left_out;
  std::map<std::string, std::string> known;  // file by the hash of its result
  for (const std::string& file : files) {
    context.throw_if_stopped();
    try {
      const Json envelope = read_result_file(file);
      const auto [first, is_new] = known.emplace(to_hex(xxh3_128(as_bytes(json_text(envelope)))), file);
      if (!is_new) throw Error(ErrorCode::usage, At{file}, "the same result as '{}'", first->second);
      take(file, envelope);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      left_out.push_back({file, error.what()});
    }
  }
  return left_out;
}

}  // namespace shardkit::bench
