#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "bench/sample_listing.hpp"
#include "core/context.hpp"
#include "io/read_engine.hpp"
#include "stats/latency_histogram.hpp"

/// The reading itself: what each thread of `iobench read` does.
namespace shardkit {

/// When to stop before everything was read.
struct ReadLimits {
  std::optional<std::uint64_t> samples;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool any() const { return samples || deadline; }
};

/// What one thread read. On a cache line of its own.
struct alignas(64) ReadTally {
  LatencyHistogram latency;
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
};

/// Reads whole files in blocks; each thread takes the next file. Samples of a shard are counted by what is known of it,
/// or, where nothing is or a limit may end the run inside of it, by parsing what comes by.
class SequentialWork {
 public:
  SequentialWork(const InputSet& input, const ReadEngine& engine, std::uint64_t block, const ReadLimits& limits,
                 Context& context)
      : input_(input), engine_(engine), block_(block), limits_(limits), context_(context) {}

  void run(ReadTally& tally, const std::stop_token& stop);

 private:
  void read_file(const InputFile& entry, ReadTally& tally, AlignedBuffer& buffer, const std::stop_token& stop);
  bool limit_reached() const;

  const InputSet& input_;
  const ReadEngine& engine_;
  std::uint64_t block_;
  ReadLimits limits_;
  Context& context_;
  std::atomic<std::size_t> next_file_{0};
};

/// Reads single samples, each in one piece, in the order given; each thread takes the next one.
class RandomWork {
 public:
  /// Opens the shards, or where there are more of them than descriptors to spare leaves that to each read.
  RandomWork(const InputSet& input, const ReadEngine& engine, std::vector<SampleRef> order, const ReadLimits& limits,
             Context& context);

  void run(ReadTally& tally, const std::stop_token& stop);

 private:
  void read_sample(const SampleRef& sample, ReadTally& tally, AlignedBuffer& buffer);

  const InputSet& input_;
  const ReadEngine& engine_;
  std::vector<SampleRef> order_;
  ReadLimits limits_;
  Context& context_;
  std::vector<std::unique_ptr<ReadFile>> open_;  ///< by file; empty for those opened per read
  std::atomic<std::size_t> next_sample_{0};
};

}  // namespace shardkit
