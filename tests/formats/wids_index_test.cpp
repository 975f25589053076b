#include "formats/wids_index.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace shardkit;

TEST_CASE("a wids index gives its shards with samples and sizes") {
  const auto index = read_wids_index(
      R"({"__kind__":"wids-shard-index-v1","wids_version":1,"name":"s",
          "shardlist":[{"url":"s-0.tar","md5sum":"00","nsamples":1000,"filesize":108646400},{"url":"b.tar","nsamples":0}]})",
      "i.json");
  CHECK(index.name == "s");
  REQUIRE(index.shards.size() == 2);
  CHECK(index.shards[0].url == "s-0.tar");
  CHECK(index.shards[0].samples == 1000);
  CHECK(index.shards[0].bytes == 108646400U);
  CHECK_FALSE(index.shards[1].bytes);
}

TEST_CASE("what is no wids index is refused with the field that is wrong") {
  const auto refuses = [](const char* text, const char* why) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(read_wids_index(text, "i.json"), doctest::Contains(why), Error);
  };
  refuses("", "not a JSON object");
  refuses("[1]", "not a JSON object");
  refuses(R"({"shardlist":[]})", "wids_version");
  refuses(R"({"wids_version":2,"shardlist":[]})", "version 2");
  refuses(R"({"wids_version":1})", "shardlist is not a list");
  refuses(R"({"wids_version":1,"shardlist":[3]})", "shardlist[0] is not an object");
  refuses(R"({"wids_version":1,"shardlist":[{"nsamples":1}]})", "shardlist[0].url");
  refuses(R"({"wids_version":1,"shardlist":[{"url":"","nsamples":1}]})", "shardlist[0].url");
  refuses(R"({"wids_version":1,"shardlist":[{"url":"a","nsamples":-1}]})", "shardlist[0].nsamples");
}

TEST_CASE("an index is told from other JSON by its shard list") {
  CHECK(is_wids_index(R"({"shardlist":[]})"));
  CHECK_FALSE(is_wids_index(R"({"shards":[]})"));
  CHECK_FALSE(is_wids_index("no json"));
}
