#include "core/metric_text.hpp"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace shardkit {

std::string metric_text(double value, Unit unit) {
  switch (unit) {
    case Unit::bytes_per_second:
      return format_rate(value);
    case Unit::seconds:
      return std::abs(value) < 0.0995 ? fmt::format("{:.3g} ms", value * 1e3) : format_duration(value);
    case Unit::per_second:
      return std::abs(value) >= 1000 && std::abs(value) < 1e18
                 ? format_count(static_cast<std::uint64_t>(std::llround(std::abs(value)))) + "/s"
                 : fmt::format("{:.3g}/s", value);
    default:
      return fmt::format("{:.3g}", value);
  }
}

}  // namespace shardkit
