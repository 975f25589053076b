#include <doctest/doctest.h>

#include "system/clock.hpp"

using namespace shardkit;
using namespace shardkit::system;

TEST_CASE("an AWS timestamp is ISO 8601 without separators, in UTC") {
  CHECK(amz_timestamp(WallTime(std::chrono::seconds(0))) == "19700101T000000Z");
  CHECK(amz_timestamp(WallTime(std::chrono::seconds(1'440'938'160))) == "20150830T123600Z");
  CHECK(amz_timestamp(WallTime(std::chrono::milliseconds(951'782'400'999))) == "20000229T000000Z");
}

TEST_CASE("RFC 3339 is written in UTC to the second") {
  CHECK(rfc3339(WallTime(std::chrono::seconds(1'767'225'600))) == "2026-01-01T00:00:00Z");
  CHECK(rfc3339(WallTime(std::chrono::milliseconds(951'782'400'999))) == "2000-02-29T00:00:00Z");
}

TEST_CASE("an expiry reads with and without a fraction of seconds") {
  const WallTime expected(std::chrono::seconds(1'440'938'160));
  CHECK(parse_iso8601("2015-08-30T12:36:00Z") == expected);
  CHECK(parse_iso8601("2015-08-30T12:36:00.123Z") == expected);
  CHECK(parse_iso8601("2015-08-30T12:36:00+00:00") == expected);
  for (const char* text :
       {"", "Z", "2015-08-30", "2015-08-30 12:36:00Z", "2015-13-30T12:36:00Z", "2015-02-30T12:36:00Z",
        "2015-08-30T24:36:00Z", "2015-08-30T12:36:00", "2015-08-30T12:36:00+02:00", "201a-08-30T12:36:00Z",
        "9999-08-30T12:36:00Z", "2015-08-30T12:36:00.Zx"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_iso8601(text));
  }
}

TEST_CASE("a Date header reads in the one form of RFC 9110") {
  CHECK(parse_http_date("Sun, 30 Aug 2015 12:36:00 GMT") == WallTime(std::chrono::seconds(1'440'938'160)));
  for (const char* text :
       {"", "Sunday, 30-Aug-15 12:36:00 GMT", "Sun Aug 30 12:36:00 2015", "Sun, 30 Aug 2015 12:36:00 CET",
        "Sun, 30 ugS 2015 12:36:00 GMT", "Sun, 31 Feb 2015 12:36:00 GMT"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_http_date(text));
  }
}
