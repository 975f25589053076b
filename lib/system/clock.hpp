#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

/// Points of time as RFC 3339, HTTP and AWS write them, all UTC and independent of locale and time zone.
namespace shardkit::system {

using WallTime = std::chrono::system_clock::time_point;
using Seconds = std::chrono::duration<double>;

/// The time of day and waiting: an interface, so that tests of retries, expiries and rates take no time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() = 0;
  /// Seconds since a fixed moment; corrections of the time of day do not change it.
  virtual Seconds monotonic() = 0;
  /// Throws Error{cancelled} as soon as a stop is requested, also before the wait.
  virtual void sleep(Seconds duration, const std::stop_token& stop) = 0;
};

/// The machine's clock. Lives as long as the program.
Clock& system_clock();

/// Since 1970.
double unix_seconds(WallTime time);

/// "20130524T000000Z": ISO 8601 basic, as in SigV4. The first eight characters are the day.
std::string amz_timestamp(WallTime time);

/// "2026-01-31T12:00:00Z": to the second, fractions cut off.
std::string rfc3339(WallTime time);

/// "2026-11-21T14:00:00Z", with or without a fraction of seconds; also accepts "+00:00" for Z. Empty for anything else.
std::optional<WallTime> parse_iso8601(std::string_view text);

/// "Sun, 06 Nov 1994 08:49:37 GMT": the one form of RFC 9110 that servers may send. Empty for anything else.
std::optional<WallTime> parse_http_date(std::string_view text);

}  // namespace shardkit::system
