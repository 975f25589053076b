#include "bench/run/run_stages.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "bench/decode/decode.hpp"
#include "bench/input/sample_listing.hpp"
#include "bench/read/read.hpp"
#include "bench/read/read_hints.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/shares.hpp"
#include "core/error.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

// Shares of the budget after listing; together 1, with that of transfer (run.hpp).
constexpr double kShareForCaches = 0.06;  // reading and the pipeline each prepare caches
constexpr double kShareForReading = 0.22;
constexpr double kShareForMoreReads = 0.06;
constexpr double kShareForUnpacking = 0.04;  // of compressed shards, which leaves less for later stages
constexpr double kShareForLoading = 0.08;    // images to decode
constexpr double kShareForDecoding = 0.08;   // and as long for augmenting
constexpr double kShareForLoader = 0.03;     // each of decoding, and reading with one process and with many
constexpr double kShareForLoaderImages = 0.04;
constexpr double kShareForPipeline = 0.19;
constexpr double kLongestDecode = 10;
constexpr std::uint64_t kImages = 1000;
/// Without --workers: a loader on storage with latency keeps more reads in flight than it has cores. On a disk with
/// kernel read-ahead, each of them has far more in flight than was requested.
constexpr std::uint64_t kLeastReadersFar = 8;
constexpr std::uint64_t kLeastReadersNear = 4;
constexpr std::uint64_t kMoreReaders = 4;  // times as many, to find out whether more would help
constexpr std::uint64_t kMostReaders = 1024;
/// Nothing reads ahead of direct reads, so that each has to be large.
constexpr std::uint64_t kDirectBlock = 1U << 20U;
/// Direct reads may be repeated, so that little data also gives a rate, in seconds.
constexpr double kLeastDirect = 1;
/// Time until a store's connections reach their rate, in seconds.
constexpr double kLeastOfStore = 1;
/// Batches of the pipeline, whatever the job's: their size hardly matters to the rate, but to the memory.
constexpr std::uint64_t kPipelineBatch = 32;

/// For one measurement of reading.
struct ReadTime {
  double seconds = 0;
  double for_caches = 0;
};

/// Threads that read, also in the pipeline: as many as the job's loader processes, each of which reads one sample after
/// the other.
std::uint64_t readers_of(const RunOptions& options, const Environment& machine) {
  if (options.workers) return std::clamp<std::uint64_t>(*options.workers * options.gpus.value_or(1), 1, kMostReaders);
  const bool is_near = !machine.storage.device.empty();
  return std::max(options.threads.value_or(machine.usable_threads), is_near ? kLeastReadersNear : kLeastReadersFar);
}

/// Reads from one state of the cache, or past it, as much as the budget allows.
ReadResult read_from(RunCache cache, const ReadTime& time, const InputSet& input, std::uint64_t readers,
                     Context& context, const char* phase = phase::kReading) {
  ReadOptions read_options;
  read_options.threads = readers;
  read_options.budget = time.seconds;
  read_options.prepare_seconds = time.for_caches;
  read_options.phase = phase;
  if (cache == RunCache::cold) read_options.cache = CacheRequest::cold;
  if (cache == RunCache::warm) read_options.cache = CacheRequest::warm;
  if (cache == RunCache::direct) {
    read_options.direct = true;
    read_options.block = kDirectBlock;
    read_options.min_time = std::min(*read_options.budget, kLeastDirect);
  }
  return read(read_options, input, context);
}

/// Warns why the cache state that --cache auto prefers is not available. Called in a handler; rethrows other errors.
void warn_of_refusal(RunCache cache, const Error& error, Context& context) {
  if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::no_space) throw;
  const auto name = enum_name(cache);
  const auto* const not_cold = dynamic_cast<const NotCold*>(&error);
  const std::string why =
      not_cold ? not_cold->reason() : error.what();  // instead of its remedy, the next state is used
  context.warn(
      fmt::format("not_{}", name),
      fmt::format("not read {}: {}; --cache auto used the next state, which the table of stages names", name, why));
}

/// With --cache auto: cold; if this user may not drop the data from the cache (not the owner), bypassing the cache;
/// else warm if the data is small enough, else with the current content of the cache.
ReadResult read_from_best(const ReadTime& time, const InputSet& input, std::uint64_t readers, Context& context) {
  std::vector<RunCache> wanted{RunCache::cold, RunCache::direct};
  if (input.bytes < system::usable_memory() / 2) wanted.push_back(RunCache::warm);
  for (const RunCache cache : wanted) {
    try {
      return read_from(cache, time, input, readers, context);
    } catch (const Error& error) {
      warn_of_refusal(cache, error, context);
    }
  }
  return read_from(RunCache::any, time, input, readers, context);
}

