#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "bench/input/sample_listing.hpp"
#include "core/context.hpp"
#include "io/read_engine.hpp"
#include "stats/latency_histogram.hpp"

/// The reading itself: what each thread of `iobench read` does.
namespace shardkit {

/// When to stop before everything was read.
struct ReadLimits {
  std::optional<std::uint64_t> samples;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

/// What one thread read. On a cache line of its own.
struct alignas(64) ReadTally {
  LatencyHistogram latency;
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
  std::uint64_t sample_bytes = 0;  ///< of the samples that were read whole
};

/// Reads files from start to end in blocks; each thread takes the next part of the data. A part is up to 64 MiB, so
/// that all threads have work until the end. A shard whose number of samples is not known is one part, however large:
/// its samples are counted by parsing what comes by. Where the number is known a part counts by its share of the bytes.
class SequentialWork {
 public:
  SequentialWork(std::span<const InputFile> files, const ReadEngine& engine, std::uint64_t block,
                 const ReadLimits& limits, Context& context);

  void run(ReadTally& tally, const std::stop_token& stop);

  /// Threads beyond this number have nothing to do.
  std::size_t parts() const { return parts_.size(); }

 private:
  struct Part {
    std::size_t file = 0;  ///< index into the files
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  void read_part(const Part& part, ReadTally& tally, AlignedBuffer& buffer, const std::stop_token& stop);
  bool limit_reached() const;

  std::span<const InputFile> files_;
  const ReadEngine& engine_;
  std::uint64_t block_;
  ReadLimits limits_;
  Context& context_;
  std::vector<Part> parts_;
  std::atomic<std::size_t> next_part_{0};
};

/// Reads single samples in the order given; each thread takes the next one.
class RandomWork {
 public:
  /// A larger sample is read in pieces of this size, so that a thread's memory is bounded.
  static constexpr std::uint64_t kMostPerRead = 8U << 20U;

  /// Opens the shards, or where there are more of them than descriptors to spare leaves that to each read.
  RandomWork(std::span<const InputFile> files, const ReadEngine& engine, std::vector<SampleRef> order,
             const ReadLimits& limits, Context& context);

  void run(ReadTally& tally, const std::stop_token& stop);

  /// False when each read opens its shard, and takes the longer for it.
  bool keeps_shards_open() const { return keeps_shards_open_; }

 private:
  void read_sample(const SampleRef& sample, ReadTally& tally, AlignedBuffer& buffer);

  std::span<const InputFile> files_;
  const ReadEngine& engine_;
  std::vector<SampleRef> order_;
  ReadLimits limits_;
  Context& context_;
  bool keeps_shards_open_ = true;
  std::vector<std::unique_ptr<ReadFile>> open_;  ///< by file; empty for those opened per read
  std::atomic<std::size_t> next_sample_{0};
};

}  // namespace shardkit
