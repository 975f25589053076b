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

/// The reading itself: what each thread of `iobench read` does, and what their passes over the data measure.
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

/// Keeps as many reads under way as the engine takes: `thread.next(request)` fills the next one or says false at the
/// end, `thread.take(completion)` has what came. After a stop nothing new is begun.
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

/// In which order pieces of files are read at random. None comes twice before all have come, as with fio's random map.
/// Thread-safe.
class RandomOrder {
 public:
  virtual ~RandomOrder() = default;
  virtual std::uint64_t size() const = 0;
  /// The piece to be read as number `index` of size().
  virtual SampleRef at(std::uint64_t index) const = 0;
  /// The largest piece.
  virtual std::uint64_t largest() const = 0;
};

/// Samples, shuffled by the seed; of them the first `most`.
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

/// A one-to-one mapping of [0, size) drawn by a seed, which takes no memory however large it is: a Feistel network of
/// four rounds over the next power of four, walked until a value falls within (Black and Rogaway, "Ciphers with
/// Arbitrary Finite Domains", 2002).
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed);
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t size_;
  std::uint64_t seed_;
  unsigned half_bits_ = 1;
};

/// Pieces of `unit` bytes at multiples of it; what a file has behind its last whole piece is left out.
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
  std::vector<std::uint64_t> first_;  ///< by file, the number of its first piece; then that of all
  Permutation permutation_;
  std::uint64_t size_;
};

/// Reads pieces of files (samples, or blocks) in a random order; each thread takes the next ones.
class RandomWork final : public ReadWork {
 public:
  /// A larger piece is read in several reads of this size, so that a thread's memory is bounded.
  static constexpr std::uint64_t kMostPerRead = 8U << 20U;

  /// Opens the shards, and with `keep_files_open` all other files too, or where there are more of them than descriptors
  /// to spare leaves that to each read.
  RandomWork(std::span<const InputFile> files, const io::ReadEngine& engine, const RandomOrder& order,
             bool counts_samples, bool keep_files_open, const ReadLimits& limits, Context& context);

  std::unique_ptr<io::ReadLane> prepare() const override;
  void run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) override;
  std::string hint(std::uint64_t threads) const override;

 private:
  class Thread;

  std::span<const InputFile> files_;
  const io::ReadEngine& engine_;
  const RandomOrder& order_;
  bool counts_samples_;
  bool keeps_open_ = true;
  Context& context_;
  std::vector<std::shared_ptr<const io::ReadFile>> open_;  ///< by file; empty for those opened per read
  Turns turns_;
};

/// What is read, and how.
struct ReadPlan {
  std::span<const InputFile> files;
  const io::ReadEngine& engine;
  const ReadOptions& options;  ///< job and defaults included
  const RandomOrder* order;    ///< of random reads; null for sequential ones
  bool counts_samples = true;
};

/// What one or several passes measured together.
struct ReadMeasurement {
  ReadTally total;
  Timing timing;  ///< of all passes, their slices in a row
  /// What the passes added to the device's counters; empty: not known.
  std::optional<system::DiskCounters> device = system::DiskCounters{};

  /// A pass, and the device's counters before and after it.
  void add(const Timing& pass, const std::vector<ReadTally>& tallies, const std::optional<system::DiskCounters>& before,
           const std::optional<system::DiskCounters>& after);
  std::optional<DeviceActivity> device_activity() const;
};

/// Adds to result.hints what a reader of its numbers should know; `input` is what was found, of which the plan's files
/// are those that were read.
void add_read_hints(const ReadOptions& options, const InputSet& input, const ReadPlan& plan, ReadResult& result);

/// Why reading `files` counted no sample, and what to do: nothing was read, nothing whole, or there are none.
std::string why_no_samples(const ReadOptions& options, std::span<const InputFile> files, const ReadResult& result);

/// What the calls of one thread took, or of all. On a cache line of its own.
struct alignas(64) FileCalls {
  stats::LatencyHistogram open, stat, read, close;
  stats::LatencyHistogram whole;  ///< all four of a file
  std::uint64_t bytes = 0;
  std::uint64_t kernel_reads = 0;
  std::uint64_t asked_bytes = 0;   ///< of the files whose residency was asked, once open and before they were read
  std::uint64_t cached_bytes = 0;  ///< of them
  bool residency_unknown = false;

  void merge(const FileCalls& other);
};

/// Opens, stats, reads and closes the first `most` files on `threads` threads, for at most `seconds`; empty: all of
/// them, and for as long as it takes. Adds what the calls took to `calls`. Throws Error{cancelled} on a stop.
Timing time_file_calls(const std::vector<std::string>& files, std::uint64_t threads, std::optional<std::uint64_t> most,
                       std::optional<double> seconds, FileCalls& calls, Context& context);

/// `iobench read --mode imagefolder`: lists the folders of options.paths, then opens, stats, reads and closes each file
/// once, in an order drawn by the seed, and says what each kind of call took. The options are checked. Throws
/// Error{usage} for a path that is no folder, Error{not_found} when they hold no files.
ReadResult read_folders(const ReadOptions& options, Context& context);

}  // namespace shardkit::bench