/// Samples of this mean size, in what was read as bytes.
void count_samples(double mean_sample, ReadResult& read) {
  if (mean_sample <= 0) return;
  read.mean_sample = mean_sample;
  read.samples = static_cast<std::uint64_t>(static_cast<double>(read.bytes) / mean_sample);
  read.samples_per_second = read.bytes_per_second / mean_sample;
}

/// With more reads in flight, from the same cache state. Empty for a store, which `read` measures at several numbers of
/// connections, for a cache that is warm or unknown, and if it cannot be measured in its time.
std::optional<MoreReaders> measure_more_readers(const ReadTime& time, const InputSet& input, const RunResult& result,
                                                Context& context) {
  const ReadResult& read = result.read;
  const std::uint64_t readers = std::min(read.threads * kMoreReaders, kMostReaders);
  const bool is_of_storage = read.direct || read.cache.requested == CacheRequest::cold;
  if (!is_of_storage || readers <= read.threads) return std::nullopt;
  InputSet last = input;  // files that reading has come to last, if at all
  std::ranges::reverse(last.files);
  try {
    const RunCache cache = read.direct ? RunCache::direct : RunCache::cold;
    ReadResult more = read_from(cache, time, last, readers, context, phase::kReadingMore);
    if (result.unpack) count_samples(result.unpack->sample_bytes, more);
    if (more.samples_per_second.value_or(0) <= 0) return std::nullopt;
    return MoreReaders{readers, *more.samples_per_second, more.bytes_per_second};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::no_space) throw;
    return std::nullopt;
  }
}

/// Mean bytes of a sample of a set in a store: stored bytes divided by the samples that manifests and indexes count,
/// else that of a few shards.
double mean_sample(const InputSet& input, Context& context) {
  constexpr std::size_t kShards = 4;
  if (const auto counted = samples_of(input.files); counted > 0U) {
    return static_cast<double>(input.bytes) / static_cast<double>(*counted);
  }
  const std::vector<SampleRef> listed = list_samples(input, kShards, context);
  double bytes = 0;
  for (const SampleRef& sample : listed) bytes += static_cast<double>(sample.bytes);
  return listed.empty() ? 0 : bytes / static_cast<double>(listed.size());
}

/// From a store: at the number of connections above which more have no effect. It has no page cache.
ReadResult read_from_store(const RunOptions& options, const ReadTime& time, const InputSet& input, Context& context) {
  if (options.cache != RunCache::automatic && options.cache != RunCache::any) {
    throw usage_error(
        "--cache is only for files: data at a URL is not in this machine's page cache. Leave it out, or copy "
        "the data here with `shardctl stage`");
  }
  ReadOptions read_options;
  read_options.paths = options.paths;
  read_options.budget = std::max(time.seconds, kLeastOfStore);
  read_options.access = options.access;
  ReadResult result = read(read_options, context);
  if (!has_compressed(input.files)) count_samples(mean_sample(input, context), result);
  return result;
}

/// Compressed shards as files: storage is measured without unpacking.
InputSet as_stored(InputSet input) {
  for (InputFile& file : input.files) {
    if (is_compressed(file)) file = {file.path, file.bytes, false, 1};
  }
  return input;
}

ReadResult measure_read(const RunOptions& options, const ReadTime& time, const InputSet& input, std::uint64_t readers,
                        Context& context) {
  if (has_objects(input.files)) return read_from_store(options, time, input, context);
  if (options.cache == RunCache::automatic) return read_from_best(time, input, readers, context);
  return read_from(options.cache, time, input, readers, context);
}

/// What the job's samples are, by --sample-kind or the preset; empty: unknown.
std::optional<SampleKind> kind_of_samples(const RunOptions& options) {
  if (options.sample_kind || !options.preset) return options.sample_kind;
  return find_preset(*options.preset).jpeg ? SampleKind::images : SampleKind::bytes;
}

