#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/result.hpp"
#include "formats/shard_index.hpp"
#include "sync/adaptive_workers.hpp"

/// The seam between where samples come from (files for convert, other shards for reshard) and the shards they go to.
namespace shardkit {

/// One sample on its way. Used by one thread at a time, but not by the same all along.
class PendingSample {
 public:
  virtual ~PendingSample() = default;

  /// Bytes that it takes in its tar at the most.
  virtual std::size_t tar_bytes() const = 0;

  /// Writes headers, contents and padding to the front of `out`, which has tar_bytes(). The members' offsets count from
  /// there; the sample ends with the padding of the last. The Error says why there is no sample. Blocking reads are
  /// timed by `meter`.
  virtual Result<IndexSample> read(MutableBytes out, WaitMeter& meter) = 0;

  /// What the index names when the sample is left out.
  virtual std::string path() const = 0;
};

/// The samples that the plan gives one shard, in order. One thread at a time.
class ShardSamples {
 public:
  virtual ~ShardSamples() = default;
  /// Null after the last one.
  virtual std::unique_ptr<PendingSample> next() = 0;
};

/// Where samples come from. Thread-safe; outlives what it gave.
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual std::unique_ptr<ShardSamples> open(std::size_t shard) = 0;
  /// Whether a sample that failed so is left out; otherwise the job fails.
  virtual bool leaves_out(const Error& error) const = 0;
  /// Nanoseconds that all threads together spent reading.
  virtual std::int64_t read_ns() const = 0;
};

}  // namespace shardkit
