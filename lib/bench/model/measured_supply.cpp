#include "bench/model/measured_supply.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/requirement/requirement.hpp"
#include "bench/results/result_file.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

void take_read(const Json& result, Supply& supply) {
  supply.read_bytes_per_second = number_at(result, "bytes_per_second");
  supply.read_samples_per_second = number_at(result, "samples_per_second");
  if (supply.read_bytes_per_second && supply.read_samples_per_second.value_or(0) > 0) {
    supply.measured_sample_bytes = *supply.read_bytes_per_second / *supply.read_samples_per_second;
  }
  supply.cache_state = text_at(result, "cache.state");
}

void take_decode(const Json& result, Supply& supply) {
  supply.decode_samples_per_second = number_at(result, "samples_per_second");
  supply.decode_samples_per_second_per_core = number_at(result, "samples_per_second_per_core");
  supply.decoded_sample_bytes = number_at(result, "mix.mean_bytes");
}

/// The row of a list of objects in which `key` is `value`; null without such a row.
const Json* row_of(const Json& result, const char* list, const char* key, std::string_view value) {
  const Json* rows = member(result, list);
  if (rows == nullptr || !rows->is_array()) return nullptr;
  for (const Json& row : *rows) {
    if (row.is_object() && row.value(key, Json()) == value) return &row;
  }
  return nullptr;
}

/// Decoding and reading share the cores: the table of stages contains the rate of both together. They are judged as in
/// the verdict of the run.
void take_stages(const Json& result, Supply& supply) {
  const auto rate_of = [&](std::string_view stage) {
    const Json* row = row_of(result, "stages", "stage", stage);
    return row == nullptr ? std::nullopt : number_at(*row, "measured_per_second");
  };
  if (const auto rate = rate_of(stage::kDecode)) supply.decode_samples_per_second = rate;
  const auto pipeline = rate_of(stage::kPipeline);
  const auto read = rate_of(stage::kRead);
  if (!pipeline || !read || *read <= 0 || !supply.decode_samples_per_second) return;
  const std::vector<StageRate> judged =
      measured_together({{stage::kDecode, *supply.decode_samples_per_second}, {stage::kRead, *read}}, *pipeline);
  supply.decode_samples_per_second = judged.front().samples_per_second;
  for (auto* rate : {&supply.read_bytes_per_second, &supply.read_samples_per_second}) {
    if (*rate) **rate *= judged.back().samples_per_second / *read;
  }
}

void take_run(const Json& result, Supply& supply) {
  if (const Json* read = member(result, "read"); read != nullptr && read->is_object()) take_read(*read, supply);
  if (const Json* decode = member(result, "decode"); decode != nullptr && decode->is_object()) {
    take_decode(*decode, supply);
  }
  take_stages(result, supply);
}

void take_pipeline(const Json& result, const std::string& path, Supply& supply) {
  if (result.value("source", Json()) == "null") {
    throw Error(ErrorCode::usage, At{path}, "'{}' is a pipeline result without data; measure one with data", path);
  }
  if (result.value("decode", Json()) == "null") return take_read(result, supply);
  supply.pipeline_stage = text_at(result, "limiting_stage");
  supply.pipeline_samples_per_second = number_at(result, "samples_per_second");
  const auto bytes = number_at(result, "bytes_per_second");
  if (bytes && supply.pipeline_samples_per_second.value_or(0) > 0) {
    supply.decoded_sample_bytes = *bytes / *supply.pipeline_samples_per_second;
  }
  supply.cache_state = text_at(result, "cache.state");
  if (result.value("decode", Json()) == "nvjpeg") return;  // its stage's processor time is not of decoding
  const Json* decode = row_of(result, "stages", "name", stage::kDecode);
  const auto seconds = decode == nullptr ? std::nullopt : number_at(*decode, "cpu_seconds_per_sample");
  if (seconds && *seconds > 0) supply.decode_samples_per_second_per_core = 1 / *seconds;
}

/// The sync checkpoint gives the write rate, the background one the copy rate.
std::optional<MeasuredCheckpoint> checkpoint_of(const Json& result) {
  const Json* sync = row_of(result, "rows", "mode", "sync");
  const Json* background = row_of(result, "rows", "mode", "background");
  const Json* written = sync != nullptr ? sync : background;
  if (written == nullptr) return std::nullopt;
  MeasuredCheckpoint checkpoint;
  checkpoint.written_bytes = number_at(*written, "bytes").value_or(0);
  checkpoint.bytes = std::max(number_at(result, "bytes").value_or(0), checkpoint.written_bytes);
  checkpoint.bytes_per_second = number_at(*written, "bytes_per_second").value_or(0);
  if (background != nullptr) checkpoint.copy_seconds = number_at(*background, "block_seconds");
  if (checkpoint.written_bytes <= 0 || checkpoint.bytes_per_second <= 0) return std::nullopt;
  return checkpoint;
}

}  // namespace

MeasuredSupply read_measured(const std::string& path) {
  const Json envelope = read_result_file(path);
  const Json& result = envelope["result"];
  const std::string verb = verb_of(envelope);
  MeasuredSupply measured;
  if (verb == "read") {
    take_read(result, measured.supply);
  } else if (verb == "decode") {
    take_decode(result, measured.supply);
  } else if (verb == "pipeline") {
    take_pipeline(result, path, measured.supply);
  } else if (verb == "run") {
    take_run(result, measured.supply);
  } else if (verb == "checkpoint") {
    measured.checkpoint = checkpoint_of(result);
  } else {
    throw Error(ErrorCode::usage, At{path},
                "'{}' is a result of {}; expected one of read, decode, pipeline, checkpoint or run", path, verb);
  }
  if (measured.supply.is_known() || measured.checkpoint) return measured;
  throw Error(ErrorCode::usage, At{path}, "'{}' is a result of {} without a rate; measure again", path, verb);
}

}  // namespace shardkit::bench
