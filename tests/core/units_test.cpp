#include "core/units.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

using namespace shardkit;

TEST_CASE("sizes take binary and decimal units, in any case, with or without a blank") {
  CHECK(parse_size("0").value() == 0);
  CHECK(parse_size("1000").value() == 1000);
  CHECK(parse_size("256MiB").value() == 268435456);
  CHECK(parse_size("256MB").value() == 256000000);
  CHECK(parse_size("256M").value() == 256000000);
  CHECK(parse_size("1.5G").value() == 1500000000);
  CHECK(parse_size("1.5GiB").value() == 1610612736);
  CHECK(parse_size("7b").value() == 7);
  CHECK(parse_size("2 kib").value() == 2048);
  CHECK(parse_size("1TiB").value() == 1099511627776);
  CHECK(parse_size("0.5KiB").value() == 512);
}

TEST_CASE("whole numbers of bytes are exact up to the largest there is") {
  CHECK(parse_size("9007199254740993").value() == 9007199254740993);  // a double would round it
  CHECK(parse_size("18446744073709551615").value() == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("sizes with a unit are right up to the largest there is") {
  CHECK(parse_size("8192PiB").value() == 8192ULL << 50U);
  CHECK(parse_size("16383PiB").value() == 16383ULL << 50U);
}

TEST_CASE("what is no size is refused as wrong usage") {
  for (const char* text : {"", "MiB", "-1", "-1MiB", "+1", "1e3", "1,5G", "256 MiB x", "256XiB", "0x10", "nan", "inf",
                           "0.5", "0.0001KiB", "18446744073709551616", "16384PiB", "1  KiB", " 1"}) {
    CAPTURE(text);
    const Result<std::uint64_t> parsed = parse_size(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code() == ErrorCode::usage);
    CHECK(std::string(parsed.error().what()).starts_with("'" + std::string(text) + "' is not a size"));
  }
}

TEST_CASE("durations take seconds by default and units from microseconds to days") {
  CHECK(parse_duration("30").value() == 30);
  CHECK(parse_duration("30s").value() == 30);
  CHECK(parse_duration("5m").value() == 300);
  CHECK(parse_duration("5min").value() == 300);
  CHECK(parse_duration("1.5h").value() == 5400);
  CHECK(parse_duration("2d").value() == 172800);
  CHECK(parse_duration("250ms").value() == doctest::Approx(0.25));
  CHECK(parse_duration("100us").value() == doctest::Approx(0.0001));
  CHECK(parse_duration("0").value() == 0);
}

TEST_CASE("what is no duration is refused as wrong usage") {
  for (const char* text : {"", "s", "-5s", "5x", "soon", "1h30m", "inf", "nan", "1e9"}) {
    CAPTURE(text);
    const Result<double> parsed = parse_duration(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code() == ErrorCode::usage);
    CHECK(std::string(parsed.error().what()).ends_with("(examples: 250ms, 30s, 5m, 12h, 8d)"));
  }
}

TEST_CASE("sizes are shown with three digits and read back to within rounding") {
  CHECK(format_size(0) == "0 B");
  CHECK(format_size(1023) == "1023 B");
  CHECK(format_size(1024) == "1.00 KiB");
  CHECK(format_size(1572864) == "1.50 MiB");
  CHECK(format_size(268435456) == "256 MiB");
  CHECK(format_size((1ULL << 30U) - 1) == "1.00 GiB");  // never "1024 MiB"
  for (const std::uint64_t bytes : {1U, 999U, 4096U, 123456U, 87654321U, 4294967295U}) {
    const double back = static_cast<double>(parse_size(format_size(bytes)).value());
    CHECK(back == doctest::Approx(static_cast<double>(bytes)).epsilon(0.01));
  }
}

TEST_CASE("a typed size or duration is shown as people type it, and reads back exactly") {
  for (const char* text : {"0", "1001", "64000", "256MiB", "1000KiB", "1GB", "1500MB", "2TB", "2TiB", "1000"})
    CHECK(exact_size(*parse_size(text)) == text);
  for (const char* text : {"1MB", "256KiB", "1500MB"}) CHECK(typed_size(*parse_size(text)) == text);
  CHECK(typed_size(1) == "1 B");
  CHECK(typed_size(64'001) == "64,001 B");
  CHECK(typed_size(12'345'678'912) == "11.5 GiB");  // not typed
  for (const char* text : {"0s", "100ms", "90s", "5m", "12h", "24h", "36h", "2d", "30d"})
    CHECK(exact_duration(*parse_duration(text)) == text);
}

TEST_CASE("rates are shown in decimal units") {
  CHECK(format_rate(0) == "0.00 B/s");
  CHECK(format_rate(999) == "999 B/s");
  CHECK(format_rate(3.3e9) == "3.30 GB/s");
  CHECK(format_rate(999.6e6) == "1.00 GB/s");
}

TEST_CASE("durations are shown in the unit that fits") {
  CHECK(format_duration(0) == "0 ms");
  CHECK(format_duration(0.0021) == "2.1 ms");
  CHECK(format_duration(0.35) == "0.35 s");
  CHECK(format_duration(59.4) == "59 s");
  CHECK(format_duration(59.9) == "1 min 00 s");
  CHECK(format_duration(250) == "4 min 10 s");
  CHECK(format_duration(7500) == "2 h 05 min");
  CHECK(format_duration(1e6) == "277 h 46 min");
}

TEST_CASE("counts are grouped by thousands") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(14000000) == "14,000,000");
}

TEST_CASE("rates are bytes per second; what could mean bits is refused") {
  CHECK(parse_rate("1.25GB/s").value() == 1'250'000'000);
  CHECK(parse_rate("1.25GB").value() == 1'250'000'000);
  CHECK(parse_rate("100MiB/s").value() == 104'857'600);
  CHECK(parse_rate("1000").value() == 1000);
  for (const char* bits : {"10Gb/s", "10gb", "10Gib/s", "5b"}) {
    CAPTURE(bits);
    const auto rate = parse_rate(bits);
    REQUIRE_FALSE(rate);
    CHECK(std::string(rate.error().what()).find("may mean bits") != std::string::npos);
  }
  CHECK_FALSE(parse_rate("fast"));
}

TEST_CASE("computed sizes and counts are rounded, and stay printable where they are absurd") {
  CHECK(format_rounded_size(1535.6) == "1.50 KiB");
  CHECK(format_rounded_count(1234.5) == "1,235");
  CHECK(format_rounded_count(-3) == "0");
  CHECK(format_rounded_count(std::nan("")) == "0");
  CHECK(format_rounded_count(1e300) == "1,000,000,000,000,000,000");
  CHECK(format_rounded_size(std::numeric_limits<double>::infinity()) == "888 PiB");
}

TEST_CASE("a counted noun is in the plural but for one") {
  CHECK(format_count(0, "shard") == "0 shards");
  CHECK(format_count(1, "shard") == "1 shard");
  CHECK(format_count(12'000, "shard") == "12,000 shards");
  CHECK(format_count(1, "class") == "1 class");
  CHECK(format_count(3, "class") == "3 classes");
}

TEST_CASE("a factor is shown to the hundredth, and beyond a thousand only as that") {
  CHECK(format_factor(0.5) == "0.50");
  CHECK(format_factor(1.234) == "1.23");
  CHECK(format_factor(1000) == "1000.00");
  CHECK(format_factor(123456.7) == "more than 1000");
}

TEST_CASE("a time is shown by its day in UTC") {
  CHECK(format_day(0) == "1970-01-01");
  CHECK(format_day(1764158399.9) == "2025-11-26");
  CHECK(format_day(1764201600) == "2025-11-27");
  CHECK(format_day(-0.5) == "1969-12-31");
}
