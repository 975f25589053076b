#include "bench/read/read.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "bench/read/read_work.hpp"
#include "bench/store/store_objects.hpp"
#include "bench/store/store_read.hpp"
#include "core/error.hpp"
#include "core/prng.hpp"
#include "io/aligned_buffer.hpp"
#include "io/page_cache.hpp"
#include "stats/steadiness.hpp"
#include "system/disk_stats.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kMostThreads = 4096;
constexpr std::uint64_t kBlock = 256U << 10U;
constexpr const char* kEngine = "pread";

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

void check_options(const ReadOptions& options, std::uint64_t threads) {
  if (threads == 0 || threads > kMostThreads) refuse(fmt::format("--threads: expected 1 to {}", kMostThreads));
  check_block(options);
  if (options.direct && options.block.value_or(kBlock) % AlignedBuffer::kAlignment != 0) {
    refuse("--block: with --direct expected a multiple of 4096 bytes");
  }
  if (options.samples == 0U) refuse("--samples: expected at least 1");
  if (options.budget && *options.budget <= 0) refuse("--budget: expected more than 0 seconds");
  if (const std::string given = options.store.given(); !given.empty()) {
    refuse(fmt::format("{} is for what lies behind s3:// and http(s)://; `iobench run` holds local data against a job",
                       given));
  }
}

/// Each thread has a buffer for what it reads at once.
void check_memory(std::uint64_t threads, std::uint64_t buffer) {
  if (threads * buffer <= usable_memory() / 2) return;
  refuse(fmt::format("--threads {} that read {} at once need more than half of the memory there is ({})", threads,
                     format_size(buffer), format_size(usable_memory())));
}

std::uint64_t largest_read(const std::vector<SampleRef>& samples) {
  const auto largest = std::ranges::max_element(samples, {}, &SampleRef::bytes);
  return std::min(largest->bytes, RandomWork::kMostPerRead);
}

ReadLimits limits_of(const ReadOptions& options) {
  ReadLimits limits{options.samples, {}};
  if (options.budget) limits.deadline = moment_in(*options.budget);
  return limits;
}

/// The samples to read in random mode, in their order.
std::vector<SampleRef> random_order(const InputSet& input, const ReadOptions& options, Context& context) {
  context.progress().start("listing samples");
  std::vector<SampleRef> samples = list_samples(input, std::numeric_limits<std::size_t>::max(), context);
  if (samples.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("there are no samples in the {} shards named; --mode sequential reads "
                            "them all the same",
                            input.files.size()));
  }
  Prng prng(options.seed);
  shuffle(std::span(samples), prng);
  if (options.samples) samples.resize(std::min<std::size_t>(samples.size(), *options.samples));
  return samples;
}

std::optional<DeviceActivity> activity(const std::optional<DiskCounters>& before,
                                       const std::optional<DiskCounters>& after, double seconds) {
  if (!before || !after || after->reads <= before->reads) return std::nullopt;
  const auto reads = static_cast<double>(after->reads - before->reads);
  const auto bytes = static_cast<double>(after->read_bytes - before->read_bytes);
  return DeviceActivity{bytes / seconds, reads / seconds, bytes / reads,
                        (after->read_wait_seconds - before->read_wait_seconds) / reads,
                        (after->queue_seconds - before->queue_seconds) / seconds};
}

void add_hints(ReadResult& result) {
  constexpr double kShort = 1;
  constexpr double kLongWait = 10e-3;
  constexpr double kSmallRequest = 16 * 1024;
  auto& hints = result.hints;
  if (result.read_seconds < kShort) {
    hints.push_back(
        fmt::format("the run took {}; read more data for a steadier rate", format_duration(result.read_seconds)));
  }
  if (!result.steady) hints.emplace_back("the rate drifted from start to end; read more data or set a longer --budget");
  if (result.cache.state == "mixed") {
    hints.emplace_back("part of the data was in memory; --cache cold or --cache warm measures one thing");
  }
  if (result.cache.state == "client-cold") {
    hints.emplace_back("cold is true of this machine only: the server may still have had the data in memory");
  }
  if (result.device && result.device->mean_wait > kLongWait) {
    hints.push_back(fmt::format("the device answered after {} on average; above 10 ms it is overloaded or far away",
                                format_duration(result.device->mean_wait)));
  }
  if (result.device && result.device->mean_request < kSmallRequest) {
    hints.push_back(
        fmt::format("requests to the device were {:.0f} bytes on average; below 16 KiB they cost throughput",
                    result.device->mean_request));
  }
}

ReadResult describe_run(const ReadOptions& options, std::span<const InputFile> files, std::uint64_t threads) {
  ReadResult result;
  result.mode = options.mode;
  result.direct = options.direct;
  result.threads = threads;
  result.block = options.block.value_or(kBlock);
  result.files = files.size();
  result.cache.requested = options.cache;
  result.storage = storage_of(files.front().path);
  return result;
}

