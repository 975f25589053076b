#include "dataset/extract/extract.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/convert/convert_support.hpp"
#include "dataset/extract/extract_target.hpp"
#include "dataset/verify/verify_support.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "support/errors.hpp"
#include "support/image_tree.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::io;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

struct Extracted {
  ExtractResult result;
  std::vector<std::string> warnings;
};

Extracted extract_to(const std::string& shards, const std::string& target, std::uint64_t threads = 3) {
  Context context;
  Extracted extracted{extract({.shards = {shards}, .target = target, .threads = threads}, context), {}};
  for (const Finding& warning : context.warnings()) extracted.warnings.push_back(warning.code);
  return extracted;
}

/// Extracts one archive into `<folder>/out`.
Extracted extract_archive(const ShardFolder& folder, const TarBuilder& archive) {
  folder.write("shards/s.tar", archive);
  return extract_to(folder.path("shards"), folder.path("out"));
}

using Tree = std::map<std::string, std::string>;
using Codes = std::vector<std::string>;

}  // namespace

TEST_CASE("a shard of convert that has lost its index is extracted under names made of keys, with a warning") {
  const TempDir dir;
  ImageTree{dir.path("src"), 2, 4, 300}.make();
  convert_tree(dir.path("src"), dir.path("set"), 2);
  fs::remove(dir.path("set/.shardkit/shard-000001.tar.index"));
  const Extracted extracted = extract_to(dir.path("set"), dir.path("out"));
  CHECK(extracted.warnings == Codes{"index_missing"});
  CHECK(extracted.result.files == 8);
}

TEST_CASE("a class without a sample is named, because the copy lacks its folder") {
  const TempDir dir;
  ImageTree{dir.path("src"), 2, 2, 300}.make();
  convert_tree(dir.path("src"), dir.path("set"), 4);
  Manifest manifest = read_manifest(read_file(dir.path("set/manifest.json")), "test");
  manifest.classes.push_back({"zebra", 2, 0});
  fs::remove(dir.path("set/manifest.json"));
  write_file(dir.path("set/manifest.json"), write_manifest(manifest));
  CHECK(extract_to(dir.path("set"), dir.path("out")).warnings == Codes{"classes_empty"});
}

TEST_CASE("convert and extract give back the source byte for byte, and leave nothing of their own") {
  const TempDir dir;
  const std::string source = dir.path("src");
  ImageTree{.root = source}.make();
  for (const char* name :
       {"class_0/a b.jpg", "class_0/img.v2.JPEG", "class_0/sub/deep/x.PNG", "class_0/x.jpg", "class_0/x.png",
        "class_0/.jpg", "class_0/x.json", "class_0/x.txt", "class_0/~7E.jpg", "class_0/\xc3\xa9\xff.jpg",
        "class_0/new\nline\t.jpg", "__odd__/y.webp", "c.d/z.jpg", " /blank.jpg"}) {
    write_file(source + "/" + name, std::string("content of ") + name);
  }
  write_file(source + "/class_1/" + std::string(240, 'l') + ".jpg", "long");
  write_file(source + "/class_1/empty.jpg", "");
  convert_tree(source, dir.path("shards"), 4, true, Validate::none);
  const Extracted extracted = extract_to(dir.path("shards"), dir.path("out"));
  CHECK(tree_content(dir.path("out")) == tree_content(source));
  CHECK_FALSE(fs::exists(dir.path("out/.shardkit")));
  CHECK(extracted.warnings.empty());
  CHECK(extracted.result.samples == 134);
  CHECK(extracted.result.files_written + extracted.result.files_kept == extracted.result.files);
}

TEST_CASE("real photographs survive the round trip") {
  const char* folder = std::getenv("SHARDKIT_IMAGENET_SAMPLE");
  if (folder == nullptr || !fs::is_directory(folder)) {
    MESSAGE("SKIPPED: SHARDKIT_IMAGENET_SAMPLE names no folder of photographs");
    return;
  }
  const std::string source = folder;
  const TempDir dir;
  convert_tree(source, dir.path("shards"));
  extract_to(dir.path("shards"), dir.path("out"));
  CHECK(tree_content(dir.path("out")) == tree_content(source));
}

