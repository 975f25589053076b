#include "bench/model/measured_supply.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/model/verdict.hpp"
#include "bench/results/result_file.hpp"
#include "core/error.hpp"

namespace shardkit {
namespace {

using Json = nlohmann::json;

std::optional<double> number(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

void take_read(const Json& result, Supply& supply) {
  supply.read_bytes_per_second = number(result, "bytes_per_second");
  supply.read_samples_per_second = number(result, "samples_per_second");
  const Json cache = result.value("cache", Json());
  if (cache.is_object() && cache.value("state", Json()).is_string()) supply.cache_state = cache["state"];
}

void take_decode(const Json& result, Supply& supply) {
  supply.decode_samples_per_second = number(result, "samples_per_second");
  supply.decode_samples_per_second_per_core = number(result, "samples_per_second_per_core");
}

/// Decoding and reading share the cores: what both give at once stands in the ladder.
void take_ladder(const Json& rows, Supply& supply) {
  for (const Json& row : rows) {
    if (!row.is_object() || row.value("stage", Json()) != stage::kDecode) continue;
    if (const auto rate = number(row, "measured_per_second")) supply.decode_samples_per_second = rate;
  }
}

void take_run(const Json& result, Supply& supply) {
  const auto part = [&](const char* name) { return result.value(name, Json()); };
  if (const Json read = part("read"); read.is_object()) take_read(read, supply);
  if (const Json decode = part("decode"); decode.is_object()) take_decode(decode, supply);
  if (const Json ladder = part("ladder"); ladder.is_array()) take_ladder(ladder, supply);
}

}  // namespace

Supply read_measured_supply(const std::string& path) {
  const Json envelope = read_result_file(path);
  const Json& result = envelope["result"];
  const std::string verb = verb_of(envelope);
  Supply supply;
  if (verb == "read") {
    take_read(result, supply);
  } else if (verb == "decode") {
    take_decode(result, supply);
  } else if (verb == "run") {
    take_run(result, supply);
  } else {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' is a result of {}; expected one of read, decode or run", path, verb), path);
  }
  return supply;
}

}  // namespace shardkit
