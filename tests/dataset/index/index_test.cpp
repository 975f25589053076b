#include "dataset/index/index.hpp"

#include <filesystem>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "dataset/verify/verify_support.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

std::vector<IndexSample> read_index(const ShardFolder& folder, std::string_view shard) {
  const std::string text = folder.read(shard_index_path(shard));
  MemorySource source(as_bytes(text));
  std::vector<IndexSample> samples;
  ShardIndexVisitor visitor;
  visitor.sample = [&](IndexSample&& sample) { samples.push_back(std::move(sample)); };
  read_shard_index(source, "test", visitor);
  return samples;
}

}  // namespace

TEST_CASE("a foreign shard gets an index with real offsets, labels and checksums") {
  ShardFolder folder;
  const std::string image(3000, 'i');
  folder.write("s.tar", TarBuilder()
                            .pax({{"path", "d/a.JPG"}})
                            .file("x", image)
                            .file("d/a.cls", "17\n")
                            .file("__meta__", "m")
                            .file("README", "r")
                            .file("b.png", "")
                            .end());
  Context context;
  const IndexResult result = shardkit::dataset::index({.shards = {folder.path()}, .threads = {}}, context);
  CHECK(result.shards == 1);
  CHECK(result.samples == 2);
  CHECK(result.manifest == folder.path("manifest.json"));
  const auto samples = read_index(folder, "s.tar");
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].key == "d/a");
  CHECK(samples[0].label == 17U);
  CHECK(samples[0].path.empty());
  REQUIRE(samples[0].members.size() == 2);
  CHECK(samples[0].members[0] == IndexMember{"jpg", 1536, 3000, xxh3_64(as_bytes(image))});
  CHECK(samples[0].members[1] == IndexMember{"cls", 5120, 3, xxh3_64(as_bytes("17\n"))});
  CHECK_FALSE(samples[1].label);
  CHECK(samples[1].members[0] == IndexMember{"png", 8192, 0, xxh3_64({})});
}

TEST_CASE("the manifest lists every shard with its hash, in order, whatever the threads") {
  ShardFolder folder;
  for (int i = 0; i < 9; ++i) folder.write("s" + std::to_string(i) + ".tar", good_samples(i + 1, std::to_string(i)));
  Context context;
  shardkit::dataset::index({.shards = {folder.path()}, .threads = 1}, context);
  const std::string text = folder.read(kManifestName);
  const Manifest manifest = read_manifest(text, kManifestName);
  CHECK(manifest.shards.size() == 9);
  CHECK(manifest.samples == 45);
  CHECK(manifest.plan_hash.empty());
  CHECK(manifest.shards[2].xxh3_128 == xxh3_128(as_bytes(folder.read("s2.tar"))));
  shardkit::dataset::index({.shards = {folder.path()}, .threads = 5}, context);
  CHECK(folder.read(kManifestName) == text);
  CHECK_FALSE(verify_path(folder.path()).has_findings());
}

TEST_CASE("what a convert wrote is not overwritten: neither manifest nor index") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(1));
  index_folder(folder);
  Manifest manifest = read_manifest(folder.read(kManifestName), kManifestName);
  manifest.plan_hash = std::string(32, 'a');
  folder.write(kManifestName, write_manifest(manifest));
  CHECK_THROWS_WITH_AS(index_folder(folder), doctest::Contains("contains a finished set"), Error);

  fs::remove(folder.path(kManifestName));
  const std::string text = folder.read(".shardkit/s.tar.index");
  MemorySource old(as_bytes(text));
  StringSink sink;
  ShardIndexWriter index(sink, "s.tar", std::string(32, 'a'));
  const ShardSummary summary = read_shard_index(old, "i", {[&](IndexSample&& sample) { index.add(sample); }});
  index.finish(summary.bytes, summary.xxh3_128);
  folder.write(".shardkit/s.tar.index", sink.text());
  index_folder(folder);  // neither a manifest nor a plan says that a convert wrote it
  fs::remove(folder.path(kManifestName));

  folder.write(".shardkit/s.tar.index", "damaged");
  folder.write(".shardkit/plan", "");
  CHECK_THROWS_AS(index_folder(folder), Error);
}

TEST_CASE("--replace gives up what a convert wrote, also if it is damaged") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(1));
  index_folder(folder);
  const std::string expected = folder.read(kManifestName);
  for (const char* name : {kManifestName, ".shardkit/s.tar.index", ".shardkit/plan", ".shardkit/s.tar.bad"})
    folder.write(name, "damaged");
  IndexOptions options;
  options.shards = {folder.path("")};
  Context context;
  CHECK_THROWS_WITH_AS(shardkit::dataset::index(options, context), doctest::Contains("shardctl index "), Error);
  options.replace = true;
  shardkit::dataset::index(options, context);
  CHECK(folder.read(kManifestName) == expected);
  CHECK_FALSE(fs::exists(folder.path(".shardkit/plan")));
  options.shards = {folder.path("s.tar")};
  CHECK_THROWS_AS(shardkit::dataset::index(options, context), Error);
}

