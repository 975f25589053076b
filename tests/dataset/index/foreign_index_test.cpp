#include <cstring>
#include <filesystem>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/stage/stage.hpp"
#include "dataset/verify/verify_support.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "support/image_tree.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

/// Asks for all indexes and returns the codes of the warnings.
std::vector<std::string> index_for_all(const std::string& folder) {
  Context context;
  shardkit::dataset::index(
      {.shards = {folder}, .readers = {{"dali", true}, {"wids", true}, {"energon", true}}, .threads = {}}, context);
  std::vector<std::string> codes;
  for (const Finding& warning : context.warnings()) codes.push_back(warning.code);
  return codes;
}

IndexResult index_for_dali(const ShardFolder& folder) {
  Context context;
  return shardkit::dataset::index({.shards = {folder.path()}, .readers = {{"dali", true}}, .threads = {}}, context);
}

std::vector<std::uint64_t> offsets(const std::string& bytes) {
  std::vector<std::uint64_t> values(bytes.size() / 8);
  std::memcpy(values.data(), bytes.data(), values.size() * 8);
  return values;
}

std::string md5(const std::string& bytes) {
  ChecksumStream stream(ChecksumKind::md5);
  stream.update(as_bytes(bytes));
  return stream.finish();
}

/// Every file below `root` but our own state, which differs between shards of ours and of others.
std::map<std::string, std::string> public_files(const std::string& root) {
  auto content = tree_content(root);
  std::erase_if(content,
                [](const auto& item) { return item.first.starts_with(".shardkit/") || item.first == kManifestName; });
  return content;
}

/// Puts a plan's hash into an index, as if a convert had written it.
void rewrite_index(const ShardFolder& folder, std::string_view shard, std::string_view plan) {
  const std::string before = folder.read(shard_index_path(shard));
  MemorySource source(as_bytes(before));
  StringSink after;
  ShardIndexWriter writer(after, shard, plan);
  ShardIndexVisitor visitor;
  visitor.sample = [&](IndexSample&& sample) { writer.add(sample); };
  const ShardSummary summary = read_shard_index(source, "test", visitor);
  writer.finish(summary.bytes, summary.xxh3_128);
  folder.write(shard_index_path(shard), after.text());
}

struct Converted {
  TempDir dir;
  ImageTree tree{dir.path("src"), 3, 20};

  Converted() { tree.make(); }

  ConvertOptions options(const std::string& target,
                         std::vector<std::string> kinds = {"dali", "wids", "energon"}) const {
    ConvertOptions options;
    options.source = tree.root;
    options.target = dir.path(target);
    options.sharding.samples = 25;
    options.index = std::move(kinds);
    return options;
  }
  std::map<std::string, std::string> content(const std::string& target) const { return tree_content(dir.path(target)); }
};

void run(const ConvertOptions& options) {
  Context context;
  convert(options, context);
}

}  // namespace

TEST_CASE("one read of a foreign shard gives our index and those of all readers, with real offsets under PAX headers") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder()
                            .pax({{"mtime", "1.5"}})                          // 0: header, 512: record
                            .file("a.JPG", fake_jpeg(std::string(595, 'i')))  // 1024, content 1536 to 2560
                            .file("a.cls", "7")                               // 2560, 3072
                            .pax({{"mtime", "2.5"}})                          // 3584
                            .file("b.jpg", fake_jpeg())                       // 4608, 5120
                            .file("b.cls", "8")                               // 5632, 6144
                            .end());
  const Codes found = codes(verify_path(folder.path()));  // PAX; nothing about the new files comes to it
  CHECK(index_for_all(folder.path()).empty());
  CHECK(folder.read("s.idx") == "v1.2 2\nJPG 1536 600 a.JPG cls 3072 1 a.cls\njpg 5120 5 b.jpg cls 6144 1 b.cls\n");
  CHECK(offsets(folder.read("s.tar.idx")) == std::vector<std::uint64_t>{0, 3584, 6656});
  CHECK(folder.read("shardindex.json").find(md5(folder.read("s.tar"))) != std::string::npos);
  CHECK(folder.read(".nv-meta/.info.json").find("\"s.tar\": 2") != std::string::npos);
  CHECK(folder.read(".nv-meta/split.yaml").find("- s.tar\n") != std::string::npos);
  CHECK(folder.read(".nv-meta/dataset.yaml").find("image: JPG,jpg\n") != std::string::npos);
  CHECK(codes(verify_path(folder.path())) == found);
}

