#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cache_state.hpp"
#include "bench/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "stats/latency_histogram.hpp"
#include "system/storage.hpp"

/// `iobench read`: how fast shards or files come from storage or the page cache.
namespace shardkit {

enum class ReadMode {
  sequential,  ///< whole files in blocks, as loaders stream shards
  random,      ///< single samples in random order, as map-style data sets read
};
template <>
struct EnumNames<ReadMode> {
  static constexpr std::array<std::string_view, 2> names{"sequential", "random"};
};

struct ReadOptions {
  std::vector<std::string> paths;
  ReadMode mode = ReadMode::sequential;
  std::optional<std::uint64_t> threads;
  std::uint64_t block = 256U << 10U;
  std::string engine = "pread";
  bool direct = false;
  CacheRequest cache = CacheRequest::any;
  std::optional<std::uint64_t> samples;
  std::optional<double> budget;
  std::uint64_t seed = 0;
  /// Set by `run`, not on the command line, in sequential mode alone: how many seconds the bringing of caches into the
  /// state asked for may take. The files that are ready by then are those that are read.
  std::optional<double> prepare_seconds;

  void describe(FieldVisitor& v);
};

/// What the kernel's counters say of the device meanwhile, other readers included.
struct DeviceActivity {
  double read_bytes_per_second = 0;
  double requests_per_second = 0;
  double mean_request = 0;
  double mean_wait = 0;
  double mean_queue = 0;

  void describe(FieldVisitor& v);
};

struct ReadResult {
  ReadMode mode = ReadMode::sequential;
  std::string engine;
  bool direct = false;
  std::uint64_t threads = 0;
  std::uint64_t block = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
  std::uint64_t operations = 0;
  double read_seconds = 0;
  double cpu_seconds = 0;
  double bytes_per_second = 0;
  std::optional<RateInterval> bytes_per_second_interval;
  bool steady = true;
  double samples_per_second = 0;
  double mean_sample = 0;
  LatencyQuantiles latency;
  CacheReport cache;
  StorageFacts storage;
  std::optional<DeviceActivity> device;
  std::vector<std::string> hints;

  void describe(FieldVisitor& v);
};

/// Writes nothing. Throws Error{unsupported} when the engine, O_DIRECT or the cache state asked for cannot be had.
ReadResult read(const ReadOptions& options, Context& context);
/// The same over an input that was found already; options.paths is not looked at.
ReadResult read(const ReadOptions& options, const InputSet& input, Context& context);

}  // namespace shardkit