TEST_CASE("the same extract again keeps what is there and writes what is missing") {
  const TempDir dir;
  ImageTree{.root = dir.path("src")}.make();
  for (const bool indexed : {true, false}) {
    fs::remove_all(dir.path("shards"));
    fs::remove_all(dir.path("out"));
    convert_tree(dir.path("src"), dir.path("shards"));
    if (!indexed) fs::remove_all(dir.path("shards/.shardkit"));
    extract_to(dir.path("shards"), dir.path("out"));
    fs::remove(dir.path("out/class_1/img_007.jpg"));
    const ExtractResult again = extract_to(dir.path("shards"), dir.path("out")).result;
    CHECK(again.files == 120);
    CHECK(again.files_written == 1);
    CHECK(again.files_kept == 119);
    CHECK(tree_content(dir.path("out")) == tree_content(dir.path("src")));
  }
}

TEST_CASE("a folder with files of no shard is said to be one, at any depth, and an earlier extract is none") {
  const TempDir dir;
  ImageTree{dir.path("src"), 2, 2, 300}.make();
  convert_tree(dir.path("src"), dir.path("shards"));
  fs::create_directories(dir.path("out/lost+found"));
  CHECK(extract_to(dir.path("shards"), dir.path("out")).warnings.empty());
  CHECK(extract_to(dir.path("shards"), dir.path("out")).warnings.empty());
  for (const char* other : {"notes.txt", "class_0/a.jpg", "class_9/deep/b.jpg"}) {
    fs::create_directories(fs::path(dir.path("out/") + other).parent_path());
    write_file(dir.path("out/") + other, "x");
    CHECK(extract_to(dir.path("shards"), dir.path("out")).warnings == Codes{"other_files"});
    fs::remove(dir.path("out/") + other);
  }
}

TEST_CASE("class folders are not put among the shards, or below them") {
  ShardFolder folder;
  folder.write("shards/s.tar", good_samples(2));
  fs::create_symlink(folder.path("shards"), folder.path("link"));
  for (const char* target : {"shards", "link", "shards/../shards/", "shards/tree"}) {
    CHECK(shardkit_test::failure_of([&] { extract_to(folder.path("shards"), folder.path(target)); }) ==
          ErrorCode::usage);
    CHECK_THROWS_WITH_AS(extract_to(folder.path("shards/s.tar"), folder.path("shards")),
                         doctest::Contains("themselves are in"), Error);
  }
  CHECK(tree_content(folder.path("shards")).size() == 1);
}

TEST_CASE("what a killed extract left is taken away") {
  const TempDir dir;
  ImageTree{.root = dir.path("src")}.make();
  convert_tree(dir.path("src"), dir.path("shards"));
  write_file(dir.path("out/.shardkit/extract/0/17"), "half");
  write_file(dir.path("out/.shardkit/extract.lock"), "");
  extract_to(dir.path("shards"), dir.path("out"));
  CHECK(tree_content(dir.path("out")) == tree_content(dir.path("src")));
  CHECK_FALSE(fs::exists(dir.path("out/.shardkit")));
}

TEST_CASE("a file with other content is a conflict and stays as it is") {
  const TempDir dir;
  ImageTree{.root = dir.path("src")}.make();
  convert_tree(dir.path("src"), dir.path("shards"));
  for (const bool indexed : {true, false}) {
    if (!indexed) fs::remove_all(dir.path("shards/.shardkit"));
    const std::string victim = "class_0/img_003.jpg";
    std::string other = read_file(dir.path("src/" + victim));
    SUBCASE("of another size") { other += "x"; }
    SUBCASE("of the same size") { other[0] = static_cast<char>(other[0] ^ 1); }
    write_file(dir.path("out/" + victim), other);
    CHECK_THROWS_WITH_AS(extract_to(dir.path("shards"), dir.path("out")), doctest::Contains(victim.c_str()), Error);
    CHECK(read_file(dir.path("out/" + victim)) == other);
    CHECK_FALSE(fs::exists(dir.path("out/.shardkit")));
  }
}

