#include "formats/wids_index.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace shardkit;
using namespace shardkit::formats;

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

TEST_CASE("an index is distinguished from other JSON by its shard list") {
  CHECK(is_wids_index(R"({"shardlist":[]})"));
  CHECK_FALSE(is_wids_index(R"({"shards":[]})"));
  CHECK_FALSE(is_wids_index("no json"));
}

TEST_CASE("an index is written sorted, as wids' own command does, and read again") {
  const WidsIndex index{"s", {{"s-1.tar", 2, 2048, "b"}, {"s-0.tar", 1, 1024, "a"}}};
  const std::string text = write_wids_index(index);
  CHECK(text ==
        R"({
  "__kind__": "wids-shard-index-v1",
  "wids_version": 1,
  "shardlist": [
    {
      "url": "s-0.tar",
      "md5sum": "a",
      "nsamples": 1,
      "filesize": 1024
    },
    {
      "url": "s-1.tar",
      "md5sum": "b",
      "nsamples": 2,
      "filesize": 2048
    }
  ],
  "name": "s"
})");
  CHECK(read_wids_index(text, "i.json").shards[1].url == "s-1.tar");
  CHECK(write_wids_index({"", {{"\xc3\xa4.tar", 1, 1, "a"}}}).find("\"\\u00e4.tar\"") != std::string::npos);
  CHECK(write_wids_index({"", {{"a.tar", 1, 1, "a"}}}).find("name\"") == std::string::npos);
  CHECK_THROWS_WITH_AS(write_wids_index({"", {{"\xff.tar", 1, 1, "a"}}}), doctest::Contains("UTF-8"), Error);
}

TEST_CASE("a set is called by the words of its first shard's name") {
  CHECK(wids_set_name("train-000000.tar") == "train");
  CHECK(wids_set_name("shards/train-v2-train-01.tar") == "shards-train-v2");
  CHECK(wids_set_name("a_b--c.d.tar") == "a_b-c-d");
  CHECK(wids_set_name("00000.tar").empty());
}

TEST_CASE("samples are counted as wids numbers them") {
  const auto count = [](const std::vector<std::string>& names) {
    WidsSampleCounter counter;
    for (const std::string& name : names) {
      TarEntry entry;
      entry.name = name;
      counter.add(entry);
    }
    return counter.samples();
  };
  CHECK(count({}) == 0);
  CHECK(count({"a.cls", "a.jpg", "b.jpg", "a.json"}) == 3);
  CHECK(count({"__meta__/info.json", "a.jpg"}) == 2);
  CHECK(count({"README", "a.jpg", "README", "a.cls"}) == 1);
  CHECK(count({"d.x/a", "d.x/b", "d.x/c.jpg"}) == 2);
  TarEntry folder;
  folder.name = "a.d/";
  folder.type = TarType::directory;
  WidsSampleCounter counter;
  counter.add(folder);
  CHECK(counter.samples() == 0);
}

TEST_CASE("a member that wids misreads is known by its header") {
  const auto trouble = [](std::string name, std::vector<TarFact> facts) {
    TarEntry entry;
    entry.name = std::move(name);
    for (const TarFact fact : facts) entry.facts.add(fact);
    return !wids_trouble(entry).empty();
  };
  CHECK_FALSE(trouble("a.jpg", {}));
  CHECK_FALSE(trouble("a.jpg", {TarFact::pax_header}));
  CHECK(trouble(std::string(97, 'a') + ".jpg", {TarFact::pax_header}));
  CHECK(trouble("\xc3\xa4.jpg", {TarFact::pax_header}));
  CHECK(trouble("a.jpg", {TarFact::gnu_long_name}));
  CHECK(trouble("a/b.jpg", {TarFact::ustar_prefix}));
  CHECK(trouble("a.jpg", {TarFact::base256_size}));
}