TEST_CASE("--replace removes no record as long as a shard is damaged, and names shards that are missing") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(1));
  folder.write("b.tar", good_samples(3));
  index_folder(folder);
  const std::string whole = folder.read("b.tar");
  IndexOptions options;
  options.shards = {folder.path("")};
  options.replace = true;
  for (const std::size_t length : {std::size_t{0}, std::size_t{2562}}) {
    folder.write("b.tar", whole.substr(0, length));
    Context context;
    CHECK_THROWS_AS(shardkit::dataset::index(options, context), Error);
    CHECK(fs::exists(folder.path(kManifestName)));
    CHECK(fs::exists(folder.path(".shardkit/b.tar.index")));
  }
  fs::remove(folder.path("b.tar"));
  for (const char* index : {"a.idx", "b.idx", "b.tar.idx"}) folder.write(index, "of another reader");
  Context context;
  shardkit::dataset::index(options, context);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].code == "shards_missing");
  CHECK(fs::exists(folder.path("a.idx")));
  for (const char* index : {"b.idx", "b.tar.idx", ".shardkit/b.tar.index"}) CHECK_FALSE(fs::exists(folder.path(index)));
}

TEST_CASE("a shard that readers would not read whole is refused, and no manifest appears") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(1));
  folder.write("b.tar", good_samples(3).bytes().substr(0, 2562));
  CHECK_THROWS_WITH_AS(index_folder(folder), doctest::Contains("b.tar"), Error);
  CHECK_FALSE(fs::exists(folder.path(kManifestName)));
  CHECK_FALSE(fs::exists(folder.path(".shardkit/b.tar.index")));
}

TEST_CASE("a shard without end-of-archive blocks is indexed, because readers read it") {
  ShardFolder folder;
  folder.write("a.tar", TarBuilder().sample("a", "i", "0"));
  index_folder(folder);
  CHECK(read_index(folder, "a.tar").size() == 1);
}

TEST_CASE("shards of several folders have no common manifest") {
  ShardFolder a;
  ShardFolder b;
  a.write("a.tar", good_samples(1));
  b.write("b.tar", good_samples(1));
  Context context;
  CHECK_THROWS_AS(shardkit::dataset::index({.shards = {a.path(), b.path()}, .threads = {}}, context), Error);
}

TEST_CASE("some of the shards of an indexed folder are not made its whole manifest") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(2, "a"));
  folder.write("b.tar", good_samples(2, "b"));
  index_folder(folder);
  const std::string before = folder.read("manifest.json");
  Context context;
  CHECK_THROWS_WITH_AS(shardkit::dataset::index({.shards = {folder.path("b.tar")}, .threads = {}}, context),
                       doctest::Contains("'a.tar'"), Error);
  CHECK(folder.read("manifest.json") == before);
}

TEST_CASE("extras stay in the manifest when it is written again, with their checksums") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().file("a.jpg", "i").file("a.cls", "0").end());
  fs::create_directory(folder.path("meta"));
  write_file(folder.path("meta/names.txt"), "cat");
  Context context;
  index({.shards = {folder.path()}, .extras = {"meta/names.txt"}}, context);
  index({.shards = {folder.path()}}, context);
  const Manifest manifest = read_manifest(folder.read("manifest.json"), "test");
  CHECK(manifest.files == std::vector<ManifestFile>{{"meta/names.txt", 3, xxh3_128(as_bytes("cat"))}});
}

TEST_CASE("extras that are missing, shards, or outside of the folder are refused") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().file("a.jpg", "i").file("a.cls", "0").end());
  Context context;
  for (const char* name : {"s.tar", "manifest.json", ".shardkit/s.index", "../x", "absent.txt"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(index({.shards = {folder.path()}, .extras = {name}}, context), Error);
    CHECK(!fs::exists(folder.path("manifest.json")));
  }
}

TEST_CASE("bytes that changed since the replaced manifest was written are a warning") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().file("a.jpg", "one").file("a.cls", "0").end());
  Context context;
  index({.shards = {folder.path()}}, context);
  index({.shards = {folder.path()}}, context);
  CHECK(context.warnings().empty());
  folder.write("s.tar", TarBuilder().file("a.jpg", "two").file("a.cls", "0").end());
  index({.shards = {folder.path()}}, context);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].text.starts_with("1 shard had other bytes when the replaced manifest was written"));
}
