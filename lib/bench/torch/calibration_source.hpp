#pragma once

#include <string_view>

namespace shardkit::bench {

/// The program calibration.py.
extern const std::string_view kCalibration;

}  // namespace shardkit::bench
