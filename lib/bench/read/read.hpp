#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/read/folder_read.hpp"
#include "bench/read/store_report.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "stats/latency_histogram.hpp"
#include "system/storage.hpp"

/// Parts of the result of `iobench read`.
///
/// `iobench read`: how fast shards or files come from storage or the page cache, or objects from a store.
namespace shardkit::bench {

/// How many reads took so long: `from` to `to`.
struct LatencyStep {
  double from = 0;
  double to = 0;
  std::uint64_t count = 0;

  void describe(FieldVisitor& v);
};

std::vector<LatencyStep> latency_steps(const stats::LatencyHistogram& latency);

/// What the kernel's counters say of the device meanwhile, other readers included.
struct DeviceActivity {
  std::uint64_t read_bytes = 0;
  double read_bytes_per_second = 0;
  double requests_per_second = 0;
  double mean_request = 0;
  double mean_wait = 0;
  double mean_queue = 0;

  void describe(FieldVisitor& v);
};

/// One of several repetitions.
struct ReadRepetition {
  double bytes_per_second = 0;
  std::uint64_t bytes = 0;
  double read_seconds = 0;
  std::uint64_t passes = 0;
  std::optional<bool> steady;  ///< empty: too short to tell
  double p50 = 0;
  double p99 = 0;

  void describe(FieldVisitor& v);
};

enum class ReadMode {
  sequential,   ///< whole files in blocks, as loaders stream shards
  random,       ///< single samples in random order, as map-style data sets read; or blocks, as fio does
  imagefolder,  ///< list, open, stat, read, close, each timed apart
};
constexpr auto enum_names(ReadMode) { return std::to_array<std::string_view>({"sequential", "random", "imagefolder"}); }

struct ReadOptions {
  std::vector<std::string> paths;
  ReadMode mode = ReadMode::sequential;
  std::optional<std::string> job;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> block;
  std::optional<std::string> engine;
  std::optional<std::uint64_t> depth;
  bool direct = false;
  CacheRequest cache = CacheRequest::any;
  std::optional<std::uint64_t> samples;
  std::optional<double> budget;
  std::optional<double> min_time;
  std::uint64_t repeat = 1;
  std::uint64_t seed = 0;
  StoreReadOptions store;  ///< its sample_bytes are of local files too: each is a row of samples of that size
  /// Set by `run` and `sweep`, not on the command line, in sequential mode alone: how many seconds the bringing of
  /// caches into the state asked for may take. The files that are ready by then are those that are read, and once
  /// dropping them between passes has taken as long there is no further pass.
  std::optional<double> prepare_seconds;

  void describe(FieldVisitor& v);
};

struct ReadResult {
  ReadMode mode = ReadMode::sequential;
  std::optional<std::string> job;  ///< what --job stands for, in words
  std::string engine;
  bool direct = false;
  std::uint64_t threads = 0;
  std::optional<std::uint64_t> depth;
  std::uint64_t block = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> samples;  ///< nobody counts those of a store, or of random blocks
  std::uint64_t operations = 0;
  std::optional<std::uint64_t> kernel_reads;
  std::optional<std::uint64_t> passes;
  double read_seconds = 0;
  double cpu_seconds = 0;
  double bytes_per_second = 0;
  std::optional<RateInterval> bytes_per_second_interval;
  std::optional<bool> steady;  ///< empty: too short to tell
  std::optional<double> samples_per_second;
  std::optional<double> mean_sample;
  stats::LatencyQuantiles latency;
  std::vector<LatencyStep> latency_histogram;
  std::vector<ReadRepetition> repetitions;  ///< empty for a single one
  CacheReport cache;
  system::StorageFacts storage;
  std::optional<DataOnDisk> on_disk;
  std::optional<DeviceActivity> device;
  std::optional<FolderReport> imagefolder;
  std::optional<std::string> fio;
  std::vector<std::string> hints;
  std::optional<StoreReport> store;  ///< of what lies behind a URL

  /// True when a store misses the requirement, its reserve included.
  bool has_findings() const { return store && store->streaming && store->streaming->verdict == StreamOrStage::stage; }

  void describe(FieldVisitor& v);
};

/// Measures options.paths, all local or all behind URLs (bench/store_read.hpp). Writes nothing. Throws
/// Error{unsupported} when the engine, O_DIRECT or the cache state asked for cannot be had.
ReadResult read(const ReadOptions& options, Context& context);
/// The same over local files that were found already; options.paths is not looked at.
ReadResult read(const ReadOptions& options, const InputSet& input, Context& context);

}  // namespace shardkit::bench
