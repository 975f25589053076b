#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "dataset/sample_table.hpp"

/// Which samples of a table go out, and in which order. An order lists sample numbers: 4 bytes each.
///
/// Draws and splits follow each sample's rank: the first output of Prng(seed XOR XXH3-64 of its key), ties by number.
/// So they depend on keys and seed alone: not on shards, order or what else is there.
namespace shardkit {

using SampleOrder = std::vector<std::uint32_t>;

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

/// One part of --split.
struct SplitShare {
  std::string name;
  double ratio = 0;
};
/// "NAME=RATIO" each. Throws Error{usage} for names that are no folder names, or ratios that do not add up to 1.
std::vector<SplitShare> parse_split(const std::vector<std::string>& texts);

/// Divides the samples. In order of rank, share k gets those from round(n * (r_1 + ... + r_k-1)) to round(n * (r_1 +
/// ...
/// + r_k)). When `stratify`, in order of the first output of Prng(seed XOR label), then rank, each goes to the share
/// furthest behind its ratio, the first of equals: so all shares have all labels alike, within a sample or two. Each
/// result is in the order that `order` had.
std::vector<SampleOrder> split_samples(const SampleTable& table, SampleOrder order,
                                       const std::vector<SplitShare>& shares, bool stratify, std::uint64_t seed,
                                       Context& ctx);

/// Puts the order into bytewise order of keys: runs of at most 32 MiB of keys are sorted in memory, then merged.
void sort_by_key(const SampleTable& table, SampleOrder& order, Context& ctx);

}  // namespace shardkit
