#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/convert/convert_support.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/plan/plan.hpp"
#include "dataset/reshard/reshard.hpp"
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

struct Fixture {
  TempDir dir;
  ImageTree tree{dir.path("src")};

  ConvertOptions options(const std::string& target) const {
    ConvertOptions options;
    options.source = tree.root;
    options.target = dir.path(target);
    options.sharding.samples = 25;
    return options;
  }
  Manifest manifest(const std::string& folder) const {
    const std::string path = dir.path(folder + "/manifest.json");
    return read_manifest(read_file(path), path);
  }
  /// Labels of the samples in a folder of shards, by original path.
  std::map<std::string, std::uint64_t> samples(const std::string& folder) const {
    std::map<std::string, std::uint64_t> found;
    for (const ManifestShard& shard : manifest(folder).shards) {
      const std::string path = dir.path(folder + "/" + shard_index_path(shard.name));
      FileSource index(path);
      ShardIndexVisitor visitor;
      visitor.sample = [&](IndexSample&& sample) { found.emplace(sample.path, sample.label.value()); };
      read_shard_index(index, path, visitor);
    }
    return found;
  }
};

}  // namespace

TEST_CASE("--split divides the samples among folders with a manifest each, every sample once") {
  Fixture f;
  f.tree.make();
  ConvertOptions options = f.options("out");
  options.split = {"train=0.75", "val=0.25"};
  const ConvertResult result = run(options);
  CHECK(result.samples == 120);
  CHECK(result.sets.size() == 2);
  CHECK(result.sets[0].name == "train");
  const std::uint64_t in_train = result.sets[0].samples;
  CHECK(result.sets[1].samples == 120 - in_train);
  CHECK(std::abs(static_cast<double>(in_train) - 90) < 25);  // five deviations
  CHECK(result.manifest.empty());
  auto all = f.samples("out/train");
  CHECK(all.size() == in_train);
  all.merge(f.samples("out/val"));
  CHECK(all.size() == 120);
  for (const auto& [path, label] : all) CHECK(path.substr(6, 1) == std::to_string(label));
  CHECK(f.manifest("out/val").options.at("set") == "val");
  std::uint64_t counted = 0;
  for (const ManifestClass& item : f.manifest("out/train").classes) counted += item.samples;
  CHECK(counted == in_train);
}

TEST_CASE("a split that moves samples of small classes into the first set loses none, whatever the order and groups") {
  Fixture f;
  f.tree.classes = 40;
  f.tree.per_class = 2;
  f.tree.make();
  ConvertOptions options = f.options("out");
  options.sharding.samples = 7;
  options.split = {"train=0.4", "val=0.3", "test=0.3"};
  SUBCASE("shuffled") {}
  SUBCASE("in the order of the source") { options.sharding.no_shuffle = true; }
  SUBCASE("by groups") { options.group_by = "key:(class_[0-9]+/img_00[0-9])"; }
  SUBCASE("with another seed") { options.seed = 3; }
  Context context;
  CHECK(convert(options, context).samples == 80);
  REQUIRE_FALSE(context.warnings().empty());
  CHECK(context.warnings()[0].code == "class_without_training_sample");

  std::map<std::string, std::uint64_t> all;
  std::size_t samples = 0;
  for (const char* set : {"out/train", "out/val", "out/test"}) {
    const auto found = f.samples(set);
    const Manifest manifest = f.manifest(set);
    CHECK(manifest.samples == found.size());
    for (const ManifestClass& item : manifest.classes) {
      CHECK(item.samples == static_cast<std::uint64_t>(std::ranges::count_if(
                                found, [&](const auto& sample) { return sample.first.starts_with(item.name + "/"); })));
      if (set == std::string("out/train")) CHECK(item.samples > 0);
    }
    samples += found.size();
    all.insert(found.begin(), found.end());
  }
  CHECK(samples == 80);
  CHECK(all.size() == 80);
}

TEST_CASE("where a sample goes does not change with the order, and changes with the seed") {
  Fixture f;
  f.tree.make();
  const auto train_of = [&](const char* target, std::uint64_t shuffle, std::uint64_t seed) {
    ConvertOptions options = f.options(target);
    options.split = {"train=0.75", "val=0.25"};
    options.sharding.shuffle = shuffle;
    options.seed = seed;
    run(options);
    return f.samples(std::string(target) + "/train");
  };
  const auto expected = train_of("a", 0, 0);
  CHECK(train_of("b", 7, 0) == expected);
  CHECK(train_of("c", 0, 7) != expected);
}