TEST_CASE("where a manifest fits, other readers' indexes are added, and the manifest lists them") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().file("a.PNG", "i").file("a.cls", "1").end());
  index_folder(folder);
  fs::remove(folder.path(".shardkit/s.tar.index"));  // would be made by reading the shard
  CHECK_FALSE(index_for_dali(folder).manifest_written);
  CHECK(folder.read("s.idx") == "v1.2 1\nPNG 512 1 a.PNG cls 1536 1 a.cls\n");
  const Manifest manifest = read_manifest(folder.read(kManifestName), kManifestName);
  REQUIRE(manifest.files.size() == 1);
  const std::string index = folder.read(manifest.files[0].name);
  CHECK(manifest.files[0].bytes == index.size());
  CHECK(manifest.files[0].xxh3_128 == xxh3_128(as_bytes(index)));
  CHECK_FALSE(fs::exists(folder.path(".shardkit/s.tar.index")));
}

TEST_CASE("a shard whose size is no longer the manifest's is read anew") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(1));
  index_folder(folder);
  folder.write("s.tar", good_samples(2));
  CHECK(index_for_dali(folder).manifest_written);
  CHECK(folder.read("s.idx").starts_with("v1.2 2\n"));
}

TEST_CASE("a set is not given an MD5 of bytes that the manifest does not know") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(2));
  index_folder(folder);
  folder.flip("s.tar", 512);
  CHECK_THROWS_WITH_AS(index_for_all(folder.path()), doctest::Contains("s.tar"), Error);
  CHECK_FALSE(fs::exists(folder.path("shardindex.json")));
}

TEST_CASE("a name with a space stops DALI's index alone, with the shard and the member") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().sample("a", "i", "1").sample("b c", "i", "2").end());
  CHECK_THROWS_WITH_AS(index_for_dali(folder), doctest::Contains("'b c.jpg'"), Error);
  CHECK_FALSE(fs::exists(folder.path("s.idx")));
  CHECK_FALSE(fs::exists(folder.path("manifest.json")));
  Context context;
  shardkit::dataset::index({.shards = {folder.path()}, .readers = {{"wids", true}, {"energon", true}}, .threads = {}},
                           context);
  CHECK(offsets(folder.read("s.tar.idx")).size() == 3);
}

TEST_CASE("errors name the shard where it is, also if the indexes go to another folder") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().sample("a b", "i", "1").end());
  const std::string command = "`shardctl reshard " + folder.path("s.tar") + " OUT`";
  Context context;
  IndexOptions options;
  options.shards = {folder.path()};
  options.readers = {{"dali", true}};
  options.output = folder.path("ix");
  CHECK_THROWS_WITH_AS(shardkit::dataset::index(options, context), doctest::Contains(command.c_str()), Error);
}

TEST_CASE("shards whose names for DALI collide are refused, both named, before anything is read") {
  ShardFolder folder;
  folder.write("train.v1-0.tar", good_samples(1, "a"));
  folder.write("train.v1-1.tar", good_samples(1, "b"));
  CHECK_THROWS_WITH_AS(index_for_dali(folder), doctest::Contains("'train.v1-0.tar' and 'train.v1-1.tar'"), Error);
  CHECK_FALSE(fs::exists(folder.path("manifest.json")));
  Context context;
  shardkit::dataset::index({.shards = {folder.path()}, .readers = {{"energon", true}}, .threads = {}}, context);
  CHECK(fs::exists(folder.path("train.v1-0.tar.idx")));
}

TEST_CASE("a shard without samples is refused for readers that refuse it") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().file("README", "r").end());
  CHECK_THROWS_WITH_AS(index_for_dali(folder), doctest::Contains("contains no sample"), Error);
  Context context;
  shardkit::dataset::index({.shards = {folder.path()}, .readers = {{"wids", true}}, .threads = {}}, context);
  CHECK(folder.read("shardindex.json").find("\"nsamples\": 0") != std::string::npos);
}

TEST_CASE("what wids misreads is said with the first such member of each shard") {
  ShardFolder folder;
  const std::string name = std::string(120, 'n') + ".jpg";
  folder.write("s.tar",
               TarBuilder().sample("a", "i", "1").gnu_long(name).file("n", "i").gnu_long(name).file("n", "i").end());
  CHECK(index_for_all(folder.path()) == Codes{"wids_misreads", "energon_sample_type"});
}

TEST_CASE("what somebody wrote into Energon's settings is kept") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(1));
  CHECK(index_for_all(folder.path()).empty());
  CHECK(index_for_all(folder.path()).empty());
  folder.write(".nv-meta/split.yaml", "split_parts: {val: [s.tar]}\n");
  CHECK(index_for_all(folder.path()) == Codes{"energon_file_kept"});
  CHECK(folder.read(".nv-meta/split.yaml") == "split_parts: {val: [s.tar]}\n");
}

