#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Nodes that are slower than the others of their kind.
namespace shardkit::bench {

/// From the median of the absolute deviations to a standard deviation, for normal noise.
inline constexpr double kDeviationOfMad = 1.4826;
inline constexpr double kStragglerDeviations = 4;
inline constexpr double kStragglerShare = 0.1;  ///< of the median that is missing at least
/// Fewer nodes show no median to compare with.
inline constexpr std::size_t kLeastNodesOfGroup = 4;

/// The indexes of rates below median - 4 * 1.4826 * MAD (Leys et al., Journal of Experimental Social Psychology 49,
/// 2013, use 2.5 to 3 for few values; of 1000 nodes, 3 would report a healthy one each time) and below 90 % of the
/// median: noise alone is not reported for a fleet of nearly equal nodes. Empty for fewer than kLeastNodesOfGroup.
std::vector<std::size_t> stragglers(std::span<const double> rates);

}  // namespace shardkit::bench
