#include <filesystem>
#include <map>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/convert/convert_support.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/plan/plan.hpp"
#include "dataset/verify/verify.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "support/files.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::io;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

/// A flat pool of images 0.jpg to 29.jpg and a table that speaks of them.
struct Pool {
  TempDir dir;

  Pool() {
    for (int i = 0; i < 30; ++i) write_file(image(i), fake_jpeg(std::string(static_cast<std::size_t>(97 + i), 'x')));
  }
  std::string image(int i) const { return dir.path("src/pool/" + std::to_string(i) + ".jpg"); }
  std::string table(const char* name, const std::string& text) const {
    write_file(dir.path(name), text);
    return dir.path(name);
  }
  /// A list that gives image i the label i modulo 3 as "c<label>", or as the number.
  std::string list(bool numbers = false) const {
    std::string text = "path,label\n";
    for (int i = 29; i >= 0; --i) text += fmt_row(i, numbers ? std::to_string(i % 3) : "c" + std::to_string(i % 3));
    return table("list.csv", text);
  }
  ConvertOptions options(const std::string& list_file) const {
    ConvertOptions options;
    options.source = dir.path("src");
    options.target = dir.path("out");
    options.sharding.samples = 10;
    options.sharding.images.list = list_file;
    options.sharding.images.label_column = "label";
    return options;
  }
  Manifest manifest() const {
    const std::string path = dir.path("out/manifest.json");
    return read_manifest(read_file(path), path);
  }
  struct Sample {
    std::optional<std::uint64_t> label;
    std::string key;
    std::map<std::string, std::string> members;
  };
  /// The samples of the output by original path, with the members' bytes.
  std::map<std::string, Sample> samples() const {
    std::map<std::string, Sample> found;
    for (const ManifestShard& shard : manifest().shards) {
      const std::string tar = read_file(dir.path("out/" + shard.name));
      const std::string path = dir.path("out/" + shard_index_path(shard.name));
      FileSource index(path);
      ShardIndexVisitor visitor;
      visitor.sample = [&](IndexSample&& sample) {
        Sample& entry = found[sample.path];
        entry.label = sample.label;
        entry.key = sample.key;
        for (const IndexMember& member : sample.members) {
          entry.members[member.extension] = tar.substr(member.offset, member.size);
        }
      };
      read_shard_index(index, path, visitor);
    }
    return found;
  }

 private:
  static std::string fmt_row(int i, const std::string& label) {
    return "pool/" + std::to_string(i) + ".jpg," + label + "\n";
  }
};

}  // namespace

TEST_CASE("a list's images become samples with the list's labels, wherever they lie") {
  const Pool pool;
  CHECK(run(pool.options(pool.list())).samples == 30);
  const auto samples = pool.samples();
  CHECK(samples.size() == 30);
  const Pool::Sample& sample = samples.at("pool/7.jpg");
  CHECK(sample.label == 1);
  CHECK(sample.key == "c1/pool/7");
  CHECK(sample.members.at("cls") == "1");
  CHECK(sample.members.at("jpg") == read_file(pool.image(7)));
  CHECK(pool.manifest().classes == std::vector<ManifestClass>{{"c0", 0, 10}, {"c1", 1, 10}, {"c2", 2, 10}});
}

TEST_CASE("numbers in a list are the labels, and a class map numbers names") {
  const Pool numbers;
  run(numbers.options(numbers.list(true)));
  CHECK(numbers.samples().at("pool/5.jpg").label == 2);
  CHECK(numbers.samples().at("pool/5.jpg").key == "2/pool/5");
  const Pool mapped;
  ConvertOptions options = mapped.options(mapped.list());
  options.sharding.class_map = mapped.table("map.json", R"({"c0": 7, "c1": 8, "c2": 9})");
  run(options);
  CHECK(mapped.samples().at("pool/5.jpg").label == 9);
  const Pool joined;
  options = joined.options(joined.table("l.csv", "path,label\npool/5.jpg,wolf\npool/5.jpg,dog\npool/6.jpg,cat\n"));
  options.sharding.class_map = joined.table("map.json", R"({"cat": 0, "dog": 1, "wolf": 1})");
  run(options);
  CHECK(joined.samples().at("pool/5.jpg").label == 1);
  CHECK(joined.samples().at("pool/5.jpg").members.at("cls") == "1");
  VerifyOptions checking;
  checking.shards = {options.target};
  checking.against = options.source;
  checking.images = options.sharding.images;
  Context context;
  CHECK(verify(checking, context).errors == 0);
}

