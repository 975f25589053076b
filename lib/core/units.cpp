#include "core/units.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"

namespace shardkit {
namespace {

struct Scale {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024.0;
constexpr std::array kSizes = {
    Scale{"", 1},
    Scale{"b", 1},
    Scale{"k", 1e3},
    Scale{"kb", 1e3},
    Scale{"kib", kKi},
    Scale{"m", 1e6},
    Scale{"mb", 1e6},
    Scale{"mib", kKi* kKi},
    Scale{"g", 1e9},
    Scale{"gb", 1e9},
    Scale{"gib", kKi* kKi* kKi},
    Scale{"t", 1e12},
    Scale{"tb", 1e12},
    Scale{"tib", kKi* kKi* kKi* kKi},
    Scale{"p", 1e15},
    Scale{"pb", 1e15},
    Scale{"pib", kKi* kKi* kKi* kKi* kKi},
};
constexpr std::array kDurations = {
    Scale{"", 1},   Scale{"s", 1},    Scale{"ms", 1e-3}, Scale{"us", 1e-6},
    Scale{"m", 60}, Scale{"min", 60}, Scale{"h", 3600},  Scale{"d", 86400},
};

/// A number and the scale its suffix names; false when either part does not parse or the number is negative.
template <std::size_t N>
bool parse_scaled(std::string_view text, const std::array<Scale, N>& scales, double& number, double& factor) {
  std::string_view after;
  number = leading_decimal(text, &after).value_or(-1);
  if (number < 0 || std::signbit(number)) return false;
  if (!after.empty() && after.front() == ' ') after.remove_prefix(1);
  const std::string suffix = lower_case(after);
  for (const Scale& scale : scales) {
    if (scale.name == suffix) {
      factor = scale.factor;
      return true;
    }
  }
  return false;
}

/// Three significant digits, in the first unit in which it is below `most`; each is `step` times the one before.
std::string with_prefix(double value, double step, double most, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (value >= most && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, units[unit]);
}

/// Limited to 64 bits: 0 if negative or not a number.
std::uint64_t rounded(double value) {
  constexpr double kMost = 1e18;
  return value > 0 ? static_cast<std::uint64_t>(std::llround(std::min(value, kMost))) : 0;
}

}  // namespace

std::string_view unit_suffix(Unit unit) {
  constexpr std::array<std::string_view, 8> kSuffixes{
      "", "", "_bytes", "_seconds", "_ratio", "_ratio", "_bytes_per_second", "_per_second"};
  return kSuffixes.at(static_cast<std::size_t>(unit));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return usage_error("'{}' is not a size: {} (examples: 1000, 256MiB, 1.5G)", text, why);
  };
  if (is_digits(text)) {  // exact; a double would round
    const auto value = parse_count(text);
    return value ? Result<std::uint64_t>(*value) : bad("too large");
  }
  double number = 0;
  double factor = 1;
  if (!parse_scaled(text, kSizes, number, factor)) return bad("expected a number and a unit");
  const double bytes = number * factor;
  if (bytes >= 18446744073709551616.0) return bad("too large");
  if (number != 0 && bytes < 1) return bad("less than one byte");
  return static_cast<std::uint64_t>(std::round(bytes));
}

Result<std::uint64_t> parse_rate(std::string_view text) {
  std::string_view size = text;
  if (size.ends_with("/s")) size.remove_suffix(2);
  if (size.ends_with('b')) {
    return usage_error("'{}' may mean bits: use a capital B for bytes, such as 1.25GB/s for 10 Gb/s", text);
  }
  return parse_size(size);
}

Result<double> parse_duration(std::string_view text) {
  double number = 0;
  double factor = 1;
  if (!parse_scaled(text, kDurations, number, factor)) {
    return usage_error("'{}' is not a duration: expected a number and a unit (examples: 250ms, 30s, 5m, 12h, 8d)",
                       text);
  }
  return number * factor;
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kSizeUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  return with_prefix(static_cast<double>(bytes), 1024, 1023.995, kSizeUnits);
}

std::string exact_size(std::uint64_t bytes) {
  constexpr std::array kUnits = {Scale{"PiB", kKi * kKi * kKi * kKi * kKi},
                                 Scale{"PB", 1e15},
                                 Scale{"TiB", kKi * kKi * kKi * kKi},
                                 Scale{"TB", 1e12},
                                 Scale{"GiB", kKi * kKi * kKi},
                                 Scale{"GB", 1e9},
                                 Scale{"MiB", kKi * kKi},
                                 Scale{"MB", 1e6},
                                 Scale{"KiB", kKi}};
  for (const auto& [unit, factor] : kUnits) {
    const auto size = static_cast<std::uint64_t>(factor);
    if (bytes >= size && bytes % size == 0) return fmt::format("{}{}", bytes / size, unit);
  }
  return fmt::to_string(bytes);
}

std::string typed_size(std::uint64_t bytes) {
  constexpr std::size_t kLongest = 7;
  const std::string exact = exact_size(bytes);
  if (exact.size() > kLongest) return format_size(bytes);
  return is_digits(exact) ? format_count(bytes) + " B" : exact;
}

std::string exact_duration(double seconds) {
  if (seconds == kDay) return "24h";  // as people write it
  for (const auto& [unit, length] : {std::pair{"d", kDay}, {"h", 3600.0}, {"m", 60.0}}) {
    if (seconds > 0 && std::fmod(seconds, length) == 0) return fmt::format("{}{}", seconds / length, unit);
  }
  return seconds > 0 && seconds < 1 ? fmt::format("{}ms", seconds * 1000) : fmt::format("{}s", seconds);
}

std::string format_rate(double bytes_per_second) {
  constexpr std::array<std::string_view, 5> kRateUnits{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return with_prefix(bytes_per_second, 1000, 999.5, kRateUnits);
}

std::string format_day(double unix_seconds) {
  const std::chrono::sys_seconds time(std::chrono::seconds(static_cast<std::int64_t>(std::floor(unix_seconds))));
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  return fmt::format("{}-{:02}-{:02}", int(day.year()), unsigned(day.month()), unsigned(day.day()));
}

std::string format_duration(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.2g} ms", seconds * 1e3);
  if (seconds < 9.95) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.5) return fmt::format("{:.0f} s", seconds);
  const std::uint64_t whole = rounded(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string format_count(std::uint64_t count, std::string_view noun) {
  const char* plural = noun.ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : plural);
}

std::string format_rounded_size(double bytes) { return format_size(rounded(bytes)); }

std::string format_rounded_count(double count) { return format_count(rounded(count)); }

std::string format_factor(double factor) {
  constexpr double kMost = 1000;
  return factor > kMost ? "more than 1000" : fmt::format("{:.2f}", factor);
}

}  // namespace shardkit