TEST_CASE("images that are added move none of those that were there") {
  Fixture f;
  f.tree.make();
  const auto val_of = [&](const char* target) {
    ConvertOptions options = f.options(target);
    options.split = {"train=0.75", "val=0.25"};
    run(options);
    return f.samples(std::string(target) + "/val");
  };
  const auto before = val_of("before");
  write_file(f.tree.root + "/class_0/added.jpg", fake_jpeg());
  auto after = val_of("after");
  after.erase("class_0/added.jpg");
  CHECK(after == before);
}

TEST_CASE("images of a folder, of a part of the key or of a value in a table stay in one set") {
  Fixture f;
  std::string table = "path,patient\n";
  for (int clip = 0; clip < 30; ++clip) {
    for (int frame = 0; frame < 3; ++frame) {
      const std::string path = fmt::format("walk/clip{}/p{}_f{}.jpg", clip, clip % 10, frame + 3 * clip);
      write_file(f.tree.root + "/" + path, fake_jpeg());
      table += fmt::format("{},{}\n", path, clip % 10);
    }
  }
  write_file(f.dir.path("rows.csv"), table);
  const auto sets_of = [&](const char* target, const std::string& by) {
    ConvertOptions options = f.options(target);
    options.split = {"train=0.5", "val=0.5"};
    options.group_by = by;
    if (by.starts_with("column")) options.sharding.metadata = f.dir.path("rows.csv");
    run(options);
    std::map<std::string, std::set<std::string>> sets;  // of a clip, and of a patient
    for (const char* set : {"train", "val"}) {
      for (const auto& [path, label] : f.samples(fmt::format("{}/{}", target, set))) {
        sets[path.substr(0, path.rfind('/'))].insert(set);
        sets[path.substr(path.rfind('/') + 1, 2)].insert(set);
      }
    }
    return sets;
  };
  for (const auto& [name, sets] : sets_of("dir", "dir")) CHECK((name.size() == 2 || sets.size() == 1));
  for (const char* by : {"key:(p[0-9])_", "column:patient"}) {
    const auto sets = sets_of(by, by);
    CHECK(sets.size() == 40);
    for (const auto& [name, of_name] : sets) CHECK(of_name.size() == 1);
  }
  ConvertOptions options = f.options("none");
  options.split = {"train=0.5", "val=0.5"};
  options.group_by = "column:patient";
  CHECK(contains(refusal(options, ErrorCode::usage), "--metadata"));
}

TEST_CASE("a group by the folder is one group in all classes, and in no folder that of the class") {
  Fixture f;
  for (const char* name : {"sick", "well"}) {
    for (int patient = 0; patient < 20; ++patient)
      write_file(fmt::format("{}/{}/p{}/{}.jpg", f.tree.root, name, patient, name), fake_jpeg());
  }
  write_file(f.tree.root + "/sick/alone.jpg", fake_jpeg());
  ConvertOptions options = f.options("out");
  options.split = {"train=0.5", "val=0.5"};
  options.group_by = "dir";
  run(options);
  ReshardOptions again;
  again.inputs = {f.dir.path("out/train"), f.dir.path("out/val")};
  again.target = f.dir.path("again");
  again.split = options.split;
  again.group_by = "dir";
  Context context;
  reshard(again, context);
  for (const char* target : {"out", "again"}) {
    std::map<std::string, std::set<std::string>> sets;
    for (const char* set : {"train", "val"}) {
      for (const auto& [path, label] : f.samples(fmt::format("{}/{}", target, set)))
        sets[path.substr(path.find('/'), path.rfind('/') - path.find('/'))].insert(set);
    }
    CHECK(sets.size() == 21);  // with the class of a file in no folder
    for (const auto& [patient, of_patient] : sets) CHECK(of_patient.size() == 1);
  }
}

