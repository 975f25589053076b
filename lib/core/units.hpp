#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace shardkit {

/// Meaning of a number: how a field is parsed, printed and named.
enum class Unit {
  none,
  count,
  bytes,
  seconds,
  ratio,   ///< part of a whole: 0.25 is shown as 25 %
  factor,  ///< a factor; also named "_ratio"
  bytes_per_second,
  per_second,
};

inline constexpr double kDay = 86400;  ///< seconds

/// Suffix of a JSON field with this unit: "_bytes", "_seconds", ... ; empty for none and count.
std::string_view unit_suffix(Unit unit);

/// Reads "1000", "256MiB", "256MB", "1.5G": KiB/MiB/GiB/TiB are powers of 1024; K/M/G/T with or without B are powers
/// of 1000. Rejects negative, fractional-byte-only ("0.5"), overflowing and unknown spellings with Error{usage}.
Result<std::uint64_t> parse_size(std::string_view text);

/// Reads "3.3GB/s" or "3.3GB" as bytes per second. Refuses a lower-case b, which means bits, a factor of eight.
/// Error{usage} otherwise like parse_size().
Result<std::uint64_t> parse_rate(std::string_view text);

/// Reads "30s", "5m", "1.5h", "250ms", "2d" or plain seconds, as seconds. Error{usage} otherwise.
Result<double> parse_duration(std::string_view text);

/// "0 B", "1.50 MiB": binary prefixes, three significant digits; parse_size reads it back to within rounding.
std::string format_size(std::uint64_t bytes);
/// The shortest size that parse_size() reads back exactly: "256MiB" of 268435456, "1GB" of 1000000000, "1001".
std::string exact_size(std::uint64_t bytes);
/// A size that the user may have typed, in its unit, so that it is recognized: "256MiB", "1GB", "1,001 B". Like
/// format_size() if that is long.
std::string typed_size(std::uint64_t bytes);
/// The shortest duration that parse_duration() reads back exactly: "24h" of 86400, "30d", "100ms", "90s".
std::string exact_duration(double seconds);
/// Decimal prefixes, as usual for network and disk rates: "3.30 GB/s".
std::string format_rate(double bytes_per_second);
/// "0.35 s", "4 min 10 s", "2 h 05 min".
std::string format_duration(double seconds);
/// "2026-01-31": the day, in UTC, of a time in seconds since 1970.
std::string format_day(double unix_seconds);
/// "14,000,000": digits in groups of three.
std::string format_count(std::uint64_t count);
/// "1 shard", "1,200 shards", "3 classes": for nouns whose plural takes s or, after an s, es.
std::string format_count(std::uint64_t count, std::string_view noun);
/// The same for computed numbers, rounded: negative values and NaN become 0, huge ones stay printable.
std::string format_rounded_size(double bytes);
std::string format_rounded_count(double count);
/// A factor: "1.25"; "more than 1000" above that, where the exact value does not matter.
std::string format_factor(double factor);

}  // namespace shardkit