TEST_CASE("without a label column samples have no .cls and the manifest no classes") {
  const Pool pool;
  ConvertOptions options = pool.options(pool.list());
  options.sharding.images.label_column.clear();
  run(options);
  const Pool::Sample sample = pool.samples().at("pool/7.jpg");
  CHECK(!sample.label);
  CHECK(sample.key == "pool/7");
  CHECK(sample.members.size() == 1);
  CHECK(pool.manifest().classes.empty());
}

TEST_CASE("several labels go into the .json, and there is no .cls") {
  const Pool pool;
  const std::string list = pool.table("l.jsonl", R"({"path":"pool/1.jpg","label":["cat","dog"]})"
                                                 "\n"
                                                 R"({"path":"pool/2.jpg","label":[]})"
                                                 "\n");
  run(pool.options(list));
  const Pool::Sample sample = pool.samples().at("pool/1.jpg");
  CHECK(sample.members.at("json") == R"({"label":["cat","dog"]})");
  CHECK(!sample.members.contains("cls"));
}

TEST_CASE("metadata becomes each sample's .json, in trees and in lists") {
  const Pool pool;
  std::string rows = "path,width\n";
  for (int i = 0; i < 30; ++i) rows += "pool/" + std::to_string(i) + ".jpg," + std::to_string(i * 2) + "\n";
  ConvertOptions options = pool.options(pool.list());
  options.sharding.metadata = pool.table("m.csv", rows);
  run(options);
  CHECK(pool.samples().at("pool/7.jpg").members.at("json") == R"({"width":"14"})");
  rows.replace(rows.find("7.jpg,14"), 8, "7.jpg,15");
  options.sharding.metadata = pool.table("m.csv", rows);
  CHECK(contains(refusal(options, ErrorCode::conflict), "the .json of 'pool/7.jpg' is different"));
  options.target = pool.dir.path("tree");
  options.sharding.images = {};
  run(options);
  CHECK(tree_content(pool.dir.path("tree")).size() > 3);
}

TEST_CASE("an image without a row of metadata stops the convert, is left out, or goes without") {
  const Pool pool;
  std::string rows = "path,width\n";
  for (int i = 1; i < 30; ++i) rows += "pool/" + std::to_string(i) + ".jpg,1\n";
  ConvertOptions options = pool.options(pool.list());
  options.sharding.metadata = pool.table("m.csv", rows + "pool/none.jpg,1\n");
  CHECK(contains(refusal(options, ErrorCode::corrupt), "pool/0.jpg' has no row"));
  options.sharding.on_bad = OnBad::skip;
  Context context;
  const ConvertResult result = convert(options, context);
  CHECK(result.samples == 29);
  CHECK(result.skipped_files.at(0).path == "pool/0.jpg");
  CHECK(context.warnings().at(0).code == "metadata_rows_unused");
  CHECK(contains(context.warnings().at(0).text, "line 31"));
  CHECK(pool.manifest().classes.at(0) == ManifestClass{"c0", 0, 9});

  const Pool kept;
  options = kept.options(kept.list());
  options.sharding.metadata = kept.table("m.csv", rows);
  options.sharding.on_bad = OnBad::keep;
  Context keeping;
  CHECK(convert(options, keeping).samples == 30);
  CHECK(keeping.warnings().at(0).code == "images_without_metadata");
  CHECK(contains(keeping.warnings().at(0).text, "1 image without a row"));
  CHECK(!kept.samples().at("pool/0.jpg").members.contains("json"));
}

