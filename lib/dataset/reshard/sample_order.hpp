#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "dataset/reshard/sample_table.hpp"
#include "dataset/sharding/split.hpp"

/// Which samples of a table go out, and in which order. Draws follow each sample's rank (rank_of()), ties by number.
namespace shardkit {

/// All samples of the table in input order.
SampleOrder input_order(const SampleTable& table);

/// --sample: "N" samples, or with a decimal point a share between 0 and 1, rounded.
class SampleDraw {
 public:
  /// Throws Error{usage} when `text` is neither.
  explicit SampleDraw(const std::string& text);
  /// How many of `available`.
  std::uint64_t count(std::uint64_t available) const;
  /// The number asked for; 0 where a share was.
  std::uint64_t wanted() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  double ratio_ = 0;  ///< 0 when a count was given
};

/// The `count` samples of lowest rank, in the order they had.
SampleOrder draw_samples(const SampleTable& table, SampleOrder order, std::uint64_t count, std::uint64_t seed);

/// Puts the order into bytewise order of keys: runs of at most 32 MiB of keys are sorted in memory, then merged.
void sort_by_key(const SampleTable& table, SampleOrder& order, Context& ctx);

}  // namespace shardkit
