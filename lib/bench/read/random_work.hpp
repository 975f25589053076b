#pragma once

#include <memory>
#include <vector>

#include "bench/read/random_order.hpp"
#include "bench/read/read_work.hpp"

namespace shardkit {

/// Reads pieces of files (samples, or blocks) in a random order; each thread takes the next ones.
class RandomWork final : public ReadWork {
 public:
  /// A larger piece is read in several reads of this size, so that a thread's memory is bounded.
  static constexpr std::uint64_t kMostPerRead = 8U << 20U;

  /// Opens the shards, and with `keep_files_open` all other files too, or where there are more of them than descriptors
  /// to spare leaves that to each read.
  RandomWork(std::span<const InputFile> files, const ReadEngine& engine, const RandomOrder& order, bool counts_samples,
             bool keep_files_open, const ReadLimits& limits, Context& context);

  std::unique_ptr<ReadLane> prepare() const override;
  void run(ReadLane& lane, ReadTally& tally, const std::stop_token& stop) override;
  std::string hint(std::uint64_t threads) const override;

 private:
  class Thread;

  std::span<const InputFile> files_;
  const ReadEngine& engine_;
  const RandomOrder& order_;
  bool counts_samples_;
  bool keeps_open_ = true;
  Context& context_;
  std::vector<std::shared_ptr<const ReadFile>> open_;  ///< by file; empty for those opened per read
  Turns turns_;
};

}  // namespace shardkit
