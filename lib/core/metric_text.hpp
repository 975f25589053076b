#pragma once

#include <string>

#include "core/units.hpp"

namespace shardkit {

/// A measured value as text: "1.20 GB/s", "812/s", "3.41 ms".
std::string metric_text(double value, Unit unit);

}  // namespace shardkit
