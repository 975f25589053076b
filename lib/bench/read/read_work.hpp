#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/input/sample_listing.hpp"
#include "bench/read/read.hpp"
#include "bench/timing/turns.hpp"
#include "core/context.hpp"
#include "io/read_engine.hpp"
#include "stats/latency_histogram.hpp"
#include "system/block_device.hpp"

/// The reading itself: the work of each thread of `iobench read`, and what their passes measure.
namespace shardkit::bench {

/// When a pass ends.
struct ReadLimits : TurnLimits {
  std::optional<std::uint64_t> samples{};  ///< stop after this many
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

/// Of all random orders: a second run makes the same requests.
inline constexpr std::uint64_t kSeed = 0;

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

/// What is read, and how.
struct ReadPlan {
  std::span<const InputFile> files;
  const io::ReadEngine& engine;
  const ReadOptions& options;  ///< including job and defaults
  const RandomOrder* order;    ///< for random reads; null for sequential ones
  bool counts_samples = true;
};

/// The common work of the threads of a pass. Each calls prepare() and then run(), once. The plan outlives it.
class ReadWork {
 public:
  virtual ~ReadWork() = default;
  /// Creates the thread's buffers, which may take longer than reading some data.
  virtual std::unique_ptr<io::ReadLane> prepare() const = 0;
  virtual void run(io::ReadLane& lane, ReadTally& tally, const std::stop_token& stop) = 0;
  /// See Turns.
  bool counted_in_time() const { return turns_.counted_in_time(); }
  /// A hint for the result; empty: none.
  virtual std::string hint(std::uint64_t threads) const = 0;

 protected:
  ReadWork(const ReadPlan& plan, std::uint64_t turns, const ReadLimits& limits, Context& context)
      : plan_(plan), context_(context), turns_(turns, limits) {}

  const ReadPlan& plan_;
  Context& context_;
  Turns turns_;
};

/// A larger piece of a random read is read in several reads of this size, to limit the memory of a thread.
inline constexpr std::uint64_t kMostPerRead = 8U << 20U;

/// One pass. Without an order, files are read from start to end in blocks; each thread takes the next part of the data.
/// A part is up to 64 MiB, so that all threads have work until the end. A shard with an unknown number of samples is
/// one part: its samples are counted by parsing, for which the thread unpacks a compressed one. That needs depth 1, and
/// otherwise they are not counted. If the number is known, a part counts by its share of the bytes. With an order, each
/// thread takes the next pieces of files: it opens the shards, and if they are read in blocks all other files, at
/// first. If there are more than descriptors available, each read opens its file.
std::unique_ptr<ReadWork> make_work(const ReadPlan& plan, const ReadLimits& limits, Context& context);

/// Results of one or several passes together.
struct ReadMeasurement {
  ReadTally total;
  Timing timing;  ///< of all passes, with their slices in a row
  /// Change of the device's counters; empty: unknown.
  std::optional<system::DiskCounters> device = system::DiskCounters{};

  /// A pass, and what the device counted in it.
  void add(const Timing& pass, const std::vector<ReadTally>& tallies,
           const std::optional<system::DiskCounters>& counted);
  std::optional<DeviceActivity> device_activity() const;
  /// Puts all but rates and samples into the result.
  void add_totals(ReadResult& result) const;
};

/// `iobench read --mode imagefolder`: lists the folders of options.paths, then opens, stats, reads and closes each file
/// once, in an order that depends on the seed, and reports the time of each kind of call. The options are checked.
/// Throws Error{usage} for a path that is not a folder, Error{not_found} if there are no files.
ReadResult read_folders(const ReadOptions& options, Context& context);

}  // namespace shardkit::bench
