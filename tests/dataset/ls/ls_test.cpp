#include "dataset/ls/ls.hpp"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/convert/convert_support.hpp"
#include "dataset/verify/verify_support.hpp"
#include "support/image_tree.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;

namespace {

std::vector<std::string> names(const std::vector<LsRow>& rows) {
  std::vector<std::string> result;
  for (const LsRow& row : rows) result.push_back(row.shard + " " + row.name);
  return result;
}

LsResult list(const std::vector<std::string>& shards) {
  Context context;
  return ls({.shards = shards, .long_ = false}, context, [](const LsRow&) {});
}

using Names = std::vector<std::string>;

TarBuilder archive() {
  return TarBuilder()
      .member({.name = "d/", .type = '5'}, "")
      .file("d/a.JPG", "image")
      .file("d/a.cls", "7")
      .file("README", "r");
}

}  // namespace

TEST_CASE("ls gives every member of a foreign shard as the archive names it, in its order") {
  ShardFolder folder;
  folder.write("s.tar", archive().end());
  const LsResult result = list({folder.path()});
  CHECK(result.shards == 1);
  CHECK(result.members == 4);
  CHECK(names(result.rows) == Names{"s.tar d/", "s.tar d/a.JPG", "s.tar d/a.cls", "s.tar README"});
  CHECK(result.rows[0].key.empty());
  CHECK_FALSE(result.rows[0].label);
  CHECK(result.rows[1].key == "d/a");
  CHECK(result.rows[1].offset == 1024);
  CHECK(result.rows[1].size == 5);
  CHECK(result.rows[1].label == 7U);
  index_folder(folder);
  CHECK(names(list({folder.path()}).rows) == names(result.rows));
}

TEST_CASE("rows are in the order of the archive, whatever stands inside a sample") {
  ShardFolder folder;
  for (const int strays : {1, 999, 1000, 3000}) {
    TarBuilder tar;
    Names expected{"s.tar d/a.jpg"};
    tar.file("d/a.jpg", "image");
    for (int i = 0; i < strays; ++i) {
      tar.file(fmt::format("README{}", i), "r");
      expected.push_back(fmt::format("s.tar README{}", i));
    }
    tar.member({.name = "d/", .type = '5'}, "").file("d/a.cls", "7").file("d/b.jpg", "image").file("LAST", "l");
    for (const char* name : {"d/", "d/a.cls", "d/b.jpg", "LAST"}) expected.push_back(fmt::format("s.tar {}", name));
    folder.write("s.tar", tar.end());
    const LsResult result = list({folder.path()});
    CHECK(names(result.rows) == expected);
    CHECK(std::ranges::is_sorted(result.rows, {}, &LsRow::offset));
    CHECK(result.rows.front().label == 7U);
    CHECK(result.rows[static_cast<std::size_t>(strays) + 2].key == "d/a");
  }
}

TEST_CASE("the index of what convert wrote gives the same rows as its headers") {
  const TempDir dir;
  ImageTree{.root = dir.path("src"), .classes = 3, .per_class = 5}.make();
  write_file(dir.path("src/class_0/img_001.json"), "{}");
  convert_tree(dir.path("src"), dir.path("out"), 2);
  const LsResult by_index = list({dir.path("out")});
  std::filesystem::remove_all(dir.path("out/.shardkit"));
  const LsResult by_headers = list({dir.path("out")});
  REQUIRE(by_index.rows.size() == 31);
  REQUIRE(by_headers.rows.size() == 31);
  for (std::size_t i = 0; i < by_index.rows.size(); ++i) {
    CHECK(by_index.rows[i].name == by_headers.rows[i].name);
    CHECK(by_index.rows[i].offset == by_headers.rows[i].offset);
    CHECK(by_index.rows[i].label == by_headers.rows[i].label);
  }
}

TEST_CASE("rows that only pass through are not kept") {
  ShardFolder folder;
  folder.write("s.tar", archive());
  StringSink sink;
  Context context;
  context.lend_output(sink, false);
  std::size_t passed = 0;
  const LsResult result = ls({.shards = {folder.path()}, .long_ = false}, context, [&](const LsRow&) { ++passed; });
  CHECK(passed == 4);
  CHECK(result.members == 4);
  CHECK(result.rows.empty());
}

TEST_CASE("shards come in the order in which they are named") {
  ShardFolder folder;
  folder.write("a.tar", TarBuilder().file("a.jpg", "i").end());
  folder.write("b.tar", TarBuilder().file("b.jpg", "i").end());
  CHECK(names(list({folder.path("b.tar"), folder.path("a.tar")}).rows) == Names{"b.tar b.jpg", "a.tar a.jpg"});
}

TEST_CASE("a sink that throws ends the listing") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3));
  Context context;
  const auto full = [](const LsRow&) { throw Error(ErrorCode::io, "full"); };
  CHECK_THROWS_WITH_AS(ls({.shards = {folder.path()}, .long_ = false}, context, full), "full", Error);
}

TEST_CASE("a stop ends it before the next shard") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3));
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK_THROWS_AS(ls({.shards = {folder.path()}, .long_ = false}, context, [](const LsRow&) {}), Error);
}