TEST_CASE("foreign shards become class folders by label, with side-cars and the case of extensions") {
  ShardFolder folder;
  const Extracted extracted = extract_archive(folder, TarBuilder()
                                                          .member({.name = "x/", .type = '5'}, "")
                                                          .file("./x/a.JPG", "image")
                                                          .file("./x/a.cls", "3")
                                                          .file("./x/a.json", "{}")
                                                          .file("plain.png", "p")
                                                          .file("README", "r")
                                                          .end());
  CHECK(tree_content(folder.path("out")) == Tree{{"3/x/a.JPG", "image"}, {"3/x/a.json", "{}"}, {"plain.png", "p"}});
  CHECK(extracted.result.samples == 2);
  CHECK(extracted.result.files == 3);
  CHECK(extracted.warnings == Codes{"unlabeled", "class_names_unknown", "members_left_out"});
}

TEST_CASE("hostile names are refused by name before anything is written") {
  const std::string deep = std::string(256, 'x') + ".jpg";
  const std::vector<std::string> names = {"../evil.jpg", "/tmp/evil.jpg", "a/../../evil.jpg", "../../evil", deep};
  for (const std::string& name : names) {
    CAPTURE(name);
    ShardFolder folder;
    TarBuilder archive;
    archive.file("good.jpg", "g");
    archive.pax({{"path", name}}).file("x.jpg", "evil");
    CHECK_THROWS_WITH_AS(extract_archive(folder, archive.end()), doctest::Contains(name.c_str()), Error);
    CHECK_FALSE(fs::exists(folder.path("out")));
    CHECK(tree_content(folder.path()).size() == 1);
  }
}

TEST_CASE("links in a shard are refused, whatever they are called") {
  for (const char type : {'1', '2'}) {
    ShardFolder folder;
    const TarBuilder archive = TarBuilder()
                                   .file("good.jpg", "g")
                                   .member({.name = "d.jpg", .type = type, .link_target = "/etc/passwd"}, "")
                                   .end();
    CHECK_THROWS_WITH_AS(extract_archive(folder, archive), doctest::Contains("it is a link"), Error);
    CHECK_FALSE(fs::exists(folder.path("out")));
  }
}

TEST_CASE("a hostile index is refused as a hostile shard is") {
  const TempDir dir;
  ImageTree{.root = dir.path("src"), .classes = 1, .per_class = 2}.make();
  convert_tree(dir.path("src"), dir.path("shards"), 1);
  const std::string path = dir.path("shards/.shardkit/shard-000000.tar.index");
  FileSource old(path);
  StringSink sink;
  ShardIndexWriter writer(sink, "shard-000000.tar", read_shard_summary(old, path).plan);
  ShardIndexVisitor visitor;
  visitor.sample = [&](IndexSample&& sample) {
    sample.path = "../../evil.jpg";
    writer.add(sample);
  };
  const ShardSummary summary = read_shard_index(old, path, visitor);
  writer.finish(summary.bytes, summary.xxh3_128);
  write_file(path, sink.text());
  CHECK_THROWS_WITH_AS(extract_to(dir.path("shards"), dir.path("a/b/out")), doctest::Contains("'..'"), Error);
  CHECK_FALSE(fs::exists(dir.path("a")));
}

TEST_CASE("a link planted in the target is not followed") {
  ShardFolder folder;
  folder.write("outside/keep.txt", "k");
  fs::create_directories(folder.path("out"));
  const TarBuilder archive = TarBuilder().file("d/x.jpg", "i").end();
  SUBCASE("in place of a folder") { fs::create_symlink(folder.path("outside"), folder.path("out/d")); }
  SUBCASE("in place of a file") {
    fs::create_directories(folder.path("out/d"));
    fs::create_symlink(folder.path("outside/x.jpg"), folder.path("out/d/x.jpg"));
  }
  SUBCASE("in place of a file with the same content") {
    fs::create_directories(folder.path("out/d"));
    folder.write("elsewhere", "i");
    fs::create_symlink(folder.path("elsewhere"), folder.path("out/d/x.jpg"));
  }
  SUBCASE("in place of our own folder") { fs::create_symlink(folder.path("outside"), folder.path("out/.shardkit")); }
  SUBCASE("in place of the place for unfinished files") {
    fs::create_directories(folder.path("out/.shardkit/extract"));
    fs::create_symlink(folder.path("outside"), folder.path("out/.shardkit/extract/0"));
    CHECK_NOTHROW(extract_archive(folder, archive));
    CHECK(tree_content(folder.path("outside")) == Tree{{"keep.txt", "k"}});
    return;
  }
  CHECK_THROWS_AS(extract_archive(folder, archive), Error);
  CHECK(tree_content(folder.path("outside")) == Tree{{"keep.txt", "k"}});
}

