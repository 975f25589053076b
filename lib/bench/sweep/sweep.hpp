#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/torch/loader_advice.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"
#include "io/read_engine.hpp"
#include "stats/summary.hpp"

/// `iobench sweep`: the best settings on this node, at the knees of the curves. The choice of settings uses neither
/// files nor clocks.
namespace shardkit::bench {

/// Settings of a point: the first four are for reading, the others for making samples.
struct SweepPoint {
  io::EngineKind engine = io::EngineKind::pread;
  std::uint64_t threads = 1;
  std::uint64_t block = 256U << 10U;  ///< bytes
  std::uint64_t depth = 1;            ///< reads in flight per thread
  std::uint64_t workers = 1;
  std::uint64_t prefetch = 2;          ///< batches
  std::optional<double> step_seconds;  ///< of the emulated step; absent: batches are taken as fast as they come
};

/// A rate and, if known, its interval.
struct SweepRate {
  double rate = 0;
  std::optional<stats::Interval> interval = {};
};
using SweepProbe = std::function<SweepRate(const SweepPoint&)>;

/// The measurements. Both may throw; Error{unsupported} of the first for engine "uring" excludes that engine.
struct SweepProbes {
  SweepProbe read;  ///< bytes per second
  SweepProbe load;  ///< samples per second
  /// Called before each parameter with the number of its values.
  std::function<void(std::size_t values)> begin = [](std::size_t) {};
  /// Whether there is time for another point; `best` is the parameter's best rate so far if it is one of reading, 0
  /// before its first point.
  std::function<bool(const SweepPoint& setting, double best)> has_time = [](const SweepPoint&, double) { return true; };
};

enum class SweepParameter { threads, block, depth, workers, prefetch };
constexpr auto enum_names(SweepParameter) {
  return std::to_array<std::string_view>({"threads", "block", "depth", "workers", "prefetch"});
}

struct SweepRow {
  SweepParameter parameter = SweepParameter::threads;
  std::uint64_t value = 0;
  std::optional<double> bytes_per_second;
  std::optional<double> samples_per_second;
  std::optional<double> low;  ///< of the rate's interval
  std::optional<double> high;
  bool knee = false;  ///< the smallest value with at least 95 % of the parameter's best rate

  void describe(FieldList& v);
};

/// The settings at the knees.
struct SweepSettings {
  std::optional<io::EngineKind> engine;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> block;
  std::optional<std::uint64_t> depth;
  std::optional<double> bytes_per_second;
  std::optional<std::uint64_t> workers;
  std::optional<std::uint64_t> prefetch;
  std::optional<double> samples_per_second;

  void describe(FieldList& v);
};

struct SweepOutcome {
  std::vector<SweepRow> rows;  ///< in the order measured
  SweepSettings settings;
  std::optional<std::pair<double, double>>
      measured_twice;         ///< two rates of one reading setting, if it was measured twice
  std::string uring_refused;  ///< why that engine was excluded; empty if it was not
  bool is_cut = false;        ///< there was no time for some points
};

/// Parameters are tried one after the other, each at the knees of those before: threads, block size, then queue depth
/// of io_uring. Each goes from small to large until two values in a row gain less than 5 %, or there is no time for the
/// next. io_uring is chosen only if it is 5 % faster than pread.
void sweep_reading(const SweepProbes& probes, SweepOutcome& outcome);

/// Workers up to 1.5 times `cores`, with batches taken as fast as they come. Then prefetch beside a step that takes as
/// long as a batch of `batch` samples at that rate: neither waits for the other on average, so prefetching matters
/// most. `step_seconds`: the job's own step instead.
void sweep_loading(const SweepProbes& probes, std::uint64_t cores, std::uint64_t batch,
                   std::optional<double> step_seconds, SweepOutcome& outcome);

/// Maximum number of points of sweeps with this many cores, to divide the time.
std::uint64_t most_read_points();
std::uint64_t most_load_points(std::uint64_t cores);

enum class SweepWhat { all, read, load };
constexpr auto enum_names(SweepWhat) { return std::to_array<std::string_view>({"all", "read", "load"}); }

struct SweepOptions {
  std::vector<std::string> paths;
  SweepWhat mode = SweepWhat::all;
  CacheRequest cache = CacheRequest::cold;
  std::uint64_t batch = 64;
  std::optional<double> step_time;
  std::uint64_t crop = 224;
  double budget = 180;
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

struct SweepResult {
  std::string text;  ///< one line
  SweepSettings settings;
  std::vector<std::string> commands;   ///< commands with the settings
  std::optional<LoaderAdvice> loader;  ///< where loading was swept
  std::vector<SweepRow> rows;
  double point_seconds = 0;
  Neighbors neighbors;       ///< over all points
  bool interrupted = false;  ///< then `rows` are the points before

  void describe(FieldList& v);
};

/// Takes at most `budget` seconds, and two more on slow storage: each parameter has its share, in which it tries as
/// many values as it can. Writes nothing. If there is data but no images, SweepWhat::all warns and sweeps only reading.
/// After a stop, it returns the points before.
SweepResult sweep(const SweepOptions& options, Context& context);

}  // namespace shardkit::bench