TEST_CASE("warnings of two sets are two, and each says of which") {
  Fixture f;
  for (const char* set : {"train", "val"}) {
    for (const char* name : {"1", "2"})
      write_file(fmt::format("{}/{}/cat/{}.jpg", f.tree.root, set, name), fake_jpeg());
    write_file(fmt::format("{}/{}/cat/1_mask.png", f.tree.root, set), "png");
  }
  ConvertOptions options = f.options("out");
  options.sharding.sidecars = {"_mask.png"};
  options.sharding.validate = Validate::none;
  Context context;
  convert(options, context);
  std::vector<std::string> texts;
  for (const Finding& warning : context.warnings()) {
    if (warning.code == "sidecar_missing") texts.push_back(warning.text);
  }
  CHECK(texts == std::vector<std::string>{"set 'train': 1 sample without a file for --sidecar _mask.png",
                                          "set 'val': 1 sample without a file for --sidecar _mask.png"});
}

TEST_CASE("images whose cell of the group's column is empty are each a group of their own") {
  Fixture f;
  std::string table = "path,clip\n";
  for (int i = 0; i < 60; ++i) {
    write_file(fmt::format("{}/walk/{}.jpg", f.tree.root, i), fake_jpeg());
    table += fmt::format("walk/{}.jpg,\n", i);
  }
  write_file(f.dir.path("rows.csv"), table);
  ConvertOptions options = f.options("out");
  options.split = {"train=0.5", "val=0.5"};
  options.group_by = "column:clip";
  options.sharding.metadata = f.dir.path("rows.csv");
  run(options);
  CHECK(f.samples("out/train").size() > 15);
  CHECK(f.samples("out/val").size() > 15);
}

TEST_CASE("a group by the key sees keys as they were before they were cut") {
  Fixture f;
  const std::string name(90, 'n');
  for (int i = 0; i < 60; ++i)
    write_file(fmt::format("{}/walk/{}_{}_clip{}.jpg", f.tree.root, name, i, i % 4), fake_jpeg());
  ConvertOptions options = f.options("out");
  options.split = {"train=0.5", "val=0.5"};
  options.group_by = "key:(clip[0-9]|img)";
  run(options);
  std::map<std::string, std::set<std::string>> sets;
  for (const char* set : {"train", "val"}) {
    for (const auto& [path, label] : f.samples(fmt::format("out/{}", set))) {
      if (path.starts_with("walk")) sets[path.substr(path.find("clip"))].insert(set);
    }
  }
  CHECK(sets.size() == 4);
  for (const auto& [clip, of_clip] : sets) CHECK(of_clip.size() == 1);
}

TEST_CASE("a split works in parts, resumes, and refuses other ratios") {
  Fixture f;
  f.tree.make();
  ConvertOptions options = f.options("whole");
  options.split = {"train=0.75", "val=0.25"};
  run(options);
  options.target = f.dir.path("parts");
  for (const char* part : {"1/2", "0/2"}) {
    options.part = part;
    run(options);
  }
  Context context;
  for (const char* set : {"/train", "/val"}) {
    merge({f.dir.path("parts") + set, false}, context);
    CHECK(tree_content(f.dir.path("parts") + set) == tree_content(f.dir.path("whole") + set));
  }
  options = f.options("whole");
  options.split = {"train=0.75", "val=0.25"};
  CHECK(run(options).shards_reused == 6);
  options.split = {"train=0.5", "val=0.5"};
  CHECK(contains(refusal(options, ErrorCode::conflict), "used --split train=0.75,val=0.25"));
}

TEST_CASE("several sets do not go into the folder of one") {
  Fixture f;
  f.tree.make();
  ConvertOptions options = f.options("out");
  run(options);
  options.split = {"train=0.75", "val=0.25"};
  CHECK(contains(refusal(options, ErrorCode::conflict), "choose another folder for several sets"));
  CHECK(!fs::exists(f.dir.path("out/train")));
}

TEST_CASE("a skipped file of a split is counted once") {
  Fixture f;
  f.tree.make();
  fs::create_symlink("nowhere", f.tree.root + "/class_0/zz.jpg");
  ConvertOptions options = f.options("out");
  options.split = {"train=0.75", "val=0.25"};
  options.sharding.on_bad = OnBad::skip;
  const ConvertResult result = run(options);
  CHECK(result.skipped == 1);
  CHECK(result.skipped_files.at(0).path == "class_0/zz.jpg");
  CHECK(result.samples == 120);
}

