#include "bench/results/result_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/json.hpp"
#include "io/file.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSchema = "shardkit/";
constexpr std::uint64_t kLongestResult = 1U << 28U;

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
  return json;
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

const Json* member(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    if (!at->is_object()) return nullptr;
    const auto found = at->find(std::string(path.substr(0, dot)));
    if (found == at->end()) return nullptr;
    at = &*found;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

std::optional<double> number_at(const Json& object, std::string_view path) {
  const Json* value = member(object, path);
  return value != nullptr && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::optional<std::string> text_at(const Json& object, std::string_view path) {
  const Json* value = member(object, path);
  return value != nullptr && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

std::string metric_text(double value, Unit unit) {
  switch (unit) {
    case Unit::bytes_per_second:
      return format_rate(value);
    case Unit::seconds:
      return std::abs(value) < 0.0995 ? fmt::format("{:.3g} ms", value * 1e3) : format_duration(value);
    case Unit::per_second:
      return std::abs(value) >= 1000 && std::abs(value) < 1e18
                 ? format_count(static_cast<std::uint64_t>(std::llround(std::abs(value)))) + "/s"
                 : fmt::format("{:.3g}/s", value);
    default:
      return fmt::format("{:.3g}", value);
  }
}

}  // namespace shardkit::bench
