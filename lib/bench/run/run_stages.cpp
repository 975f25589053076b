#include "bench/run/run_stages.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr double kShareForCaches = 0.1;  // each of reading and the pipeline brings caches into their state
constexpr double kShareForReading = 0.3;
constexpr double kShareForFileCosts = 0.05;
constexpr double kShareForDecoding = 0.15;
constexpr double kShareForPipeline = 0.3;
constexpr double kLongestDecode = 10;
constexpr std::uint64_t kImages = 1000;
/// A loader on storage with latency keeps more reads in flight than it has cores. On a disk that the kernel reads ahead
/// of, each of them has far more under way than it was asked for.
constexpr std::uint64_t kLeastReadersFar = 8;
constexpr std::uint64_t kLeastReadersNear = 4;
/// Batches of the pipeline, whatever the job's: their size hardly matters to the rate, but to the memory.
constexpr std::uint64_t kPipelineBatch = 32;

/// Threads that read, in the pipeline too: what is measured apart and together has as many reads under way.
std::uint64_t readers_of(const RunOptions& options, const Environment& machine) {
  const bool is_near = !machine.storage.device.empty();
  return std::max(options.threads.value_or(machine.usable_threads), is_near ? kLeastReadersNear : kLeastReadersFar);
}

/// Reads from one state of the cache, as much as the budget allows.
ReadResult read_from(CacheRequest cache, const RunOptions& options, const InputSet& input, std::uint64_t readers,
                     Context& context) {
  ReadOptions read_options;
  read_options.threads = readers;
  read_options.cache = cache;
  read_options.budget = options.budget * kShareForReading;
  read_options.prepare_seconds = options.budget * kShareForCaches;
  return read(read_options, input, context);
}

/// With --cache auto: cold, else warm where the data is small enough for that, else with what the cache holds.
ReadResult read_from_best(const RunOptions& options, const InputSet& input, std::uint64_t readers, Context& context) {
  std::vector<CacheRequest> wanted{CacheRequest::cold};
  if (input.bytes < usable_memory() / 2) wanted.push_back(CacheRequest::warm);
  for (const CacheRequest cache : wanted) {
    try {
      return read_from(cache, options, input, readers, context);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      const bool cold = cache == CacheRequest::cold;
      context.warn(cold ? "not_cold" : "not_warm",
                   fmt::format("not read {}: {}", cold ? "cold" : "warm", error.what()));
    }
  }
  return read_from(CacheRequest::any, options, input, readers, context);
}

ReadResult measure_read(const RunOptions& options, const InputSet& input, std::uint64_t readers, Context& context) {
  switch (options.cache) {
    case RunCache::cold:
      return read_from(CacheRequest::cold, options, input, readers, context);
    case RunCache::warm:
      return read_from(CacheRequest::warm, options, input, readers, context);
    case RunCache::any:
      return read_from(CacheRequest::any, options, input, readers, context);
    case RunCache::automatic:
      break;
  }
  return read_from_best(options, input, readers, context);
}

/// Empty when there is nothing to decode.
std::optional<DecodeResult> measure_decode(const RunOptions& options, const InputSet& input, std::uint64_t cores,
                                           Context& context) {
  DecodeBenchOptions decode_options;
  decode_options.threads = options.threads.value_or(cores);
  decode_options.samples = kImages;
  if (options.crop > 0) decode_options.crop = options.crop;
  if (options.crop > 0) decode_options.augment = Augmentation::imagenet;
  decode_options.dtype = options.dtype;
  decode_options.min_seconds = std::min(options.budget * kShareForDecoding, kLongestDecode);
  decode_options.most_seconds = decode_options.min_seconds;
  try {
    return decode(decode_options, input, context);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::corrupt) throw;
    context.warn("nothing_to_decode", error.what());
    return std::nullopt;
  }
}

/// Other work on the machine takes cores from what is measured, and the verdict would be about those that were left.
void warn_of_others(const DecodeResult& decode, double cores, Context& context) {
  constexpr double kMostOfThem = 0.8;
  const double had = decode.cpu_seconds / decode.decode_seconds;
  const double expected = std::min(static_cast<double>(decode.threads), cores);
  if (had >= kMostOfThem * expected) return;
  context.warn(
      "cores_shared",
      fmt::format("decoding had {:.1f} of {:.1f} cores: others use this machine, so its own rates are higher than "
                  "these; run again when it is idle",
                  had, expected));
}

/// As much of the input as the pipeline may come to read in its time, so that no more of it has to be made cold; a file
/// for each reader at least.
InputSet input_of_pipeline(const InputSet& input, const ReadResult& read, double seconds) {
  constexpr double kReserve = 1.5;
  const double most = std::max(read.bytes_per_second * seconds * kReserve, 1.0);
  InputSet part;
  for (const InputFile& file : input.files) {
    if (static_cast<double>(part.bytes) >= most && part.files.size() >= read.threads) break;
    part.files.push_back(file);
    part.bytes += file.bytes;
  }
  return part;
}

/// Empty when there is nothing to decode. Cold data is gone through once, so that none of it is read warm; else the
/// passes are as many as there is time for.
std::optional<PipelineResult> measure_pipeline(const RunOptions& options, const InputSet& input, const ReadResult& read,
                                               std::uint64_t cores, Context& context) {
  constexpr std::uint64_t kUntilTheTimeIsOver = 1'000'000;
  PipelineOptions pipeline_options;
  pipeline_options.batch = std::min(options.batch.value_or(kPipelineBatch), kPipelineBatch);
  pipeline_options.workers = options.threads.value_or(cores);
  pipeline_options.readers = read.threads;
  pipeline_options.crop = options.crop;
  pipeline_options.dtype = options.dtype;
  pipeline_options.cache = read.cache.requested;
  pipeline_options.budget = options.budget * kShareForPipeline;
  pipeline_options.epochs = read.cache.requested == CacheRequest::cold ? 1 : kUntilTheTimeIsOver;
  try {
    return pipeline(pipeline_options, input_of_pipeline(input, read, *pipeline_options.budget), context);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::corrupt) throw;
    context.warn("no_pipeline", error.what());
    return std::nullopt;
  }
}

}  // namespace

void measure_stages(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context,
                    RunResult& result) {
  const std::uint64_t readers = readers_of(options, result.environment);
  result.read = measure_read(options, input, readers, context);
  if (result.read.samples.value_or(0) == 0) {
    throw Error(ErrorCode::not_found,
                fmt::format("no whole sample was read from '{}' within {}; is it the right folder?",
                            options.paths.front(), format_duration(result.read.read_seconds)),
                options.paths.front());
  }
  result.file_costs =
      measure_file_costs(input, result.read.cache.requested, readers, options.budget * kShareForFileCosts, context);
  result.decode = measure_decode(options, input, cores, context);
  const double limit = result.environment.cpu_limit.value_or(static_cast<double>(cores));
  if (result.decode) warn_of_others(*result.decode, std::min(limit, static_cast<double>(cores)), context);
  if (result.decode && options.crop > 0) {
    result.pipeline = measure_pipeline(options, input, result.read, cores, context);
  }
}

}  // namespace shardkit
