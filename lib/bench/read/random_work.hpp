#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/input/sample_listing.hpp"
#include "bench/read/read_work.hpp"

/// In which order pieces of files are read at random. None comes twice before all have come, as with fio's random map.
namespace shardkit::bench {

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

}  // namespace shardkit::bench
