#include "formats/sample_name.hpp"

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::formats;

namespace {

std::string joined(std::string_view member) {
  const auto name = split_sample_name(member);
  return name ? std::string(name->key) + "|" + std::string(name->extension) : "none";
}

TarEntry entry(std::string name, std::uint64_t offset, TarType type = TarType::regular) {
  TarEntry result;
  result.name = std::move(name);
  result.type = type;
  result.record_offset = offset;
  result.data_offset = offset + 512;
  return result;
}

}  // namespace

TEST_CASE("a name is split at the first dot of its base name") {
  CHECK(joined("a.jpg") == "a|jpg");
  CHECK(joined("d.x/a.seg.png") == "d.x/a|seg.png");
  CHECK(joined("a/b/c.JPEG") == "a/b/c|JPEG");
  CHECK(joined("a.") == "a|");
  CHECK(joined("/a.b") == "/a|b");
}

TEST_CASE("names without an extension do not match") {
  CHECK(joined("README") == "none");
  CHECK(joined("a.b/README") == "none");
  CHECK(joined("") == "none");
  CHECK(joined("a.jpg/") == "none");
}

TEST_CASE("hidden files take their folder for a key, as webdataset's pattern does") {
  CHECK(joined("a/._x.jpg") == "a/|_x.jpg");
  CHECK(joined("d.x/b/.x.jpg") == "d.x/b/|x.jpg");
  CHECK(joined("d.x/.x.jpg") == "none");
  CHECK(joined(".x.jpg") == "none");
}

TEST_CASE("metadata is what stands in or is a first component between double underscores") {
  CHECK(is_metadata_name("__info__"));
  CHECK(is_metadata_name("__x__/a.jpg"));
  CHECK(is_metadata_name("____"));
  CHECK_FALSE(is_metadata_name("__x__.json"));
  CHECK_FALSE(is_metadata_name("__MACOSX/a.jpg"));
  CHECK_FALSE(is_metadata_name("___"));
  CHECK_FALSE(is_metadata_name("a/__x__"));
}

TEST_CASE("consecutive members of one key are a sample with extensions in lower case") {
  SampleGrouper grouper;
  CHECK_FALSE(grouper.add(entry("a.JPG", 0)));
  CHECK_FALSE(grouper.add(entry("a.cls", 1024)));
  const auto first = grouper.add(entry("b.jpg", 2048));
  REQUIRE(first);
  CHECK(first->key == "a");
  REQUIRE(first->members.size() == 2);
  CHECK(first->members[0].extension == "jpg");
  CHECK(first->members[1].offset == 1536);
  const auto last = grouper.finish();
  REQUIRE(last);
  CHECK(last->key == "b");
  CHECK(last->offset == 2048);
  CHECK_FALSE(grouper.finish());
}

TEST_CASE("a key that comes back is a second sample") {
  SampleGrouper grouper;
  CHECK_FALSE(grouper.add(entry("a.jpg", 0)));
  CHECK(grouper.add(entry("b.jpg", 1024))->key == "a");
  CHECK(grouper.add(entry("a.cls", 2048))->key == "b");
  CHECK(grouper.finish()->key == "a");
}

TEST_CASE("folders, links, metadata and names without an extension neither join nor end a sample") {
  SampleGrouper grouper;
  CHECK_FALSE(grouper.add(entry("a.jpg", 0)));
  CHECK_FALSE(grouper.add(entry("dir/", 1, TarType::directory)));
  CHECK_FALSE(grouper.add(entry("b.jpg", 2, TarType::hard_link)));
  CHECK_FALSE(grouper.add(entry("__meta__", 3)));
  CHECK_FALSE(grouper.add(entry("README", 4)));
  CHECK_FALSE(grouper.add(entry("a.cls", 5)));
  CHECK(grouper.finish()->members.size() == 2);
}
