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

#include "bench/input/sample_listing.hpp"
#include "bench/read/read.hpp"
#include "core/context.hpp"
#include "io/read_engine.hpp"
#include "stats/latency_histogram.hpp"
#include "system/block_device.hpp"

/// The reading itself: the work of each thread of `iobench read`, and what their passes measure.
namespace shardkit::bench {

/// When to stop. Seconds count from the start of the first thread.
struct ReadLimits {
  std::optional<std::uint64_t> samples;  ///< stop after this many
  std::optional<double> most_seconds;    ///< stop at this time
  double least_seconds = 0;              ///< read everything repeatedly until then; 0: once
};

/// Results of one thread. On a cache line of its own.
struct alignas(64) ReadTally {
  stats::LatencyHistogram latency;
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
  std::uint64_t sample_bytes = 0;  ///< of the samples that were read completely
  std::uint64_t kernel_reads = 0;  ///< reads made by the kernel
  double unpack_cpu_seconds = 0;   ///< of compressed shards

  void merge(const ReadTally& other);
};

/// Numbers from 0 to `count`, each once, or repeatedly while the limits require more. Thread-safe.
class Turns {
 public:
  Turns(std::uint64_t count, const ReadLimits& limits) : count_(count), limits_(limits) {}
  /// Called by each thread before it starts: time counts from the first of these calls.
  void begin();

  std::optional<std::uint64_t> next();
  /// True when nothing more should be started.
  bool over() const;
  /// False for a read that arrived when the time was over, if another one arrived in time: its rate is that until then.
  bool counts(std::chrono::steady_clock::time_point finished);
  /// Whether the time limits the rate: something arrived in time, and what came later does not count.
  bool counted_in_time() const { return limits_.most_seconds && some_in_time_; }

 private:
  std::uint64_t count_;
  ReadLimits limits_;
  std::once_flag begun_;
  std::chrono::steady_clock::time_point again_until_;
  std::chrono::steady_clock::time_point deadline_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> some_in_time_{false};
};

/// The common work of the threads of a pass. Each calls prepare() and then run(), once.
class ReadWork {
 public:
  virtual ~ReadWork() = default;
  /// Creates the thread's buffers, which may take longer than reading some data.
  virtual std::unique_ptr<io::ReadLane> prepare() const = 0;
  virtual void run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) = 0;
  /// See Turns.
  virtual bool counted_in_time() const = 0;
  /// A hint for the result; empty: none.
  virtual std::string hint(std::uint64_t threads) const = 0;
};

/// Keeps as many reads in flight as the engine allows: `thread.next(request)` fills the next one or returns false at
/// the end, `thread.take(completion)` gets the data. After a stop nothing new is started.
template <class Thread>
void keep_reading(io::ReadLane& lane, unsigned depth, const std::stop_token& stop, Thread& thread) {
  io::ReadRequest request;
  bool more = true;
  while (true) {
    while (more && lane.under_way() < depth) {
      more = !stop.stop_requested() && thread.next(request);
      if (more) lane.submit(request);
    }
    if (lane.under_way() == 0) return;
    thread.take(lane.wait());
  }
}

/// Reads files from start to end in blocks; each thread takes the next part of the data. A part is up to 64 MiB, so
/// that all threads have work until the end. A shard with an unknown number of samples is one part: its samples are
/// counted by parsing, for which the thread unpacks a compressed one. That needs depth 1, and otherwise they are not
/// counted. If the number is known, a part counts by its share of the bytes.
class SequentialWork final : public ReadWork {
 public:
  SequentialWork(std::span<const InputFile> files, const io::ReadEngine& engine, std::uint64_t block,
                 const ReadLimits& limits, Context& context);

  std::unique_ptr<io::ReadLane> prepare() const override { return engine_.make_lane(block_); }
  void run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) override;
  bool counted_in_time() const override { return turns_.counted_in_time(); }
  std::string hint(std::uint64_t threads) const override;

 private:
  struct Part {
    std::size_t file = 0;  ///< index into the files
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  class Thread;

  static std::vector<Part> parts_of(std::span<const InputFile> files, const io::ReadEngine& engine);
  bool limit_reached() const;

  std::span<const InputFile> files_;
  const io::ReadEngine& engine_;
  std::uint64_t block_;
  ReadLimits limits_;
  Context& context_;
  std::vector<Part> parts_;
  Turns turns_;
};

