#pragma once

#include <optional>
#include <string>

#include "bench/compare/compare.hpp"

namespace shardkit {

/// "-9.8 %: 1.20 GB/s to 1.08 GB/s, between -12.1 % and -7.4 %, p 0.0002".
std::string change_text(const CompareRow& row, Unit unit);

/// The line that stands first in every report: the verdict, and what it comes from.
std::string verdict_text(const CompareResult& result, const std::optional<std::string>& saved);

}  // namespace shardkit
