#include <charconv>

#include <fmt/format.h>

#include "bench/compare/compare.hpp"
#include "bench/compare/compare_metrics.hpp"
#include "core/error.hpp"

namespace shardkit {
namespace {

/// "5%", "5 %" or "0.05".
double share(const std::string& text, const std::string& whole) {
  std::string_view digits = text;
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (percent) value /= 100;
  if (error != std::errc() || end != digits.data() + digits.size() || !(value > 0 && value < 1)) {
    throw Error(
        ErrorCode::usage,
        fmt::format("--threshold: '{}' is no share between 0 and 1, such as 5% or read.bytes_per_second=3%", whole));
  }
  return value;
}

}  // namespace

Thresholds::Thresholds(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos) {
      common_ = share(text, text);
    } else {
      single_[compare_metric(text.substr(0, sign), "--threshold").name()] = share(text.substr(sign + 1), text);
    }
  }
}

double Thresholds::of(const std::string& metric) const {
  const auto found = single_.find(metric);
  return found == single_.end() ? common_ : found->second;
}

}  // namespace shardkit
