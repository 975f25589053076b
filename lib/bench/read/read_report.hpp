#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/fields.hpp"
#include "stats/latency_histogram.hpp"

/// Parts of the result of `iobench read`.
namespace shardkit {

/// How many reads took so long: `from` to `to`.
struct LatencyStep {
  double from = 0;
  double to = 0;
  std::uint64_t count = 0;

  void describe(FieldVisitor& v);
};

std::vector<LatencyStep> latency_steps(const LatencyHistogram& latency);

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

/// What of the data is not on the disk byte for byte, by at most 2000 files taken evenly.
struct DataOnDisk {
  std::uint64_t files_asked = 0;
  std::uint64_t hole_bytes = 0;
  std::uint64_t unwritten_bytes = 0;
  std::uint64_t compressed_bytes = 0;

  void describe(FieldVisitor& v);
};

}  // namespace shardkit