/// Whether a run without decoding is useful, or the error must be thrown that explains why nothing can be decoded.
/// Called in a handler. A job of other samples than images decodes nothing; one of images must decode; if that is
/// unknown it depends on whether the names of the data look like images.
void accept_no_decoding(const RunOptions& options, const InputSet& input, const Error& error, Context& context) {
  const auto kind = kind_of_samples(options);
  const bool is_absent = error.code() == ErrorCode::not_found || error.code() == ErrorCode::unsupported;
  if (!is_absent && error.code() != ErrorCode::corrupt) throw;
  if (kind == SampleKind::images && is_absent) {
    throw Error(ErrorCode::not_found, At{first_named(input)},
                "{}, but samples of {} are images: give JPEGs or shards of them, or another {}", error.what(),
                options.preset ? *options.preset : "this job", options.preset ? "--preset" : "--sample-kind");
  }
  if (kind == SampleKind::images || (!kind && !is_absent)) throw;
  context.warn("nothing_to_decode", error.what());
}

/// Empty when there is nothing to decode and the job, if any, can do without, or the user said that it has no images.
std::optional<DecodeResult> measure_decode(const RunOptions& options, Shares& shares, const InputSet& input,
                                           std::uint64_t cores, Context& context) {
  if (options.sample_kind.value_or(SampleKind::images) != SampleKind::images) return std::nullopt;
  DecodeBenchOptions decode_options;
  decode_options.threads = options.threads.value_or(cores);
  decode_options.samples = kImages;
  if (options.crop > 0) {
    decode_options.crop = options.crop;
    decode_options.augment = Augmentation::imagenet;
    decode_options.dtype = options.dtype;
  }
  const Deadline loaded = moment_in(shares.take(kShareForLoading));
  decode_options.min_seconds = std::min(shares.take(2 * kShareForDecoding) / 2, kLongestDecode);
  try {
    return decode(decode_options, input, context, decode_options.min_seconds, loaded);
  } catch (const Error& error) {
    accept_no_decoding(options, input, error, context);
    return std::nullopt;
  }
}

/// Without a page cache that could be emptied: from the rate of all reads in flight (Little's law).
LoaderReads reads_past_the_cache(const RunResult& result) {
  LoaderReads reads;
  const ReadResult& read = result.read;
  const double samples = read.samples_per_second.value_or(0);
  if (samples <= 0) return reads;
  reads.wait_seconds = static_cast<double>(read.threads) / samples;
  reads.samples_per_second = std::max(samples, result.more_readers ? result.more_readers->samples_per_second : 0);
  return reads;
}

/// If slow storage delivered no image in time, that of the images which were decoded.
SampleWork sample_work(Shares& shares, const InputSet& input, double cores, Context& context,
                       const std::optional<DecodeResult>& decoded) {
  const Deadline loaded = moment_in(shares.take(kShareForLoaderImages));
  try {
    return measure_sample_work(input, cores, shares.take(kShareForLoader), loaded, context);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::usage || !decoded) throw;
    return {decoded->mix.mean_bytes, decoded->mix.mean_megapixels, decoded->cpu_seconds_per_sample, 1};
  }
}

/// What PyTorch's loader needs for a sample of this data.
void measure_loader(const RunOptions& options, Shares& shares, const InputSet& input, double cores, Context& context,
                    RunResult& result) {
  if (!result.loader_data) result.loader_data = look_at_loader_data(input, options.crop > 0, context);
  const LoaderData& data = *result.loader_data;
  if (result.decode || data.kind != LoaderKind::none) {
    result.sample_work = sample_work(shares, input, cores, context, result.decode);
  }
  result.sample_work.unpack = result.unpack;
  const double bytes = result.read.mean_sample.value_or(0);
  result.loader_reads = reads_past_the_cache(result);
  if (result.read.direct || has_objects(input.files)) return;
  const LoaderBatches batches = crop_batches(std::max<std::uint64_t>(options.crop, 1), options.dtype);
  const LoaderCosts costs = loader_costs(data, result.sample_work, {}, batches, bytes, result.calibration);
  try {
    result.loader_reads = measure_loader_reads(input, bytes, costs.cpu_seconds, result.read.cache.requested,
                                               shares.take(2 * kShareForLoader) / 2, context);
    result.file_costs = result.loader_reads.file_costs;
  } catch (const Error& error) {  // such as a cache that cannot be dropped again in the time
    if (error.code() != ErrorCode::usage && error.code() != ErrorCode::unsupported) throw;
  }
}

/// Whether data went away since it was listed: no verdict is about half of it.
bool is_gone(const InputSet& input) {
  return !has_objects(input.files) && std::ranges::any_of(input.files, [](const auto& file) {
    std::error_code error;
    return std::filesystem::status(file.path, error).type() == std::filesystem::file_type::not_found;
  });
}

