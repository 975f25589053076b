#include "bench/torch/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "bench/torch/loader_advice.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "system/program_output.hpp"

namespace shardkit::bench {

/// The program calibration.py, in the source that is made from it.
extern const std::string_view kCalibration;

namespace {

constexpr std::size_t kCalibratedImages = 30;
constexpr std::uint64_t kMostBatch = 16;  // so that a batch of large images is made in time

/// Evenly distributed images of a folder.
std::vector<std::string> chosen_images(const InputSet& input) {
  std::vector<std::string> images;
  const std::size_t count = std::min(kCalibratedImages, input.files.size());
  for (std::size_t i = 0; i < count; ++i) images.push_back(input.files[i * input.files.size() / count].path);
  return images;
}

std::string request(const LoaderData& data, const InputSet& input, const LoaderBatches& batches, double seconds) {
  nlohmann::json json;
  const bool is_sharded = data.kind == LoaderKind::webdataset;
  json["shard"] = is_sharded ? data.shards.front() : "";
  json["image_field"] = data.image_field;
  json["files"] = is_sharded ? std::vector<std::string>() : chosen_images(input);
  json["samples"] = kCalibratedImages;
  json["crop"] = batches.crop;
  json["dtype"] = enum_name(batches.dtype);
  json["batch"] = std::min(batches.batch, kMostBatch);
  json["seconds"] = seconds;
  return json.dump();
}

/// Runs the program that follows the request. Of any version of Python, so that an old one is not a syntax error.
constexpr std::string_view kRunGiven =
    "import sys; sys.version_info >= (3, 8) or sys.exit('Python ' + sys.version.split()[0] + ' is too old: 3.8 or "
    "newer "
    "is needed'); exec(sys.argv[2])";

constexpr std::string_view kRemedy = "give the python3 of the environment that has torch, torchvision and webdataset";

[[noreturn]] void refuse_python(const std::string& interpreter, std::string_view reason) {
  throw Error(ErrorCode::unsupported, At{interpreter}, "--python: '{}' {}: {}", interpreter, reason, kRemedy);
}

/// A name without a slash is searched for in PATH, as the shell does.
void check_executable(const std::string& interpreter) {
  std::error_code error;
  if (interpreter.find('/') == std::string::npos) return;
  if (!std::filesystem::exists(interpreter, error)) refuse_python(interpreter, "does not exist");
  if (std::filesystem::is_directory(interpreter, error)) refuse_python(interpreter, "is a folder");
  if (::access(interpreter.c_str(), X_OK) != 0) refuse_python(interpreter, "is not executable");
}

/// What the program prints.
std::string run_python(const std::string& interpreter, const std::string& command, double seconds, Context& context) {
  system::ProgramLimits limits;
  limits.time = system::Seconds(std::max(std::ceil(seconds), 1.0));
  try {
    return system::program_output(fmt::format("'{}'", interpreter), command, limits, context.stop_token());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::denied) throw;
    throw Error(ErrorCode::unsupported, At{interpreter}, "--python: {}: {}, or use a longer --budget", error.what(),
                kRemedy);
  }
}

}  // namespace

std::string python_of(const std::string& option) { return option == "auto" ? "python3" : option; }

Calibration calibrate(const std::string& interpreter, const LoaderData& data, const InputSet& input,
                      const LoaderBatches& batches, double seconds, Context& context) {
  if (data.kind == LoaderKind::none) {
    throw usage_error("--python has nothing to measure: there is no DataLoader for this data, because {}",
                      data.why_none);
  }
  check_executable(interpreter);
  context.progress().start_for("measuring PyTorch", seconds);
  const std::string command =
      fmt::format("exec {} -c {} {} {}", shell_word(interpreter), shell_quoted(kRunGiven),
                  shell_quoted(request(data, input, batches, seconds)), shell_quoted(kCalibration));
  const std::string output = run_python(interpreter, command, seconds, context);
  try {
    const auto json = nlohmann::json::parse(output);
    Calibration calibration;
    calibration.interpreter = interpreter;
    calibration.python = json.at("python").get<std::string>();
    calibration.torch = json.at("torch").get<std::string>();
    calibration.load_seconds = json.at("load_seconds").get<double>();
    calibration.augment_seconds = json.at("augment_seconds").get<double>();
    calibration.reads = json.at("reads").get<double>();
    calibration.worker_seconds = json.at("worker_seconds").get<double>();
    calibration.alone_seconds = json.at("alone_seconds").get<double>();
    calibration.trainer_seconds = json.at("trainer_seconds").get<double>();
    calibration.worker_bytes = json.at("worker_bytes").get<double>();
    calibration.trainer_bytes = json.at("trainer_bytes").get<double>();
    return calibration;
  } catch (const nlohmann::json::exception&) {
    refuse_python(interpreter, "printed something else than the measurement");
  }
}

void Calibration::describe(FieldList& v) {
  v.field({"interpreter", "program that --python named"}, interpreter);
  v.field({"python", "its version"}, python);
  v.field({"torch", "version of PyTorch"}, torch);
  v.field({"load_seconds", Unit::seconds, "CPU time of opening, reading and decoding an image"}, load_seconds);
  v.field({"augment_seconds", Unit::seconds, "CPU time of the transforms"}, augment_seconds);
  v.field({"reads", "read calls per image"}, reads);
  v.field({"worker_seconds", Unit::seconds, "CPU time per sample of a loader process, including its part of a batch"},
          worker_seconds);
  v.field({"alone_seconds", Unit::seconds, "the same of a training process without workers"}, alone_seconds);
  v.field({"trainer_seconds", Unit::seconds, "CPU time per sample of the process that receives the batch"},
          trainer_seconds);
  v.field({"worker", Unit::bytes, "memory that a worker shares with no other process"}, worker_bytes);
  v.field({"trainer", Unit::bytes, "the same of the training process, without a model"}, trainer_bytes);
}

}  // namespace shardkit::bench