/// The order of random reads. No piece is repeated before all were read, as in fio's random map. Thread-safe.
class RandomOrder {
 public:
  virtual ~RandomOrder() = default;
  virtual std::uint64_t size() const = 0;
  /// The piece to read as number `index` of size().
  virtual SampleRef at(std::uint64_t index) const = 0;
  /// The largest piece.
  virtual std::uint64_t largest() const = 0;
};

/// Samples, shuffled by the seed; the first `most` of them.
class ShuffledSamples final : public RandomOrder {
 public:
  ShuffledSamples(std::vector<SampleRef> samples, std::uint64_t seed, std::uint64_t most);
  std::uint64_t size() const override { return samples_.size(); }
  SampleRef at(std::uint64_t index) const override { return samples_[index]; }
  std::uint64_t largest() const override { return largest_; }

 private:
  std::vector<SampleRef> samples_;
  std::uint64_t largest_ = 0;
};

/// A one-to-one mapping of [0, size) that depends on a seed and needs no memory: a Feistel network of four rounds over
/// the next power of four, repeated until a value is within the range (Black and Rogaway, "Ciphers with Arbitrary
/// Finite Domains", 2002).
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed);
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t size_;
  std::uint64_t seed_;
  unsigned half_bits_ = 1;
};

/// Pieces of `unit` bytes at multiples of it; the rest after the last whole piece of a file is left out.
class GridOrder final : public RandomOrder {
 public:
  /// The first `most` of them.
  GridOrder(std::span<const InputFile> files, std::uint64_t unit, std::uint64_t seed, std::uint64_t most);
  std::uint64_t size() const override { return size_; }
  SampleRef at(std::uint64_t index) const override;
  std::uint64_t largest() const override { return unit_; }

 private:
  static std::vector<std::uint64_t> first_of_files(std::span<const InputFile> files, std::uint64_t unit);

  std::uint64_t unit_;
  std::vector<std::uint64_t> first_;  ///< by file, the number of its first piece; then the total
  Permutation permutation_;
  std::uint64_t size_;
};

/// Reads pieces of files (samples, or blocks) in a random order; each thread takes the next ones.
class RandomWork final : public ReadWork {
 public:
  /// A larger piece is read in several reads of this size, to limit the memory of a thread.
  static constexpr std::uint64_t kMostPerRead = 8U << 20U;

  /// Opens the shards, and with `keep_files_open` all other files. If there are more than descriptors available, each
  /// read opens its file.
  RandomWork(std::span<const InputFile> files, const io::ReadEngine& engine, const RandomOrder& order,
             bool counts_samples, bool keep_files_open, const ReadLimits& limits, Context& context);

  std::unique_ptr<io::ReadLane> prepare() const override;
  void run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) override;
  bool counted_in_time() const override { return turns_.counted_in_time(); }
  std::string hint(std::uint64_t threads) const override;

 private:
  class Thread;

  std::span<const InputFile> files_;
  const io::ReadEngine& engine_;
  const RandomOrder& order_;
  bool counts_samples_;
  bool keeps_open_ = true;
  Context& context_;
  std::vector<std::shared_ptr<const io::ReadFile>> open_;  ///< by file; empty for files that are opened for each read
  Turns turns_;
};

/// What is read, and how.
struct ReadPlan {
  std::span<const InputFile> files;
  const io::ReadEngine& engine;
  const ReadOptions& options;  ///< including job and defaults
  const RandomOrder* order;    ///< for random reads; null for sequential ones
  bool counts_samples = true;
};

/// Results of one or several passes together.
struct ReadMeasurement {
  ReadTally total;
  Timing timing;  ///< of all passes, with their slices in a row
  /// Change of the device's counters; empty: unknown.
  std::optional<system::DiskCounters> device = system::DiskCounters{};

  /// A pass, and the device's counters before and after it.
  void add(const Timing& pass, const std::vector<ReadTally>& tallies, const std::optional<system::DiskCounters>& before,
           const std::optional<system::DiskCounters>& after);
  std::optional<DeviceActivity> device_activity() const;
  /// Puts all but rates and samples into the result.
  void add_totals(ReadResult& result) const;
};

/// `iobench read --mode imagefolder`: lists the folders of options.paths, then opens, stats, reads and closes each file
/// once, in an order that depends on the seed, and reports the time of each kind of call. The options are checked.
/// Throws Error{usage} for a path that is not a folder, Error{not_found} if there are no files.
ReadResult read_folders(const ReadOptions& options, Context& context);

}  // namespace shardkit::bench
