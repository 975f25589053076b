#pragma once

#include <cstddef>
#include <optional>
#include <span>

/// Two samples held against each other by ranks alone: no shape of their noise is assumed, so that heavy tails and
/// several modes do no harm.
namespace shardkit {

/// The most values a side: their pairs are held in memory, 8 MB of them.
inline constexpr std::size_t kMostRankedValues = 1000;

/// Two-sided p value of Mann and Whitney's U test (Annals of Mathematical Statistics 18, 1947) that both samples come
/// from one distribution. Exact where no two values are equal and no side has more than 50; else the normal
/// approximation with its corrections for ties and continuity. 1 when all values are equal or a side is empty.
double mann_whitney_p(std::span<const double> base, std::span<const double> changed);

struct Shift {
  double estimate = 0;
  double low = 0;
  double high = 0;
};

/// By how much `changed` lies above `base`: the median of all differences between a value of one and a value of the
/// other (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963), and the distribution-free interval that goes
/// with the U test: outside of each end lie at most the share `tail` of all cases. Empty when these are too few values
/// for that tail. At most kMostRankedValues a side.
std::optional<Shift> rank_shift(std::span<const double> base, std::span<const double> changed, double tail);

/// The estimate alone; 0 when a side is empty.
double rank_shift_estimate(std::span<const double> base, std::span<const double> changed);

}  // namespace shardkit
