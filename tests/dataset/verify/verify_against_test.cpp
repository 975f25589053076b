#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/image_samples.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/verify/verify.hpp"
#include "formats/manifest.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using shardkit::test::make_jpeg;
namespace fs = std::filesystem;

/// verify --against for what convert makes of other sources than a plain tree.
namespace {

struct Source {
  TempDir dir;
  ConvertOptions options;

  Source() {
    for (const char* path : {"a/1.jpg", "a/2.jpg", "b/3.jpg", "b/4.jpg"}) write(path, make_jpeg());
    options.source = dir.path("src");
    options.target = dir.path("out");
  }
  void write(const std::string& path, const std::string& content) const {
    write_file(dir.path("src/" + path), content);
  }
  std::string table(const char* name, const std::string& text) const {
    write_file(dir.path(name), text);
    return dir.path(name);
  }
  void convert() const {
    Context context;
    shardkit::dataset::convert(options, context);
  }
  VerifyResult verify(const std::vector<std::string>& folders = {"out"}) const {
    VerifyOptions checking;
    for (const std::string& folder : folders) checking.shards.push_back(dir.path(folder));
    checking.against = options.source;
    checking.images = options.sharding.images;
    Context context;
    return shardkit::dataset::verify(checking, context);
  }
};

std::string codes(const VerifyResult& result) {
  std::string text;
  for (const Problem& problem : result.problems) text += problem.code + " " + problem.key + ";";
  return text;
}

bool checked(const VerifyResult& result, const char* text) {
  return result.checked.back().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("shards of a list are held against its images and labels") {
  Source source;
  source.options.sharding.images.list = source.table("l.csv", "path,label\na/1.jpg,1\nb/3.jpg,0\nb/4.jpg,0\n");
  source.options.sharding.images.label_column = "label";
  source.convert();
  CHECK(codes(source.verify()).empty());
  source.table("l.csv", "path,label\na/1.jpg,1\na/2.jpg,1\nb/3.jpg,0\nb/4.jpg,0\n");
  CHECK(codes(source.verify()) == "missing_from_shards a/2.jpg;");
  source.options.sharding.images = {};
  CHECK_THROWS_WITH_AS(source.verify(), doctest::Contains("made from a list"), Error);
}

TEST_CASE("of a list without labels, and of metadata, what lies in files is compared") {
  Source source;
  source.options.sharding.images.list = source.table("l.csv", "path\na/1.jpg\nb/3.jpg\n");
  source.options.sharding.metadata = source.table("m.csv", "path,w\na/1.jpg,5\nb/3.jpg,6\n");
  source.convert();
  const VerifyResult sound = source.verify();
  CHECK(codes(sound).empty());
  CHECK(checked(sound, "without .json members that contain rows of tables"));
  std::string changed = make_jpeg();
  changed.back() = 'x';
  source.write("b/3.jpg", changed);
  CHECK(codes(source.verify()) == "differs_from_source b/3.jpg;");
}

TEST_CASE("of resized images the labels are compared, and whether all are there") {
  Source source;
  source.write("a/2.txt", "a caption");
  source.options.sharding.resize = 16;
  source.convert();
  const VerifyResult sound = source.verify();
  CHECK(sound.errors == 0);
  CHECK(checked(sound, "resized"));
  source.write("a/2.txt", "A caption");
  source.write("c/5.jpg", make_jpeg());
  CHECK(codes(source.verify()).find("differs_from_source a/2.txt;") != std::string::npos);
  CHECK(codes(source.verify()).find("missing_from_shards c/5.jpg;") != std::string::npos);
}

TEST_CASE("one set of a split does not miss the images of the others") {
  Source source;
  source.options.split = {"train=0.5", "val=0.5"};
  source.convert();
  CHECK(codes(source.verify({"out/train"})).empty());
  CHECK(codes(source.verify({"out/val"})).empty());
  fs::remove(source.dir.path("src/a/1.jpg"));
  CHECK(codes(source.verify({"out/train"})) + codes(source.verify({"out/val"})) ==
        "not_in_source a/1.cls;not_in_source a/1.jpg;");
}

TEST_CASE("all sets of a split together are the source, by what their manifests say") {
  Source source;
  source.options.split = {"train=0.5", "val=0.5"};
  source.options.sharding.resize = 16;
  source.options.sharding.metadata = source.table("m.csv", "path,w\na/1.jpg,1\na/2.jpg,2\nb/3.jpg,3\nb/4.jpg,4\n");
  source.options.sharding.class_map = source.table("classes.json", R"({"a": 7, "b": 3})");
  source.convert();
  const VerifyResult sound = source.verify({"out/train", "out/val"});
  CHECK(sound.errors == 0);
  CHECK(checked(sound, "resized"));
  CHECK(!checked(sound, "other sets"));
  source.write("c/5.jpg", make_jpeg());
  CHECK(codes(source.verify({"out/val", "out/train"})).find("missing_from_shards c/5.jpg;") != std::string::npos);
}

TEST_CASE("a label that is the name of another image's folder does not confuse the two") {
  Source source;
  source.write("a/3.jpg", make_jpeg(40));
  source.options.sharding.images.list = source.table("l.csv", "path,label\nb/3.jpg,a\na/3.jpg,b\n");
  source.options.sharding.images.label_column = "label";
  source.convert();
  CHECK(codes(source.verify()).empty());
}

TEST_CASE("each of a source's own sets is held against its own folder") {
  Source source;
  fs::remove_all(source.options.source);
  for (const char* path : {"train/a/1.jpg", "train/b/2.jpg", "val/a/3.jpg"}) source.write(path, make_jpeg());
  source.convert();
  CHECK_THROWS_WITH_AS(source.verify({"out/train", "out/val"}), doctest::Contains("contains the sets train, val"),
                       Error);
  source.options.source = source.dir.path("src/val");
  CHECK(codes(source.verify({"out/val"})).empty());
}

TEST_CASE("files that cannot be read are not missed where convert left such out, and findings elsewhere") {
  Source source;
  source.options.sharding.images.list = source.table("l.csv", "path\na/1.jpg\ngone.jpg\n");
  source.options.sharding.on_bad = OnBad::skip;
  source.convert();
  const VerifyResult sound = source.verify();
  CHECK(codes(sound).empty());
  CHECK(checked(sound, "without 1 file that convert left out"));
  source.options.sharding.on_bad = OnBad::fail;
  source.options.target = source.dir.path("strict");
  source.options.sharding.images.list = source.table("l.csv", "path\na/1.jpg\n");
  source.convert();
  source.table("l.csv", "path\na/1.jpg\ngone.jpg\n");
  CHECK(codes(source.verify({"strict"})) == "differs_from_source gone.jpg;");
  source.options.sharding.images.list.clear();
  source.options.target = source.dir.path("tree");
  source.convert();
  fs::create_symlink("nowhere", source.dir.path("src/a/new.jpg"));
  CHECK(codes(source.verify({"tree"})) == "differs_from_source a/new.jpg;");
}

TEST_CASE("what a convert did to the samples is still known after a reshard") {
  Source source;
  source.write("a/2_note.txt", "a note");
  source.options.sharding.sidecars = {"_note.txt"};
  source.options.sharding.resize = 16;
  source.options.sharding.metadata = source.table("m.csv", "path,w\na/1.jpg,1\na/2.jpg,2\nb/3.jpg,3\nb/4.jpg,4\n");
  source.convert();
  ReshardOptions options;
  options.inputs = {source.options.target};
  options.target = source.dir.path("mixed");
  options.shuffle = 3;
  Context context;
  reshard(options, context);
  const VerifyResult result = source.verify({"mixed"});
  CHECK(result.errors == 0);
  CHECK(checked(result, "resized"));
}

TEST_CASE("fields in a manifest that are not a list of texts are an error that names it") {
  Source source;
  source.convert();
  const std::string path = source.dir.path("out/manifest.json");
  formats::Manifest manifest = formats::read_manifest(read_file(path), path);
  for (const char* fields : {"1", "[1]", "{\"a\":\"b\"}", "[\"a", "\"a\"", "null", ""}) {
    CAPTURE(fields);
    manifest.options["fields"] = fields;
    write_file(path, formats::write_manifest(manifest));
    CHECK_THROWS_WITH_AS(source.verify(), doctest::Contains("manifest.json': the option fields"), Error);
  }
}

TEST_CASE("a list without a source to compare with is refused") {
  Source source;
  source.convert();
  VerifyOptions options;
  options.shards = {source.options.target};
  options.images.list = source.table("l.csv", "path\n");
  Context context;
  CHECK_THROWS_WITH_AS(verify(options, context), doctest::Contains("--against"), Error);
}

TEST_CASE("samples are found by their paths in the index, whatever keys they got") {
  Source source;
  for (const char* path : {"a/x.jpg", "a/x.jpeg", "a/c d/5.jpg"}) source.write(path, make_jpeg());
  source.convert();
  ReshardOptions copying;
  copying.inputs = {source.dir.path("out")};
  copying.target = source.dir.path("copy");
  Context context;
  reshard(copying, context);
  CHECK(codes(source.verify({"copy"})).empty());
  std::string changed = make_jpeg();
  changed[20] ^= 1;
  source.write("a/x.jpeg", changed);
  const VerifyResult result = source.verify({"copy"});
  CHECK(codes(result) == "differs_from_source a/x~2Ejpeg.jpg;");
  CHECK(result.problems.front().text.find("byte 20 of it is the first") != std::string::npos);
}
