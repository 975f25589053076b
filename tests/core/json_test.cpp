#include "core/json.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace shardkit;

TEST_CASE("what is not JSON is discarded, without an exception") {
  CHECK(parse_json("{\"a\": ").is_discarded());
  CHECK(parse_ordered_json("").is_discarded());
  CHECK(parse_json("[1, 2]").size() == 2);
}

TEST_CASE("members keep their order where that is asked for, else they are sorted") {
  CHECK(json_text(parse_ordered_json(R"({"b": 1, "a": 2})")) == R"({"b":1,"a":2})");
  CHECK(json_text(parse_json(R"({"b": 1, "a": 2})")) == R"({"a":2,"b":1})");
}

TEST_CASE("a file holds a value on each line and ends with a line end") {
  CHECK(json_file_text(nlohmann::json{{"a", {1, 2}}}) == "{\n \"a\": [\n  1,\n  2\n ]\n}\n");
}

TEST_CASE("a count is a whole number of 64 bits, and nothing else is one") {
  CHECK(json_count(parse_json("18446744073709551615")) == UINT64_MAX);
  for (const char* other : {"-1", "1.0", "1e3", "12555555555555555555555555555555536", "\"1\"", "null", "[1]"}) {
    CAPTURE(other);
    CHECK_FALSE(json_count(parse_json(other)));
  }
}

TEST_CASE("bytes that are not UTF-8 are replaced, but refused as Python refuses them") {
  const nlohmann::ordered_json broken = "caf\xe9";
  CHECK(json_text(broken) == "\"caf\xef\xbf\xbd\"");
  CHECK_THROWS_AS(python_json_text(broken), nlohmann::json::type_error);
  CHECK(python_json_text("caf\xc3\xa9") == R"("caf\u00e9")");
}