TEST_CASE("members that meet at one path are one file where they are equal, else each gets a name") {
  ShardFolder folder;
  folder.write("shards/a.tar", TarBuilder().file("k.jpg", "one").end());
  folder.write("shards/b.tar", TarBuilder().file("k.jpg", "one").end());
  const ExtractResult result = extract_to(folder.path("shards"), folder.path("out")).result;
  CHECK(result.files_written == 1);
  CHECK(result.files_kept == 1);
  CHECK(result.files_renamed == 0);

  folder.write("shards/b.tar", TarBuilder().file("k.jpg", "two").end());
  folder.write("shards/c.tar", TarBuilder().file("k.jpg", "three").file("k.jpg/inside.png", "below").end());
  folder.write("shards/d.tar", TarBuilder().file("K.jpg", "upper").file("other.jpg", "x").end());
  std::map<std::string, std::string> first;
  for (const std::uint64_t threads : {1, 4}) {
    const Extracted extracted = extract_to(folder.path("shards"), folder.path(fmt::format("new{}", threads)), threads);
    CHECK(extracted.result.files_renamed == 3);  // the folder keeps the name k.jpg
    CHECK(std::ranges::count(extracted.warnings, "files_renamed") == 1);
    const auto content = tree_content(folder.path(fmt::format("new{}", threads)));
    CHECK(content.size() == 6);
    CHECK(content.at("k.jpg/inside.png") == "below");
    CHECK(content.at("K.jpg") == "upper");
    if (!first.empty()) CHECK(content == first);
    first = content;
    const Extracted again = extract_to(folder.path("shards"), folder.path(fmt::format("new{}", threads)), threads);
    CHECK(again.result.files_kept == 6);
  }
  std::set<std::string> contents;
  for (const auto& [path, content] : first) contents.insert(content);
  CHECK(contents.size() == 6);
}

TEST_CASE("names that differ in case only meet where the file system folds case") {
  PathHashes hashes;
  const std::vector<std::string> paths = {"a/x.jpg", "A/X.jpg", "a/\xc3\x89.jpg", "a/\xc3\xa9.jpg", "b/x.jpg"};
  for (const std::string& path : paths) hashes.add(path);
  hashes.finish();
  CHECK(hashes.meets("a/x.jpg"));
  CHECK_FALSE(hashes.meets("b/x.jpg"));
  for (const bool folds_case : {false, true}) {
    PathClaims claims(hashes, folds_case);
    std::set<std::string> given;
    for (const std::string& path : paths) {
      const std::string claimed = claims.claim(path, {}, "s.tar", [](const PathClaim&) { return false; });
      CHECK(given.insert(folds_case ? folded(claimed) : claimed).second);
      if (!folds_case) CHECK(claimed == path);
    }
  }
  CHECK(folded("\xff\xc3") == "\xff\xc3");
}

TEST_CASE("a damaged shard, and content that is not what its index says, is an error") {
  ShardFolder folder;
  folder.write("shards/s.tar", good_samples(3).bytes().substr(0, 2562));
  CHECK_THROWS_WITH_AS(extract_to(folder.path("shards"), folder.path("out")), doctest::Contains("s.tar"), Error);
  CHECK_FALSE(fs::exists(folder.path("out")));

  ShardFolder other;
  other.write("s.tar", good_samples(3));
  index_folder(other);
  other.flip("s.tar", 512);
  CHECK_THROWS_WITH_AS(extract_to(other.path(), folder.path("out")), doctest::Contains("differs from the checksum"),
                       Error);
  CHECK(tree_content(folder.path("out")).empty());
}

TEST_CASE("a second extract into the same folder is refused while the first is at work") {
  ShardFolder folder;
  fs::create_directories(folder.path("out/.shardkit"));
  const auto files = posix_file_system();
  const std::string lock = folder.path("out/.shardkit/extract.lock");
  const auto held = files->create(lock, lock);
  CHECK_THROWS_WITH_AS(extract_archive(folder, TarBuilder().file("k.jpg", "i").end()),
                       doctest::Contains("another extract"), Error);
}

TEST_CASE("a stop ends it") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(3));
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK_THROWS_AS(extract({.shards = {folder.path()}, .target = folder.path("out"), .threads = {}}, context), Error);
}
