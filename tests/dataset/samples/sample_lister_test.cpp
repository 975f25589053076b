#include "dataset/samples/sample_lister.hpp"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "dataset/verify/verify_support.hpp"
#include "formats/manifest.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

/// What the lister said, as lines.
struct Listing {
  std::vector<std::string> lines;
  std::vector<formats::IndexSample> samples;
  bool by_index = false;
  std::vector<Finding> warnings;
};

Listing list_folder(const ShardFolder& folder, std::size_t most = 1000) {
  Context context;
  const ShardSet set = resolve_shards({folder.path()}, SetVerb::list, context);
  const SampleLister lister(set, context);
  Listing listing;
  for (const ShardFile& shard : set.shards) {
    ListingVisitor visitor;
    visitor.sample = [&](formats::IndexSample&& sample) {
      listing.lines.push_back("sample " + sample.key);
      listing.samples.push_back(std::move(sample));
      return listing.samples.size() < most;
    };
    visitor.other = [&](TarEntry&& entry) { listing.lines.push_back("other " + entry.name); };
    visitor.finding = warn_of_damage(shard, context);
    listing.by_index = lister.list(shard, visitor);
  }
  listing.warnings = context.warnings();
  return listing;
}

using TextLines = std::vector<std::string>;

TarBuilder mixed_archive() {
  return TarBuilder()
      .member({.name = "d/", .type = '5'}, "")
      .file("d/a.JPG", "image")
      .file("d/README", "r")
      .file("d/a.cls", " 17\n")
      .member({.name = "e/", .type = '5'}, "")
      .file("__meta__", "m")
      .file("e/b.seg.png", "mask")
      .end();
}

}  // namespace

TEST_CASE("headers tell of samples, labels and names as they are, and of members outside of samples in their place") {
  ShardFolder folder;
  folder.write("s.tar", mixed_archive());
  const Listing listing = list_folder(folder);
  CHECK(listing.lines ==
        TextLines{"other d/", "sample d/a", "other d/README", "other e/", "other __meta__", "sample e/b"});
  CHECK_FALSE(listing.by_index);
  const formats::IndexSample& a = listing.samples[0];
  CHECK(a.label == 17U);
  REQUIRE(a.members.size() == 2);
  CHECK(a.members[0].name == "d/a.JPG");
  CHECK(a.members[0].extension == "jpg");
  CHECK(a.members[0].offset == 1024);
  CHECK(a.members[0].size == 5);
  CHECK_FALSE(a.members[0].xxh3);
  CHECK(listing.samples[1].members[0].extension == "seg.png");
  CHECK_FALSE(listing.samples[1].label);
}

TEST_CASE("an index tells the same of samples, with checksums") {
  ShardFolder folder;
  folder.write("s.tar", mixed_archive());
  const Listing headers = list_folder(folder);
  index_folder(folder);
  const Listing index = list_folder(folder);
  CHECK(index.by_index);
  CHECK(index.lines == TextLines{"sample d/a", "sample e/b"});
  CHECK(index.samples[0].label == headers.samples[0].label);
  CHECK(index.samples[0].members[1].offset == headers.samples[0].members[1].offset);
  CHECK(index.samples[0].members[0].name == "d/a.jpg");
  CHECK(index.samples[0].members[0].xxh3 == xxh3_64(as_bytes("image")));
}

TEST_CASE("an index that does not fit the shard is passed over with a warning") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(2));
  index_folder(folder);
  SUBCASE("the shard has another size now") { folder.write("s.tar", good_samples(3)); }
  SUBCASE("the manifest speaks of another shard") {
    formats::Manifest manifest = formats::read_manifest(folder.read("manifest.json"), "m");
    manifest.shards[0].xxh3_128.low ^= 1;
    folder.write("manifest.json", formats::write_manifest(manifest));
  }
  SUBCASE("it is cut") { folder.write(".shardkit/s.tar.index", folder.read(".shardkit/s.tar.index").substr(0, 60)); }
  SUBCASE("it belongs to another shard") {
    folder.write("t.tar", folder.read("s.tar"));
    fs::remove(folder.path("s.tar"));
    fs::remove(folder.path("manifest.json"));
    folder.write(".shardkit/t.tar.index", folder.read(".shardkit/s.tar.index"));
  }
  const Listing listing = list_folder(folder);
  CHECK_FALSE(listing.by_index);
  CHECK(std::ranges::count(listing.warnings, "index_ignored", &Finding::code) == 1);
}

TEST_CASE("of a shard whose index is damaged inside, the headers are read, with a warning") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(2));
  index_folder(folder);
  std::string index = folder.read(".shardkit/s.tar.index");
  index[index.find("\tk0\t") + 2] = '7';
  folder.write(".shardkit/s.tar.index", index);
  const Listing listing = list_folder(folder);
  CHECK_FALSE(listing.by_index);
  CHECK(listing.samples.size() == 2);
  REQUIRE(listing.warnings.size() == 1);
  CHECK(listing.warnings[0].code == "index_ignored");
}

TEST_CASE("a visitor that has enough is not called again") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(5));
  CHECK(list_folder(folder, 2).samples.size() == 2);
  index_folder(folder);
  CHECK(list_folder(folder, 2).samples.size() == 2);
}

TEST_CASE("damage is one warning for each shard; a missing end is none") {
  ShardFolder folder;
  folder.write("cut.tar", good_samples(3).bytes().substr(0, 2562));
  folder.write("open.tar", TarBuilder().sample("z", "i", "0"));
  const Listing listing = list_folder(folder);
  REQUIRE(listing.warnings.size() == 1);
  CHECK(listing.warnings[0].code == "damaged_shard");
  CHECK(listing.warnings[0].text.find("cut.tar") != std::string::npos);
  CHECK(listing.samples.back().key == "z");
}

TEST_CASE("a file that is no tar is an error, not an empty listing") {
  for (const std::string& bytes : {std::string(), "\x1f\x8b\x08" + std::string(600, 'z'), std::string(2000, 'x')}) {
    ShardFolder folder;
    folder.write("s.tar", bytes);
    CHECK_THROWS_WITH_AS(list_folder(folder), doctest::Contains("is not a readable tar"), Error);
  }
}

TEST_CASE("content that is no label gives none") {
  for (const std::string& text : {std::string("cat"), std::string(), std::string(5000, '1'), std::string("-1")}) {
    ShardFolder folder;
    folder.write("s.tar", TarBuilder().sample("a", "i", text).end());
    CHECK_FALSE(list_folder(folder).samples[0].label);
  }
}

TEST_CASE("a sample of endlessly many members is refused") {
  ShardFolder folder;
  TarBuilder builder;
  for (std::size_t i = 0; i <= kMostSampleMembers; ++i) builder.file("a.x" + std::to_string(i), "");
  folder.write("s.tar", builder.end());
  CHECK_THROWS_WITH_AS(list_folder(folder), doctest::Contains("'a' has more than 65536 members"), Error);
}

TEST_CASE("a sparse member is marked: its content is not what is stored") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().member({.name = "a.jpg", .type = 'S', .magic = kGnuMagic}, "x").end());
  const Listing listing = list_folder(folder);
  if (!listing.samples.empty()) CHECK_FALSE(listing.samples[0].members[0].plain);
}
