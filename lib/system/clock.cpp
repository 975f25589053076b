#include "system/clock.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <ctime>
#include <mutex>

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
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while waiting");
  }
};

/// Reads `format` of strptime(3), in UTC, from the start of `text`, which loses what was read. Neither month nor day
/// has a name in other languages: programs keep the locale "C".
std::optional<WallTime> take_time(std::string_view& text, const char* format) {
  const std::string copy(text);
  std::tm parts{};
  const char* const end = ::strptime(copy.c_str(), format, &parts);
  const std::tm read = parts;
  const std::time_t time = ::timegm(&parts);  // makes 1 March of 29 February, where that day does not exist
  // The clock of system_clock counts nanoseconds: 1678 to 2262.
  if (end == nullptr || parts.tm_mday != read.tm_mday || read.tm_year < -200 || read.tm_year > 300) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - copy.c_str()));
  return std::chrono::system_clock::from_time_t(time);
}

/// To the second, fractions cut off.
std::string formatted(WallTime time, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

double unix_seconds(WallTime time) { return Seconds(time.time_since_epoch()).count(); }

std::string amz_timestamp(WallTime time) { return formatted(time, "%Y%m%dT%H%M%SZ"); }

std::string rfc3339(WallTime time) { return formatted(time, "%Y-%m-%dT%H:%M:%SZ"); }

std::optional<WallTime> parse_iso8601(std::string_view text) {
  const auto time = take_time(text, "%Y-%m-%dT%H:%M:%S");
  if (text.starts_with('.')) text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
  return text == "Z" || text == "+00:00" ? time : std::nullopt;
}

std::optional<WallTime> parse_http_date(std::string_view text) {
  const auto time = take_time(text, "%a, %d %b %Y %H:%M:%S GMT");
  return text.empty() ? time : std::nullopt;
}

}  // namespace shardkit::system