void add_measurement(const Timing& timing, const std::vector<ReadTally>& tallies, ReadResult& result) {
  LatencyHistogram latency;
  std::uint64_t samples = 0;
  std::uint64_t sample_bytes = 0;
  for (const ReadTally& tally : tallies) {
    latency.merge(tally.latency);
    sample_bytes += tally.sample_bytes;
    result.bytes += tally.bytes;
    samples += tally.samples;
  }
  result.operations = latency.count();
  result.latency = latency.quantiles();
  result.read_seconds = timing.seconds;
  result.cpu_seconds = timing.cpu_seconds;
  result.bytes_per_second = static_cast<double>(result.bytes) / timing.seconds;
  result.samples = samples;
  result.samples_per_second = static_cast<double>(samples) / timing.seconds;
  result.mean_sample = samples > 0 ? static_cast<double>(sample_bytes) / static_cast<double>(samples) : 0;
  result.bytes_per_second_interval = rate_interval(timing);
  result.steady = std::abs(relative_drift(timing.rates)) <= kSteadyDrift;
}

/// Runs either kind of work and adds what it measured.
template <class Work>
void run_work(Work& work, Context& context, ReadResult& result) {
  std::vector<ReadTally> tallies(result.threads);
  const auto disk_before = read_disk_counters(result.storage.device);
  const Timing timing = timed_run(
      static_cast<unsigned>(result.threads),
      [&](unsigned thread, const std::stop_token& stop) { work.run(tallies[thread], stop); }, context.progress().bytes,
      context.stop_token());
  context.throw_if_stopped();
  add_measurement(timing, tallies, result);
  result.device = activity(disk_before, read_disk_counters(result.storage.device), timing.seconds);
}

void read_parts(std::span<const InputFile> files, const ReadEngine& engine, const ReadOptions& options,
                Context& context, ReadResult& result) {
  std::uint64_t bytes = 0;
  for (const InputFile& file : files) bytes += file.bytes;
  context.progress().start("reading", 0, bytes);
  SequentialWork work(files, engine, options.block.value_or(kBlock), limits_of(options), context);
  run_work(work, context, result);
  if (work.parts() >= result.threads) return;
  result.hints.push_back(
      fmt::format("only {} of the {} threads had something to read: files are read in parts of 64 MiB, a shard without "
                  "an index by one thread",
                  work.parts(), result.threads));
}

void read_samples(std::span<const InputFile> files, const ReadEngine& engine, std::vector<SampleRef> order,
                  const ReadOptions& options, Context& context, ReadResult& result) {
  context.progress().start("reading", order.size());
  RandomWork work(files, engine, std::move(order), limits_of(options), context);
  run_work(work, context, result);
  if (work.keeps_shards_open()) return;
  result.hints.emplace_back(
      "there are more shards than may be open at once (ulimit -n), so each sample's time includes opening its shard");
}

}  // namespace

void check_block(const ReadOptions& options) {
  constexpr std::uint64_t kLeastBlock = 512;
  constexpr std::uint64_t kMostBlock = 1U << 30U;
  if (!options.block || (*options.block >= kLeastBlock && *options.block <= kMostBlock)) return;
  refuse("--block: expected 512 B to 1 GiB");
}

ReadResult read(const ReadOptions& options, Context& context) {
  const auto in_stores = std::ranges::count_if(options.paths, lies_in_store);
  if (in_stores > 0 && static_cast<std::size_t>(in_stores) < options.paths.size()) {
    refuse("PATH: some are local, some are behind URLs; measure them apart");
  }
  if (in_stores > 0) return read_store(options, context);
  return read(options, find_input(options.paths, context), context);
}

ReadResult read(const ReadOptions& options, const InputSet& input, Context& context) {
  const std::uint64_t threads = options.threads.value_or(usable_threads());
  check_options(options, threads);
  const bool random = options.mode == ReadMode::random;
  const auto engine = make_read_engine(options.engine.value_or(kEngine), {.direct = options.direct, .random = random});
  check_sparse(input.files, options.direct || options.cache == CacheRequest::cold, context);
  std::vector<SampleRef> order;
  if (random) order = random_order(input, options, context);  // before caches are made cold: it reads headers
  check_memory(threads, random ? largest_read(order) : options.block.value_or(kBlock));
  const std::size_t prepared = prepare_cache(input.files, options.cache, options.prepare_seconds, context);
  const auto files = std::span(input.files).first(prepared);
  ReadResult result = describe_run(options, files, threads);
  result.engine = engine->name();
  result.cache.residency_before_ratio = residency(files, context);
  result.cache.state = options.direct ? "direct" : cache_state(result.cache, result.storage.storage_class);
  if (random) {
    read_samples(files, *engine, std::move(order), options, context, result);
  } else {
    read_parts(files, *engine, options, context, result);
  }
  result.cache.residency_after_ratio = residency(files, context);
  if (result.samples == 0U) context.warn("no_samples", "no whole sample was read, so samples per second say nothing");
  if (prepared < input.files.size()) {
    result.hints.push_back(
        fmt::format("{} of {} files were read: there was no time to bring the caches of more into "
                    "the state asked for; a longer --budget reads more",
                    prepared, input.files.size()));
  }
  add_hints(result);
  return result;
}

}  // namespace shardkit