TEST_CASE("a .json beside an image and a row for it contradict each other") {
  const Pool pool;
  write_file(pool.dir.path("src/pool/3.json"), "{}");
  ConvertOptions options = pool.options("");
  options.sharding.images = {};
  options.sharding.metadata = pool.table("m.csv", "path,w\npool/3.jpg,1\n");
  CHECK(contains(refusal(options, ErrorCode::conflict), "would both be the sample's .json"));
}

TEST_CASE("a listed image whose file has another Unicode form, or a list with backslashes, is answered with the file") {
  for (const auto& [listed, file] : {std::pair{"pool/caf\u00e9.jpg", "pool/cafe\u0301.jpg"},
                                     {"pool\\0.jpg", "pool/0.jpg"},
                                     {"\ud55c\uae00/x.jpg", "\u1112\u1161\u11ab\u1100\u1173\u11af/x.jpg"}}) {
    const Pool pool;
    write_file(pool.dir.path(std::string("src/") + file), fake_jpeg());
    ConvertOptions options =
        pool.options(pool.table("list.csv", fmt::format("path,label\n{},1\npool/1.jpg,2\n", listed)));
    CHECK(contains(refusal(options, ErrorCode::not_found), fmt::format(": '{}'; write its name", file).c_str()));
    pool.table("list.csv", fmt::format("path,label\n{},1\npool/1.jpg,2\n", file));
    CHECK(run(options).samples == 2);
  }
}

TEST_CASE("classes whose names look equal are warned of") {
  const Pool pool;
  Context context;
  convert(pool.options(pool.table("list.csv",
                                  "path,label\npool/1.jpg,Cat\npool/2.jpg,cat\npool/3.jpg,caf\u00e9\n"
                                  "pool/4.jpg,cafe\u0301\npool/5.jpg,caf\u00e8\n")),
          context);
  REQUIRE(context.warnings().size() == 2);
  for (const Finding& warning : context.warnings()) CHECK(warning.code == "classes_alike");
}

TEST_CASE("COCO's annotations become each image's .json, and images that are missing are an error") {
  const Pool pool;
  ConvertOptions options = pool.options("");
  options.sharding.images = {};
  options.sharding.unlabeled = true;
  options.source = pool.dir.path("src/pool");
  std::string images = R"({"id":99,"file_name":"99.jpg"})";
  for (int i = 0; i < 30; ++i) images += fmt::format(R"(,{{"id":{0},"file_name":"{0}.jpg"}})", i);
  options.sharding.metadata =
      pool.table("instances.json",
                 fmt::format(R"({{"images":[{}],"annotations":[{{"image_id":3,"category_id":1,"bbox":[1,2,3,4]}}],
                                        "categories":[{{"id":1,"name":"dog"}}]}})",
                             images));
  CHECK(contains(refusal(options, ErrorCode::not_found), "1 image of"));
  CHECK_FALSE(fs::exists(pool.dir.path("out")));
  options.sharding.on_bad = OnBad::skip;
  run(options);
  CHECK(pool.samples().at("3.jpg").members.at("json") ==
        R"({"id":3,"annotations":[{"category_id":1,"category":"dog","bbox":[1,2,3,4]}]})");
  CHECK(pool.samples().size() == 30);
}

TEST_CASE("the list's rows may come in any order: the shards are the same bytes") {
  const Pool pool;
  ConvertOptions options = pool.options(pool.list());
  run(options);
  std::string text = "label,path\n";
  for (int i = 0; i < 30; ++i) text += "c" + std::to_string(i % 3) + ",pool/" + std::to_string(i) + ".jpg\n";
  options.sharding.images.list = pool.table("other.csv", text);
  options.target = pool.dir.path("again");
  run(options);
  CHECK(tree_content(pool.dir.path("again")) == tree_content(pool.dir.path("out")));
}

