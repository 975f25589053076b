#include <doctest/doctest.h>

#include "net/http.hpp"

using namespace shardkit;
using namespace shardkit::net;

TEST_CASE("headers are found without regard to case, the first of several first") {
  HttpHeaders headers{{"ETag", "\"a\""}, {"X-A", "1"}, {"x-a", "2"}};
  CHECK(headers.get("etag") == "\"a\"");
  CHECK(headers.get("x-A") == "1");
  CHECK(headers.get("none").empty());
  CHECK_FALSE(headers.find("none"));
  headers.set("X-a", "3");
  CHECK(headers.get("x-a") == "3");
  CHECK(headers.size() == 2);
}

TEST_CASE("a content length is a number or none") {
  CHECK(HttpResponse{200, {{"Content-Length", "12"}}}.content_length() == 12);
  for (const char* text : {"", "-1", "1x", "0x10", "99999999999999999999", "1, 1"}) {
    CAPTURE(text);
    CHECK_FALSE(HttpResponse{200, {{"Content-Length", text}}}.content_length());
  }
}

TEST_CASE("a content range says first, last and total") {
  const auto range = parse_content_range("bytes 5-9/10");
  REQUIRE(range);
  CHECK(range->first == 5);
  CHECK(range->last == 9);
  CHECK(range->total == 10);
  CHECK_FALSE(parse_content_range("bytes 5-9/*")->total);
  for (const char* text :
       {"", "bytes */10", "bytes 9-5/10", "bytes 5-10/10", "bytes=5-9/10", "bytes 5-9", "bytes 5-9/x", "bytes -9/10",
        "bytes 5-/10", "bytes 5/9-10", "bytes 0-99999999999999999999/*"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_content_range(text));
  }
  CHECK(range_header(5, 5) == "bytes=5-9");
}