TEST_CASE("options of a split that make no sense are refused before anything is written") {
  Fixture f;
  f.tree.make();
  ConvertOptions options = f.options("out");
  options.seed = 3;
  CHECK(contains(refusal(options, ErrorCode::usage), "--shuffle SEED"));
  options = f.options("out");
  options.split = {"train=0.75"};
  CHECK(contains(refusal(options, ErrorCode::usage), "add up to 0.75"));
  options.split = {"train=0.999999", "val=0.000001"};
  CHECK(contains(refusal(options, ErrorCode::not_found), "no sample would go to 'val'"));
  CHECK(!fs::exists(f.dir.path("out/train/.shardkit/plan")));
}

TEST_CASE("train and val folders become sets of their own, with one label for a class in both") {
  Fixture f;
  f.tree.root = f.dir.path("src/train");
  f.tree.make();
  for (const char* path : {"class_1/a.jpg", "class_2/b.jpg"})
    write_file(f.dir.path("src/val/" + std::string(path)), fake_jpeg());
  ConvertOptions options = f.options("out");
  options.source = f.dir.path("src");
  Context context;
  const ConvertResult result = convert(options, context);
  CHECK(result.samples == 122);
  CHECK(f.samples("out/train").size() == 120);
  CHECK(f.samples("out/val") == std::map<std::string, std::uint64_t>{{"class_1/a.jpg", 1}, {"class_2/b.jpg", 2}});
  CHECK(context.warnings().at(0).code == "set_lacks_classes");

  options.split = {"a=0.5", "b=0.5"};
  CHECK(contains(refusal(options, ErrorCode::usage), "already divided into train, val"));

  PlanOptions planning;
  planning.source = options.source;
  planning.output = f.dir.path("plan");
  CHECK_THROWS_WITH_AS(plan(planning, context), doctest::Contains("a plan is for one set"), Error);
}

TEST_CASE("folders named by numbers, and a source with one folder, are warned of; a class map lists all its classes") {
  const TempDir dir;
  ConvertOptions options;
  options.source = dir.path("src");
  const auto warnings = [&](std::initializer_list<const char*> folders) {
    fs::remove_all(dir.path("src"));
    fs::remove_all(dir.path("out"));
    options.target = dir.path("out");
    for (const char* folder : folders) write_file(dir.path(fmt::format("src/{}/1.jpg", folder)), fake_jpeg(folder));
    Context context;
    convert(options, context);
    std::set<std::string> codes;
    for (const Finding& warning : context.warnings()) codes.insert(warning.code);
    return codes;
  };
  CHECK(warnings({"0", "1", "10", "2"}) == std::set<std::string>{"labels_differ_from_names"});
  CHECK(warnings({"1", "2"}) == std::set<std::string>{"labels_differ_from_names"});
  CHECK(warnings({"0", "1"}).empty());
  CHECK(warnings({"0", "x"}).empty());
  CHECK(warnings({"imgs/cat", "imgs/dog"}) == std::set<std::string>{"one_class"});
  write_file(dir.path("map.json"), R"({"0": 0, "1": 1, "2": 2, "10": 10, "imgs": 3})");
  options.sharding.class_map = dir.path("map.json");
  CHECK(warnings({"1", "10"}).empty());
  const std::string path = dir.path("out/manifest.json");
  CHECK(read_manifest(read_file(path), path).classes.size() == 5);
  options.sharding.class_map.clear();
  options.sharding.sidecars = {".seg.png"};
  CHECK(contains(refusal(options, ErrorCode::not_found), "--sidecar '.seg.png' matches no file"));
  options.sharding.sidecars = {"_mask"};
  CHECK(contains(refusal(options, ErrorCode::usage), "ends with an extension"));
}

TEST_CASE("files skipped in a set are named below the source") {
  Fixture f;
  f.tree.root = f.dir.path("src/train");
  f.tree.make();
  write_file(f.dir.path("src/val/class_1/a.jpg"), fake_jpeg());
  fs::create_symlink("nowhere", f.dir.path("src/val/class_1/b.jpg"));
  ConvertOptions options = f.options("out");
  options.source = f.dir.path("src");
  options.sharding.on_bad = OnBad::skip;
  CHECK(run(options).skipped_files.at(0).path == "val/class_1/b.jpg");
}