/// As much of the input as the pipeline can read in its time, so that no more of it has to be made cold; one file
/// for each reader at least.
InputSet input_of_pipeline(const InputSet& input, const ReadResult& read, double seconds) {
  constexpr double kReserve = 1.5;
  const double most = std::max(read.bytes_per_second * seconds * kReserve, 1.0);
  InputSet part;
  part.inputs = input.inputs;
  for (const InputFile& file : input.files) {
    if (static_cast<double>(part.bytes) >= most && part.files.size() >= read.threads) break;
    part.files.push_back(file);
    part.bytes += file.bytes;
  }
  return part;
}

/// Empty if there is nothing to decode, or its data cannot be brought into the state of the read. If storage is
/// measured the data is read once, so that none of it is read warm; else there are as many passes as time allows.
std::optional<PipelineResult> measure_pipeline(const RunOptions& options, Shares& shares, const InputSet& input,
                                               const ReadResult& read, std::uint64_t cores, Context& context) {
  constexpr std::uint64_t kUntilTheTimeIsOver = 1'000'000;
  PipelineOptions pipeline_options;
  pipeline_options.batch = std::min(options.batch.value_or(kPipelineBatch), kPipelineBatch);
  pipeline_options.workers = options.threads.value_or(cores);
  pipeline_options.readers = read.threads;
  pipeline_options.crop = options.crop;
  pipeline_options.dtype = options.dtype;
  pipeline_options.cache = read.cache.requested;
  pipeline_options.advised = AdvisedVerb::run;
  pipeline_options.device = kNoDevice;  // iobench transfer measures the share of a GPU
  const bool is_of_storage = read.direct || read.cache.requested == CacheRequest::cold;
  pipeline_options.epochs = is_of_storage ? 1 : kUntilTheTimeIsOver;
  try {
    const InputSet wanted = input_of_pipeline(input, read, options.budget * kShareForPipeline);
    const InputSet part = preparable(wanted, read.cache.requested, shares.take(kShareForCaches), context);
    pipeline_options.budget = shares.take(kShareForPipeline);
    PipelineResult result = pipeline(pipeline_options, part, context);
    context.throw_if_stopped();
    return result;
  } catch (const Error& error) {
    using enum ErrorCode;  // usage: no image was read in its share of the budget; earlier measurements stay
    const auto codes = {not_found, corrupt, unsupported, usage};
    if (std::ranges::find(codes, error.code()) == codes.end() || is_gone(input)) throw;
    context.warn("no_pipeline", fmt::format("the pipeline was not measured: {}", error.what()));
    return std::nullopt;
  }
}

}  // namespace

void measure_stages(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context,
                    RunResult& result) {
  const std::uint64_t readers = readers_of(options, result.environment);
  Shares shares(options.budget, 1 - kShareForTransfer);
  context.progress().next_stage();
  const double for_caches = shares.take(kShareForCaches);
  const InputSet stored = as_stored(input);
  result.read = measure_read(options, {shares.take(kShareForReading), for_caches}, stored, readers, context);
  context.throw_if_stopped();
  if (has_compressed(input.files)) {
    result.unpack = measure_unpacking(input, shares.take(kShareForUnpacking), context);
    result.read.samples = 0;
    count_samples(result.unpack->sample_bytes, result.read);
  }
  if (result.read.samples.value_or(0) == 0) {
    const bool all_read = result.read.bytes >= input.bytes;
    throw Error(all_read ? ErrorCode::not_found : ErrorCode::usage,
                fmt::format("'{}' delivered no sample within {}: {}", options.paths.front(),
                            format_duration(result.read.read_seconds), why_no_samples({}, input.files, result.read)),
                options.paths.front());
  }
  const double more = shares.take(kShareForMoreReads);
  result.more_readers = measure_more_readers({more, more}, stored, result, context);
  context.throw_if_stopped();
  context.progress().next_stage();
  result.decode = measure_decode(options, shares, input, cores, context);
  context.throw_if_stopped();
  measure_loader(options, shares, input, loader_limits().cores, context, result);
  if (!result.decode) return;
  if (options.crop == 0) {
    context.warn("no_pipeline", "the pipeline was not measured: batches need images of one size, so use --crop");
    return;
  }
  if (shares.are_used_up()) {
    context.warn("no_pipeline",
                 "the pipeline was not measured: the stages before it took all of the budget; use a longer --budget");
    return;
  }
  context.progress().next_stage();
  result.pipeline = measure_pipeline(options, shares, input, result.read, cores, context);
}

}  // namespace shardkit::bench