TEST_CASE("a list works through a plan, in parts, and resumes; other labels are refused") {
  const Pool pool;
  ConvertOptions options = pool.options(pool.list());
  run(options);
  PlanOptions planning;
  planning.source = options.source;
  planning.output = pool.dir.path("plan");
  planning.sharding = options.sharding;
  Context context;
  plan(planning, context);
  ConvertOptions part;
  part.source = options.source;
  part.target = pool.dir.path("parts");
  part.plan = planning.output;
  for (const char* which : {"0/2", "1/2"}) {
    part.part = which;
    run(part);
  }
  merge({part.target, false}, context);
  CHECK(tree_content(part.target) == tree_content(options.target));
  part.sharding.images.path_column = "file";
  CHECK(contains(refusal(part, ErrorCode::usage), "give --path-column file to `shardctl plan`"));

  CHECK(run(options).shards_reused == 3);
  options.sharding.images.list = pool.list(true);
  CHECK(contains(refusal(options, ErrorCode::conflict), "class '0' is new"));
}

TEST_CASE("a change in a list of numbers is found by number, not by text") {
  const Pool pool;
  ConvertOptions options = pool.options(pool.table("l.csv", "path,label\npool/1.jpg,2\npool/2.jpg,10\n"));
  run(options);
  pool.table("l.csv", "path,label\npool/1.jpg,2\npool/2.jpg,10\npool/3.jpg,3\n");
  CHECK(contains(refusal(options, ErrorCode::conflict), "class '3' is new"));
  pool.table("l.csv", "path,label\npool/1.jpg,2\n");
  CHECK(contains(refusal(options, ErrorCode::conflict), "class '10' no longer exists"));
}

TEST_CASE("a listed image that is not there, or fails validation, is left out and its class counted right") {
  const Pool pool;
  fs::remove(pool.image(4));
  ConvertOptions options = pool.options(pool.list());
  CHECK(contains(refusal(options, ErrorCode::not_found), "4.jpg"));
  options.target = pool.dir.path("skipping");
  options.sharding.on_bad = OnBad::skip;
  options.sharding.max_bad = "100%";
  options.sharding.validate = Validate::header;  // none is an image but this:
  write_file(pool.image(5), std::string("P5\n2 2\n255\nabcd"));
  CHECK(run(options).samples == 1);
  const std::string path = options.target + "/manifest.json";
  const Manifest manifest = read_manifest(read_file(path), path);
  std::uint64_t counted = 0;
  for (const ManifestClass& item : manifest.classes) counted += item.samples;
  CHECK(counted == manifest.samples);
}

TEST_CASE("a list splits by --split as a tree does") {
  const Pool pool;
  ConvertOptions options = pool.options(pool.list());
  options.split = {"train=0.5", "val=0.5"};
  const ConvertResult result = run(options);
  CHECK(result.sets[0].samples > 5);
  CHECK(result.sets[1].samples > 5);
  CHECK(result.samples == 30);
}

TEST_CASE("options that need a list are refused without one") {
  const Pool pool;
  ConvertOptions options = pool.options("");
  CHECK(contains(refusal(options, ErrorCode::usage), "needs --list"));
  options = pool.options(pool.list());
  options.sharding.images.label_column.clear();
  options.sharding.class_map = pool.table("classes.txt", "c0\nc1\n");
  CHECK(contains(refusal(options, ErrorCode::usage), "--class-map needs --label-column"));
  options = pool.options("");
  options.sharding.images.label_column.clear();
  options.sharding.images.path_column = "file";
  CHECK(contains(refusal(options, ErrorCode::usage), "needs --list or --metadata"));
}

TEST_CASE("a .json too long for a plan is refused with a way out") {
  const Pool pool;
  ConvertOptions options = pool.options("");
  options.sharding.images = {};
  options.sharding.on_bad = OnBad::keep;
  options.sharding.metadata = pool.table("m.csv", "path,w\npool/3.jpg," + std::string(500'000, 'x') + "\n");
  CHECK(
      contains(refusal(options, ErrorCode::unsupported), "500,008 bytes, but a plan stores at most 400,000; put such"));
}