TEST_CASE("indexes that convert writes are those of index over the same shards, from our index, from headers or anew") {
  const Converted f;
  run(f.options("out"));
  const auto expected = f.content("out");
  CHECK(expected.contains("shard-000002.idx"));
  CHECK(expected.contains("shard-000002.tar.idx"));
  const auto files = public_files(f.dir.path("out"));

  run(f.options("later", {}));
  index_for_all(f.dir.path("later"));
  CHECK(f.content("later") == expected);

  run(f.options("damaged", {}));
  write_file(f.dir.path("damaged/.shardkit/shard-000001.tar.index"), "no index");
  index_for_all(f.dir.path("damaged"));
  CHECK(public_files(f.dir.path("damaged")) == files);

  for (const auto& [name, content] : expected) {
    if (name.ends_with(".tar")) write_file(f.dir.path("theirs/" + name), content);
  }
  index_for_all(f.dir.path("theirs"));
  CHECK(public_files(f.dir.path("theirs")) == files);
}

TEST_CASE("our index is not trusted with where records start when members do not stand close together") {
  ShardFolder folder;
  folder.write(
      "s.tar",
      TarBuilder().pax({{"mtime", "1.5"}}).sample("a", "i", "1").file("README", "").sample("b", "i", "2").end());
  index_folder(folder);
  Manifest manifest = read_manifest(folder.read(kManifestName), kManifestName);
  manifest.plan_hash = std::string(32, 'a');
  folder.write(kManifestName, write_manifest(manifest));
  rewrite_index(folder, "s.tar", manifest.plan_hash);
  index_for_all(folder.path());
  CHECK(offsets(folder.read("s.tar.idx")) == std::vector<std::uint64_t>{0, 3584, 5632});
}

TEST_CASE("convert's indexes do not depend on threads or parts, nor on when they were asked for") {
  const Converted f;
  run(f.options("out"));
  const auto expected = f.content("out");
  ConvertOptions options = f.options("many");
  options.threads = 7;
  run(options);
  CHECK(f.content("many") == expected);

  options = f.options("again", {});
  run(options);
  options.index = {"dali", "wids", "energon"};
  run(options);
  CHECK(f.content("again") == expected);

  options = f.options("parts");
  for (const char* part : {"2/3", "0/3", "1/3"}) {
    options.part = part;
    run(options);
    CHECK_FALSE(fs::exists(f.dir.path("parts/shardindex.json")));
  }
  Context context;
  merge({.target = f.dir.path("parts")}, context);
  CHECK(context.warnings().empty());
  CHECK(f.content("parts") == expected);
}

TEST_CASE("merge says which shard lacks an index that the others have") {
  const Converted f;
  ConvertOptions options = f.options("out");
  options.part = "0/2";
  run(options);
  options.part = "1/2";
  options.index = {"energon"};
  run(options);
  Context context;
  merge({.target = f.dir.path("out")}, context);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].code == "index_incomplete");
  CHECK(context.warnings()[0].text.find("shard-000002.tar") != std::string::npos);
  CHECK(fs::exists(f.dir.path("out/.nv-meta/.info.json")));
  CHECK_FALSE(fs::exists(f.dir.path("out/shardindex.json")));
}

TEST_CASE("a reader that nobody knows is a usage error before anything is written") {
  const Converted f;
  CHECK_THROWS_WITH_AS(run(f.options("out", {"dali", "tfrecord"})), doctest::Contains("'tfrecord'"), Error);
  CHECK_FALSE(fs::exists(f.dir.path("out")));
}

TEST_CASE("stage copies the indexes that lie beside the shards") {
  const Converted f;
  run(f.options("out"));
  Context context;
  StageOptions options;
  options.sources = {f.dir.path("out")};
  options.target = f.dir.path("staged");
  stage(options, context);
  const auto staged = public_files(f.dir.path("staged"));
  CHECK(staged == public_files(f.dir.path("out")));
}

TEST_CASE("reshard writes the indexes that index over its shards would, in each set of a split and in parts") {
  const Converted f;
  run(f.options("in", {}));
  ReshardOptions options;
  options.inputs = {f.dir.path("in")};
  options.target = f.dir.path("out");
  options.sizes.samples = 20;
  options.split = {"train=0.7", "val=0.3"};
  options.index = {"dali", "wids", "energon"};
  Context context;
  reshard(options, context);

  options.target = f.dir.path("later");
  options.index = {};
  reshard(options, context);
  options.target = f.dir.path("parts");
  options.index = {"dali", "wids", "energon"};
  for (const char* part : {"1/2", "0/2"}) {
    options.part = part;
    reshard(options, context);
  }
  for (const char* set : {"/train", "/val"}) {
    index_for_all(f.dir.path("later") + set);
    merge({.target = f.dir.path("parts") + set}, context);
    const auto expected = f.content(std::string("out") + set);
    CHECK(expected.contains("shard-000000.tar.idx"));
    CHECK(f.content(std::string("later") + set) == expected);
    CHECK(f.content(std::string("parts") + set) == expected);
  }
}
