#include "system/clock.hpp"

#include <array>
#include <charconv>
#include <condition_variable>
#include <mutex>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit::system {
namespace {

class SystemClock final : public Clock {
 public:
  WallTime now() override { return std::chrono::system_clock::now(); }

  Seconds monotonic() override { return std::chrono::steady_clock::now().time_since_epoch(); }

  void sleep(Seconds duration, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, duration, [] { return false; });
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while waiting");
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

namespace {

using std::chrono::day;
using std::chrono::month;
using std::chrono::year;
using std::chrono::year_month_day;

/// The number that stands at [at, at + digits) and nothing else.
std::optional<int> digits_at(std::string_view text, std::size_t at, std::size_t digits) {
  int value = 0;
  if (text.size() < at + digits) return std::nullopt;
  const char* begin = text.data() + at;
  for (std::size_t i = 0; i < digits; ++i) {
    if (begin[i] < '0' || begin[i] > '9') return std::nullopt;
  }
  std::from_chars(begin, begin + digits, value);
  return value;
}

struct Parts {
  std::optional<int> year, month, day, hour, minute, second;
};

std::optional<WallTime> time_of(const Parts& parts) {
  if (!parts.year || !parts.month || !parts.day || !parts.hour || !parts.minute || !parts.second) return std::nullopt;
  const year_month_day date{year(*parts.year), month(static_cast<unsigned>(*parts.month)),
                            day(static_cast<unsigned>(*parts.day))};
  // The clock of system_clock counts nanoseconds: 1678 to 2262.
  if (!date.ok() || *parts.year < 1700 || *parts.year > 2200) return std::nullopt;
  if (*parts.hour > 23 || *parts.minute > 59 || *parts.second > 60) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(*parts.hour) + std::chrono::minutes(*parts.minute) +
         std::chrono::seconds(*parts.second);
}

}  // namespace

std::string amz_timestamp(WallTime time) {
  std::string text = rfc3339(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

std::string rfc3339(WallTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const year_month_day date(days);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - days));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

std::optional<WallTime> parse_iso8601(std::string_view text) {
  std::string_view zone = text.substr(std::min<std::size_t>(text.size(), 19));
  if (zone.starts_with('.')) zone.remove_prefix(std::min(zone.find_first_not_of("0123456789", 1), zone.size()));
  if (zone != "Z" && zone != "+00:00") return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') return std::nullopt;
  return time_of({digits_at(text, 0, 4), digits_at(text, 5, 2), digits_at(text, 8, 2), digits_at(text, 11, 2),
                  digits_at(text, 14, 2), digits_at(text, 17, 2)});
}

std::optional<WallTime> parse_http_date(std::string_view text) {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) return std::nullopt;
  const std::size_t at = months.find(text.substr(8, 3));
  if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  return time_of({digits_at(text, 12, 4), static_cast<int>(at / 3 + 1), digits_at(text, 5, 2), digits_at(text, 17, 2),
                  digits_at(text, 20, 2), digits_at(text, 23, 2)});
}

}  // namespace shardkit::system
