#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/input/input_files.hpp"
#include "core/context.hpp"
#include "io/read_engine.hpp"
#include "stats/latency_histogram.hpp"

/// The reading itself: what each thread of `iobench read` does.
namespace shardkit::bench {

/// When to stop; seconds count from the start of the first thread.
struct ReadLimits {
  std::optional<std::uint64_t> samples;  ///< after so many, whatever is left
  std::optional<double> most_seconds;    ///< then, whatever is left
  double least_seconds = 0;              ///< everything is read again and again until then; 0: once
};

/// What one thread read. On a cache line of its own.
struct alignas(64) ReadTally {
  stats::LatencyHistogram latency;
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
  std::uint64_t sample_bytes = 0;  ///< of the samples that were read whole
  std::uint64_t kernel_reads = 0;  ///< reads as the kernel made them

  void merge(const ReadTally& other);
};

/// Numbers from 0 to `count`, each once, or over and over while the limits want more. Thread-safe.
class Turns {
 public:
  Turns(std::uint64_t count, const ReadLimits& limits) : count_(count), limits_(limits) {}
  /// Before the first turn.
  void set_count(std::uint64_t count) { count_ = count; }
  /// Called by each thread before its first turn: time counts from the first of these calls.
  void begin();

  std::optional<std::uint64_t> next();
  /// True from the moment on at which nothing more is to be begun.
  bool over() const;

 private:
  std::uint64_t count_;
  ReadLimits limits_;
  std::once_flag begun_;
  std::chrono::steady_clock::time_point again_until_;
  std::chrono::steady_clock::time_point deadline_;
  std::atomic<std::uint64_t> next_{0};
};

/// What the threads of a pass do together. Each calls prepare() and then run(), once.
class ReadWork {
 public:
  virtual ~ReadWork() = default;
  /// Makes the thread's lane: its buffers take longer to be had than some data to be read.
  virtual std::unique_ptr<io::ReadLane> prepare() const = 0;
  virtual void run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) = 0;
  /// Something that the reader of the result should know; empty for nothing.
  virtual std::string hint(std::uint64_t threads) const = 0;
};

/// Keeps as many reads under way as the engine takes: `next(request)` fills the next one or says false at the end,
/// `take(completion)` has what came. After a stop nothing new is begun.
template <class Next, class Take>
void keep_reading(io::ReadLane& lane, unsigned depth, const std::stop_token& stop, const Next& next, const Take& take) {
  io::ReadRequest request;
  bool more = true;
  while (true) {
    while (more && lane.under_way() < depth) {
      more = !stop.stop_requested() && next(request);
      if (more) lane.submit(request);
    }
    if (lane.under_way() == 0) return;
    take(lane.wait());
  }
}

/// Reads files from start to end in blocks; each thread takes the next part of the data. A part is up to 64 MiB, so
/// that all threads have work until the end. A shard whose number of samples is not known is one part, however large:
/// its samples are counted by parsing what comes by, which takes a depth of 1; beyond that they are not counted. Where
/// the number is known a part counts by its share of the bytes.
class SequentialWork final : public ReadWork {
 public:
  SequentialWork(std::span<const InputFile> files, const io::ReadEngine& engine, std::uint64_t block,
                 const ReadLimits& limits, Context& context);

  std::unique_ptr<io::ReadLane> prepare() const override { return engine_.make_lane(block_); }
  void run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) override;
  std::string hint(std::uint64_t threads) const override;

 private:
  struct Part {
    std::size_t file = 0;  ///< index into the files
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  class Thread;

  bool limit_reached() const;

  std::span<const InputFile> files_;
  const io::ReadEngine& engine_;
  std::uint64_t block_;
  ReadLimits limits_;
  Context& context_;
  std::vector<Part> parts_;
  Turns turns_;
};

}  // namespace shardkit::bench
