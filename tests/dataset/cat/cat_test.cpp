#include "dataset/cat/cat.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/verify/verify_support.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;

namespace {

struct Cat {
  std::string bytes;
  CatResult result;
};

Cat cat_member(const std::string& shards, const std::string& name) {
  StringSink sink;
  Context context;
  context.lend_output(sink, false);
  CatResult result = cat({.shards = {shards}, .name = name}, context);
  return {sink.text(), std::move(result)};
}

ErrorCode code_of(const std::string& shards, const std::string& name) {
  try {
    cat_member(shards, name);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::cancelled;
}

/// Two shards of two samples each; "c/two" has two members beside its label.
ShardFolder& sample_shards(ShardFolder& folder) {
  folder.write("a.tar", TarBuilder().sample("c/one", "first image", "1").file("c/bare.txt", "bare").end());
  folder.write(
      "b.tar",
      TarBuilder().sample("c/two", "second image", "2").file("c/two.JSON", "{}").file("c/label.cls", "3").end());
  return folder;
}

}  // namespace

TEST_CASE("a key alone means the one member that is no label, an extension chooses") {
  ShardFolder folder;
  sample_shards(folder);
  for (const bool indexed : {false, true}) {
    if (indexed) index_folder(folder);
    CHECK(cat_member(folder.path(), "c/one").bytes == "first image");
    CHECK(cat_member(folder.path(), "c/one.cls").bytes == "1");
    CHECK(cat_member(folder.path(), "c/bare").bytes == "bare");
    CHECK(cat_member(folder.path(), "c/two.jpg").bytes == "second image");
    CHECK(cat_member(folder.path(), "c/two.json").bytes == "{}");
    CHECK(cat_member(folder.path(), "c/two.JSON").bytes == "{}");
  }
  const CatResult result = cat_member(folder.path(), "c/two.jpg").result;
  CHECK(result.shard == "b.tar");
  CHECK(result.name == "c/two.jpg");
  CHECK(result.offset == 512);
  CHECK(result.bytes == 12);
  CHECK(result.label == 2U);
}

TEST_CASE("a key that means several members, or only a label, is a usage error that lists the extensions") {
  ShardFolder folder;
  sample_shards(folder);
  CHECK(code_of(folder.path(), "c/two") == ErrorCode::usage);
  CHECK_THROWS_WITH_AS(cat_member(folder.path(), "c/two"), doctest::Contains("jpg, cls, json"), Error);
  CHECK_THROWS_WITH_AS(cat_member(folder.path(), "c/label"), doctest::Contains("cls"), Error);
}

TEST_CASE("a sample in pieces is one sample, and of its members with one name the last counts") {
  ShardFolder folder;
  folder.write("a.tar", TarBuilder().file("a.json", "{}").file("b.jpg", "x").file("a.jpg", "y").end());
  CHECK_THROWS_WITH_AS(cat_member(folder.path(), "a"), doctest::Contains("json, jpg"), Error);
  CHECK(cat_member(folder.path(), "a.jpg").bytes == "y");
  folder.write("a.tar", TarBuilder().file("a.json", "{}").file("b.jpg", "x").file("a.json", "[]").end());
  CHECK(cat_member(folder.path(), "a").bytes == "[]");
}

TEST_CASE("a sample that does not exist is reported with the command that lists keys, a member with those that exist") {
  ShardFolder folder;
  sample_shards(folder);
  CHECK(code_of(folder.path(), "c/onf") == ErrorCode::not_found);
  CHECK_THROWS_WITH_AS(cat_member(folder.path(), "c/onf"), doctest::Contains("lists the keys"), Error);
  CHECK_THROWS_WITH_AS(cat_member(folder.path(), "two.jpg"), doctest::Contains("no sample 'two' in 2 shards"), Error);
  CHECK(code_of(folder.path(), "c/one.png") == ErrorCode::not_found);
  CHECK_THROWS_WITH_AS(cat_member(folder.path(), "c/one.png"), doctest::Contains("it has: jpg, cls"), Error);
}

TEST_CASE("of several samples with one key the first shard's counts, whatever the threads") {
  ShardFolder folder;
  for (int i = 0; i < 20; ++i) {
    folder.write("s" + std::to_string(10 + i) + ".tar", TarBuilder().file("k.txt", std::to_string(i)).end());
  }
  for (int i = 0; i < 20; ++i) CHECK(cat_member(folder.path(), "k").bytes == "0");
}

TEST_CASE("a member larger than a buffer comes whole; an empty one as nothing") {
  ShardFolder folder;
  std::string large(3'000'001, 'x');
  large[2'500'000] = 'y';
  folder.write("s.tar", TarBuilder().file("large.bin", large).file("none.bin", "").end());
  CHECK(cat_member(folder.path(), "large").bytes == large);
  CHECK(cat_member(folder.path(), "none").bytes.empty());
}

TEST_CASE("content that differs from its checksum is an error, although the bytes are out") {
  ShardFolder folder;
  sample_shards(folder);
  index_folder(folder);
  folder.flip("a.tar", 512);
  CHECK_THROWS_WITH_AS(cat_member(folder.path(), "c/one"), doctest::Contains("differs from the checksum"), Error);
}

TEST_CASE("content that the end of its shard cuts is an error") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().file("k.txt", std::string(5000, 't')).bytes().substr(0, 2000));
  CHECK(code_of(folder.path(), "k") == ErrorCode::corrupt);
}

TEST_CASE("without an output there is nowhere to write the bytes") {
  ShardFolder folder;
  sample_shards(folder);
  Context context;
  CHECK_THROWS_WITH_AS(cat({.shards = {folder.path()}, .name = "c/one"}, context), doctest::Contains("--json FILE"),
                       Error);
}
