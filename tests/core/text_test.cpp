#include "core/text.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace shardkit;

namespace {

/// The largest and the smallest number of a type are read, their neighbors outside of it are not, and what is refused
/// leaves the value as it was.
template <class Number>
void check_limits(const char* smallest, const char* largest, const char* below, const char* above) {
  using Limits = std::numeric_limits<Number>;
  Number value = 7;
  CHECK_FALSE(parse_number(below, value));
  CHECK_FALSE(parse_number(above, value));
  CHECK_FALSE(parse_number("99999999999999999999999999999999999999", value));
  CHECK(value == 7);
  CHECK(parse_number(smallest, value));
  CHECK(value == Limits::min());
  CHECK(parse_number(largest, value));
  CHECK(value == Limits::max());
}

}  // namespace

TEST_CASE("a number that its type cannot hold is refused, never wrapped or cut") {
  check_limits<std::uint8_t>("0", "255", "-1", "256");
  check_limits<std::uint16_t>("0", "65535", "-1", "65536");
  check_limits<std::uint32_t>("0", "4294967295", "-1", "4294967296");
  check_limits<std::uint64_t>("0", "18446744073709551615", "-1", "18446744073709551616");
  check_limits<std::int64_t>("-9223372036854775808", "9223372036854775807", "-9223372036854775809",
                             "9223372036854775808");
}

TEST_CASE("a number fills its text: no blanks, signs, fractions, exponents or other letters") {
  for (const char* bad : {"", "-", "+1", "1 ", " 1", "1x", "x1", "1.0", "1e3", "0x10", "1_000", "\xd9\xa1"}) {
    CAPTURE(bad);
    std::uint64_t value = 7;
    CHECK_FALSE(parse_number(bad, value));
    CHECK_FALSE(parse_count(bad));
    CHECK(value == 7);
  }
  std::uint8_t byte = 0;
  CHECK(parse_number("fF", byte, 16));
  CHECK(byte == 255);
  CHECK_FALSE(parse_number("fg", byte, 16));
}

TEST_CASE("a count has a limit that it may be, and no more") {
  CHECK(parse_count("9223372036854775807", INT64_MAX) == 9223372036854775807U);
  CHECK_FALSE(parse_count("9223372036854775808", INT64_MAX));
  CHECK(parse_count("007") == 7U);
}

TEST_CASE("digits are a whole number, even one that is too large") {
  CHECK(is_digits("18446744073709551616"));
  for (const char* other : {"", "-1", "1.5", "1 "}) CHECK_FALSE(is_digits(other));
}

TEST_CASE("a decimal is finite and fills its text") {
  CHECK(parse_decimal("1.5") == 1.5);
  CHECK(parse_decimal("-2e3") == -2000);
  for (const char* bad : {"", "inf", "nan", "1e999", "1.5x", " 1", "0x1p3"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_decimal(bad));
  }
}

TEST_CASE("a text may begin with a decimal, and what follows it is reported") {
  std::string_view after = "unchanged";
  CHECK(leading_decimal("16.0 GT/s PCIe", &after) == 16);
  CHECK(after == " GT/s PCIe");
  CHECK(leading_decimal("1e3", &after) == 1);
  CHECK(after == "e3");
  for (const char* bad : {"", "Unknown", "inf", "nan", " 1"}) {
    CAPTURE(bad);
    CHECK_FALSE(leading_decimal(bad, &after));
    CHECK(after == "e3");
  }
}

TEST_CASE("closest proposes the only word that begins so, else the nearest within two letters") {
  const std::vector<std::string> verbs{"plan", "convert", "merge", "verify",  "reshard", "index",
                                       "stat", "ls",      "cat",   "extract", "stage",   "synth"};
  const std::vector<std::string> options{"--log", "--json", "--limit", "--lease", "--lease-id", "--wait"};
  CHECK(closest("verfy", verbs) == "verify");
  CHECK(closest("stag", verbs) == "stage");
  CHECK(closest("conv", verbs) == "convert");
  CHECK(closest("--lmt", options) == "--limit");
  CHECK(closest("--leaseid", options) == "--lease-id");
  CHECK(closest("xyz", verbs).empty());
  CHECK(closest("", {"ls"}).empty());
  CHECK(closest("--threads", options).empty());
  for (const auto& known : {verbs, options}) {
    for (const std::string& word : known) {
      CAPTURE(word);
      CHECK(closest(word, known) == word);
      CHECK(closest(word + "x", known) == word);
    }
  }
}

TEST_CASE("of many names some are listed, and the others counted") {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  CHECK(listed(names, 4) == "a, b, c, d");
  CHECK(listed(names, 3) == "a, b, c and 1 more");
  CHECK(listed({}, 3).empty());
}
