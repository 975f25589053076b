#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/read/folder_report.hpp"
#include "bench/read/store_report.hpp"
#include "bench/repetition/repetitions.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/second_watch.hpp"
#include "bench/timing/timed_run.hpp"
#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "io/read_engine.hpp"
#include "stats/latency_histogram.hpp"
#include "system/storage.hpp"

/// `iobench read`: how fast shards or files are read from storage or the page cache, or objects from a store.
namespace shardkit::bench {

enum class ReadMode {
  sequential,   ///< whole files in blocks, like loaders that stream shards
  random,       ///< single samples in random order, like map-style data sets; or blocks, like fio
  imagefolder,  ///< list, open, stat, read, close, each measured separately
};
constexpr auto enum_names(ReadMode) { return std::to_array<std::string_view>({"sequential", "random", "imagefolder"}); }

struct ReadOptions {
  std::vector<std::string> paths;
  ReadMode mode = ReadMode::sequential;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> block;
  std::optional<io::EngineKind> engine;
  std::optional<std::uint64_t> depth;
  bool direct = false;
  CacheRequest cache = CacheRequest::any;
  std::optional<std::uint64_t> samples;
  std::optional<double> budget;
  std::optional<double> min_time;
  std::optional<std::uint64_t> sample_bytes;  ///< local files are rows of samples of this size
  std::optional<double> required_rate;        ///< for stores: bytes per second that the job reads
  catalog::StoreAccess access;
  /// Set by `run` and `sweep`, not on the command line, only in sequential mode: how many seconds the preparation of
  /// caches may take. Only files that are ready by then are read. When dropping them between passes has taken as long,
  /// there is no further pass.
  std::optional<double> prepare_seconds;
  const char* phase = bench::phase::kReading;  ///< for progress and the seconds of `run`; a literal

  void describe(FieldList& v);
};

/// Kernel counters of the device during the run, including other readers.
struct DeviceActivity {
  std::uint64_t read_bytes = 0;
  double read_bytes_per_second = 0;
  double requests_per_second = 0;
  double mean_request = 0;
  double mean_wait = 0;
  double mean_queue = 0;

  void describe(FieldList& v);
};

struct ReadResult {
  ReadMode mode = ReadMode::sequential;
  std::string engine;  ///< "http" for a store
  bool direct = false;
  std::uint64_t threads = 0;
  std::optional<std::uint64_t> depth;
  std::uint64_t block = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> samples;  ///< empty for a store, or for random blocks
  std::uint64_t operations = 0;
  std::optional<std::uint64_t> kernel_reads;
  std::optional<std::uint64_t> passes;
  double read_seconds = 0;
  double cpu_seconds = 0;
  double bytes_per_second = 0;
  std::optional<stats::Interval> bytes_per_second_interval;
  std::optional<bool> steady;  ///< empty: the run was too short to find out
  std::optional<double> samples_per_second;
  std::optional<double> mean_sample;
  std::optional<double> unpack_cpu_seconds_per_sample;  ///< of compressed shards
  stats::LatencyQuantiles latency;
  std::vector<stats::LatencyStep> latency_histogram;
  CacheReport cache;
  system::StorageFacts storage;
  std::optional<DataOnDisk> on_disk;
  std::optional<DeviceActivity> device;
  std::optional<FolderReport> imagefolder;
  std::optional<std::string> fio;
  std::vector<std::string> hints;
  std::optional<StoreReport> store;  ///< only for URLs
  Neighbors neighbors;               ///< while it was measured
  bool interrupted = false;          ///< then the rates are those until the stop

  /// True if a store misses the requirement including its reserve.
  bool has_findings() const { return store && store->streaming && store->streaming->verdict == StreamOrStage::stage; }

  void describe(FieldList& v);
};

/// Measures options.paths, all local or all URLs (store_read.hpp). Writes nothing. Throws Error{unsupported} if the
/// engine, O_DIRECT or the requested cache state is not available.
ReadResult read(const ReadOptions& options, Context& context);
/// The same for existing local files; options.paths is ignored.
ReadResult read(const ReadOptions& options, const InputSet& input, Context& context);

struct RepeatedReadOptions : ReadOptions, RepeatOption {
  void describe(FieldList& v);
};

/// The result of the repetition with the median rate.
struct RepeatedReadResult : ReadResult, Repeated<ReadResult> {
  void describe(FieldList& v);
};

/// `iobench read` itself. Throws Error{usage} for several repetitions of which only the first would read from storage.
RepeatedReadResult read_repeatedly(const RepeatedReadOptions& options, Context& context);

}  // namespace shardkit::bench
