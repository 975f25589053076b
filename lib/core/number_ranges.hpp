#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardkit {

/// Whole numbers in ascending order, runs as ranges: "3,7-9".
std::string number_ranges(const std::vector<std::uint64_t>& numbers);

}  // namespace shardkit
