#include "dataset/reshard/reshard.hpp"

#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/image_samples.hpp"
#include "dataset/index/index.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/synth/synth.hpp"
#include "dataset/verify/verify.hpp"
#include "formats/manifest.hpp"
#include "reshard_support.hpp"
#include "support/image_tree.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::system;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

/// Two folders of foreign shards, "a" and "b", 25 samples in all.
struct Fixture {
  ShardFolder folder;

  Fixture() {
    folder.write("a/x-0.tar", numbered_samples(10, "a"));
    folder.write("a/x-1.tar", numbered_samples(8, "a", 10));
    folder.write("b/y.tar", numbered_samples(7, "b"));
  }
  ReshardOptions options(const std::string& target) const {
    ReshardOptions options;
    options.inputs = {folder.path("a"), folder.path("b")};
    options.target = folder.path(target);
    options.sizes.samples = 6;
    options.threads = 2;
    return options;
  }
  std::vector<ReadMember> input() const {
    std::vector<ReadMember> members = members_in(folder.path("a"));
    for (ReadMember& member : members_in(folder.path("b"))) members.push_back(std::move(member));
    return sorted(std::move(members));
  }
  std::vector<ReadMember> output(const std::string& target) const { return members_in(folder.path(target)); }
  std::map<std::string, std::string> content(const std::string& target) const {
    return tree_content(folder.path(target));
  }
  Manifest manifest(const std::string& target) const {
    const std::string path = folder.path(target + "/manifest.json");
    return read_manifest(read_file(path), path);
  }
};

std::uint64_t problems(const std::string& folder) {
  Context context;
  VerifyOptions options;
  options.shards = {folder};
  options.strict = true;
  return verify(options, context).problems_total;
}

}  // namespace

TEST_CASE("merging, splitting, shuffling and sorting keep every key, extension and byte") {
  const Fixture f;
  ReshardOptions merged = f.options("merged");
  merged.sizes = {};
  ReshardOptions split = f.options("split");
  split.sizes.samples = 1;
  ReshardOptions shuffled = f.options("shuffled");
  shuffled.shuffle = 3;
  ReshardOptions sorted_by_key = f.options("sorted");
  sorted_by_key.sort = true;
  for (const ReshardOptions& options : {merged, split, shuffled, sorted_by_key}) {
    CAPTURE(options.target);
    const ReshardResult result = run(options);
    CHECK(result.samples == 25);
    CHECK(result.skipped == 0);
    CHECK(result.renamed == 0);
    CHECK(sorted(members_in(options.target)) == f.input());
    CHECK(problems(options.target) == 0);
  }
  CHECK(run(merged).shards == 1);
  CHECK(run(split).shards == 25);
}

TEST_CASE("without an order the inputs' order stays; --sort is by key; --shuffle mixes all inputs") {
  const Fixture f;
  ReshardOptions options = f.options("plain");
  run(options);
  const std::vector<std::string> keys = keys_of(f.output("plain"));
  CHECK(std::ranges::is_sorted(keys));  // the inputs happen to be
  options = f.options("mixed");
  options.shuffle = 0;
  run(options);
  CHECK_FALSE(std::ranges::is_sorted(keys_of(f.output("mixed"))));
  options = f.options("sorted");
  options.inputs = {f.folder.path("mixed")};
  options.sort = true;
  run(options);
  CHECK(keys_of(f.output("sorted")) == keys);
}

TEST_CASE("the bytes are the same for 1, 2 and 7 threads and for 1 and 3 parts") {
  const Fixture f;
  ReshardOptions options = f.options("t1");
  options.shuffle = 9;
  options.threads = 1;
  run(options);
  for (const std::uint64_t threads : {2, 7}) {
    options.target = f.folder.path("t" + std::to_string(threads));
    options.threads = threads;
    run(options);
    CHECK(f.content("t" + std::to_string(threads)) == f.content("t1"));
  }
  options.target = f.folder.path("parts");
  for (const char* part : {"2/3", "0/3", "1/3"}) {
    options.part = part;
    run(options);
  }
  Context context;
  CHECK(merge({f.folder.path("parts"), false}, context).parts == 3);
  CHECK(f.content("parts") == f.content("t1"));
}

TEST_CASE("inputs that moved give the same shards and manifest") {
  const Fixture f;
  const Fixture g;
  run(f.options("out"));
  run(g.options("out"));
  for (const auto& [name, content] : f.content("out")) {
    if (name != ".shardkit/plan") CHECK(g.content("out").at(name) == content);
  }
}

TEST_CASE("shards are cut as convert cuts them") {
  const Fixture f;
  ReshardOptions options = f.options("four");
  options.sizes = {};
  options.sizes.shards = 4;
  options.sizes.name = "train";
  CHECK(run(options).shards == 4);
  CHECK(f.manifest("four").shards[0].name == "train-000000.tar");
  CHECK(f.manifest("four").shards[0].samples == 7);
  options = f.options("eight");
  options.sizes.multiple_of = 8;
  CHECK(run(options).shards == 8);
}

TEST_CASE("filters keep what all kinds of them let pass") {
  const Fixture f;
  int number = 0;
  const auto keys_with = [&](const auto& change) {
    ReshardOptions options = f.options(fmt::format("filtered{}", number++));
    change(options);
    const ReshardResult result = run(options);
    CHECK(result.samples + result.skipped == 25);
    return keys_of(members_in(options.target));
  };
  CHECK(keys_with([](auto& o) { o.keys = {"b*"}; }).size() == 7);
  CHECK(keys_with([](auto& o) { o.keys = {"b00[12]", "a?05"}; }) == std::vector<std::string>{"a005", "b001", "b002"});
  CHECK(keys_with([](auto& o) { o.classes = {"1"}; }).size() == 8);
  CHECK(keys_with([](auto& o) {
          o.classes = {"1", "2"};
          o.keys = {"a*"};
        }).size() == 12);
}

TEST_CASE("a class is named as the manifest names it, and its count follows the samples") {
  const Fixture f;
  ImageTree{f.folder.path("src")}.make();
  ConvertOptions converting;
  converting.source = f.folder.path("src");
  converting.target = f.folder.path("set");
  Context context;
  convert(converting, context);
  ReshardOptions options = f.options("two");
  options.inputs = {f.folder.path("set")};
  options.classes = {"class_0", "2"};
  CHECK(run(options).samples == 80);
  CHECK(f.manifest("two").classes ==
        std::vector<ManifestClass>{{"class_0", 0, 40}, {"class_1", 1, 0}, {"class_2", 2, 40}});
  CHECK(problems(f.folder.path("two")) == 0);
  options.classes = {"class_7"};
  options.target = f.folder.path("none");
  CHECK(failure(options).code() == ErrorCode::usage);
}

TEST_CASE("classes that share a label keep their counts as long as an index knows their paths") {
  const Fixture f;
  ImageTree{f.folder.path("src"), 3, 10}.make();
  write_file(f.folder.path("map.json"), R"({"class_0": 0, "class_1": 1, "class_2": 0})");
  for (const char* image : {"class_0/img_001", "class_2/img_000", "class_2/img_003"}) {
    write_file(f.folder.path(fmt::format("src/{}.jpg", image)), make_jpeg());
  }
  ConvertOptions converting;
  converting.source = f.folder.path("src");
  converting.target = f.folder.path("set");
  converting.sharding.class_map = f.folder.path("map.json");
  Context context;
  convert(converting, context);
  ReshardOptions options = f.options("out");
  options.inputs = {f.folder.path("set")};
  options.keys = {"class_0/*", "class_2/img_00[0-3]"};
  run(options);
  CHECK(f.manifest("out").classes ==
        std::vector<ManifestClass>{{"class_0", 0, 10}, {"class_2", 0, 4}, {"class_1", 1, 0}});
  CHECK(problems(f.folder.path("out")) == 0);
  options.target = f.folder.path("one");
  options.classes = {"class_2"};
  run(options);
  CHECK(f.manifest("one").classes[0].samples == 0);
  CHECK(f.manifest("one").classes[1].samples == 4);
  options.classes.clear();
  options.target = f.folder.path("good");
  options.drop_bad = true;  // the rest are no images
  run(options);
  CHECK(f.manifest("good").classes ==
        std::vector<ManifestClass>{{"class_0", 0, 1}, {"class_2", 0, 2}, {"class_1", 1, 0}});

  fs::remove_all(f.folder.path("set/.shardkit"));
  options.drop_bad = false;
  options.target = f.folder.path("unknown");
  run(options);
  CHECK(f.manifest("unknown").classes[0].samples == 14);
}

TEST_CASE("original paths and checksums go on from index to index") {
  const Fixture f;
  ImageTree{f.folder.path("src"), 2, 5}.make();
  ConvertOptions converting;
  converting.source = f.folder.path("src");
  converting.target = f.folder.path("set");
  Context context;
  convert(converting, context);
  ReshardOptions options = f.options("out");
  options.inputs = {f.folder.path("set")};
  options.sizes = {};
  run(options);
  // The same samples in the same order in one shard: all but the plan's hash in the first line is the same.
  const auto lines = [&](const std::string& set) {
    const std::string text = read_file(f.folder.path(set + "/.shardkit/shard-000000.tar.index"));
    return text.substr(text.find('\n'), text.find("\nend") - text.find('\n'));
  };
  CHECK(lines("out") == lines("set"));
  CHECK(f.folder.read("out/shard-000000.tar") == f.folder.read("set/shard-000000.tar"));
}

TEST_CASE("a sample of N or a share is exact, and the same whatever the shards and their order") {
  const Fixture f;
  ReshardOptions options = f.options("ten");
  options.sample = "10";
  const ReshardResult result = run(options);
  CHECK(result.samples == 10);
  CHECK(result.skipped == 15);
  options = f.options("mixed");
  options.shuffle = 5;
  options.sizes.samples = 2;
  run(options);
  ReshardOptions again = f.options("ten_again");
  again.inputs = {f.folder.path("mixed")};
  again.sample = "0.4";
  run(again);
  CHECK(sorted(f.output("ten_again")) == sorted(f.output("ten")));
  options = f.options("other_seed");
  options.sample = "10";
  options.seed = 1;
  run(options);
  CHECK(sorted(f.output("other_seed")) != sorted(f.output("ten")));
}

TEST_CASE("a split puts each sample into one set, and each set has its own manifest") {
  const Fixture f;
  ReshardOptions options = f.options("sets");
  options.split = {"train=0.8", "val=0.2"};
  options.shuffle = 1;
  const ReshardResult result = run(options);
  REQUIRE(result.sets.size() == 2);
  CHECK(result.sets[0].name == "train");
  CHECK(result.sets[0].samples > 10);
  CHECK(result.sets[1].samples > 0);
  CHECK(result.samples == 25);
  CHECK(f.manifest("sets/train").samples == result.sets[0].samples);
  CHECK(f.manifest("sets/val").options.at("set") == "val");
  std::vector<ReadMember> all = f.output("sets/train");
  for (ReadMember& member : f.output("sets/val")) all.push_back(std::move(member));
  CHECK(sorted(std::move(all)) == f.input());
  CHECK(run(options).shards_written == 0);
}

TEST_CASE("sets are not put into the folder of one set") {
  const Fixture f;
  ReshardOptions options = f.options("out");
  run(options);
  options.split = {"train=0.8", "val=0.2"};
  CHECK_THROWS_WITH_AS(run(options), doctest::Contains("choose another folder for several sets"), Error);
  CHECK(!fs::exists(f.folder.path("out/train")));
}

TEST_CASE("a sample is drawn whatever a split does: a fifth of all is a fifth of each set") {
  ShardFolder folder;
  folder.write("in.tar", numbered_samples(2000, "k"));
  const auto keys = [&](const std::string& set) {
    std::set<std::string> found;
    for (const ReadMember& member : members_in(folder.path(set))) found.insert(member.key);
    return found;
  };
  ReshardOptions options;
  options.inputs = {folder.path("in.tar")};
  options.target = folder.path("sets");
  options.split = {"train=0.5", "val=0.5"};
  run(options);
  options.split.clear();
  options.target = folder.path("drawn");
  options.sample = "0.2";
  run(options);
  const std::set<std::string> train = keys("sets/train");
  const std::set<std::string> drawn = keys("drawn");
  const auto in_train = std::ranges::count_if(drawn, [&](const std::string& key) { return train.contains(key); });
  CHECK(drawn.size() == 400);
  CHECK(std::abs(static_cast<double>(in_train) - 200) < 50);  // five deviations
}

TEST_CASE("reshard keeps groups of keys together and has no table to group by") {
  ShardFolder folder;
  folder.write("in.tar", numbered_samples(60, "k"));
  ReshardOptions options;
  options.inputs = {folder.path("in.tar")};
  options.target = folder.path("sets");
  options.split = {"train=0.5", "val=0.5"};
  options.group_by = "key:(.)$";
  run(options);
  std::map<char, std::set<std::string>> sets;
  for (const char* set : {"train", "val"}) {
    for (const ReadMember& member : members_in(folder.path(fmt::format("sets/{}", set))))
      sets[member.key.back()].insert(set);
  }
  CHECK(sets.size() == 10);
  for (const auto& [digit, of_digit] : sets) CHECK(of_digit.size() == 1);
  options.group_by = "column:patient";
  CHECK_THROWS_WITH_AS(run(options), doctest::Contains("only convert has"), Error);
}

TEST_CASE("--drop-bad leaves out samples whose image does not decode, names them, and counts classes without them") {
  ShardFolder folder;
  Context context;
  SynthOptions making;
  making.target = folder.path("src");
  making.classes = 2;
  making.per_class = 4;
  synth(making, context);
  std::vector<std::string> images;
  for (const auto& [name, content] : tree_content(folder.path("src"))) {
    if (name.ends_with(".JPEG")) images.push_back(name);
  }
  REQUIRE(images.size() == 8);
  fs::resize_file(folder.path("src/" + images[1]), 2000);
  write_file(folder.path("src/" + images[6]), "no image at all");
  ConvertOptions converting;
  converting.sharding.validate = Validate::none;
  converting.source = folder.path("src");
  converting.target = folder.path("set");
  convert(converting, context);

  ReshardOptions options;
  options.inputs = {folder.path("set")};
  std::map<std::string, std::string> expected;
  for (const std::uint64_t threads : {1, 7}) {
    options.target = folder.path(fmt::format("out{}", threads));
    options.threads = threads;
    options.drop_bad = true;
    const ReshardResult result = run(options);
    CHECK(result.samples == 6);
    CHECK(result.dropped == 2);
    REQUIRE(result.dropped_samples.size() == 2);
    std::vector<std::string> dropped{result.dropped_samples[0].path, result.dropped_samples[1].path};
    std::ranges::sort(dropped);
    CHECK(dropped == std::vector<std::string>{images[1], images[6]});
    CHECK(problems(options.target) == 0);
    if (expected.empty()) expected = tree_content(options.target);
    CHECK(tree_content(options.target) == expected);
  }
  options.target = folder.path("kept");
  options.drop_bad = false;
  CHECK(run(options).samples == 8);
}

TEST_CASE("the same key in two tars is refused with both places, or marked") {
  ShardFolder folder;
  folder.write("one/x.tar", numbered_samples(4, "k"));
  folder.write("two/x.tar", numbered_samples(5, "k", 2));  // shares k002 and k003
  ReshardOptions options;
  options.inputs = {folder.path("one"), folder.path("two")};
  options.target = folder.path("out");
  const Error error = failure(options);
  CHECK(error.code() == ErrorCode::conflict);
  for (const char* text : {"'k002'", "one/x.tar' at byte", "two/x.tar' at byte", "2 keys", "--mark-duplicates"}) {
    CHECK_MESSAGE(says(error, text), error.what());
  }
  CHECK_FALSE(fs::exists(folder.path("out")));

  options.mark_duplicates = true;
  CHECK(run(options).renamed == 4);
  const std::vector<std::string> keys = keys_of(members_in(folder.path("out")));
  CHECK(std::set<std::string>(keys.begin(), keys.end()).size() == 9);
  CHECK(std::ranges::count_if(keys, [](const std::string& key) { return key.size() == 4 + 9; }) == 4);
}

TEST_CASE("scattered members of one tar are put together before samples of several tars are marked") {
  const OneTar tar(TarBuilder().file("a.jpg", "1").file("b.jpg", "2").file("a.cls", "0").end());
  tar.folder.write("first.tar", TarBuilder().file("a.jpg", "3").end());
  ReshardOptions options = tar.options();
  options.inputs = {tar.folder.path("first.tar"), tar.folder.path("in.tar")};
  options.mark_duplicates = true;
  CHECK(run(options).samples == 3);
  CHECK(run(options).renamed == 2);
}

TEST_CASE("manifests that give one label two names are refused: the merged set would confuse classes") {
  const Fixture f;
  Context context;
  for (const char* name : {"cats", "dogs"}) {
    write_file(f.folder.path(fmt::format("src_{0}/{0}/1.jpg", name)), fake_jpeg(name));
    ConvertOptions converting;
    converting.source = f.folder.path(fmt::format("src_{}", name));
    converting.target = f.folder.path(name);
    convert(converting, context);
  }
  ReshardOptions options = f.options("out");
  options.inputs = {f.folder.path("cats"), f.folder.path("dogs")};
  const Error error = failure(options);
  CHECK(error.code() == ErrorCode::conflict);
  CHECK(says(error, "label 0 is 'cats'"));
}

TEST_CASE("a label that no sample has is refused, as an unknown class is") {
  const Fixture f;
  ReshardOptions options = f.options("out");
  options.classes = {"0", "99"};
  CHECK(says(failure(options), "--class 99: no sample of the inputs has this label"));
  options.classes = {"0"};
  CHECK(run(options).samples > 0);
}

TEST_CASE("a second call finds everything finished, and repairs what is not") {
  const Fixture f;
  run(f.options("out"));
  const auto expected = f.content("out");
  CHECK(run(f.options("out")).shards_written == 0);
  fs::remove(f.folder.path("out/shard-000001.tar"));
  fs::resize_file(f.folder.path("out/shard-000002.tar"), 1000);
  CHECK(run(f.options("out")).shards_written == 2);
  CHECK(f.content("out") == expected);
}

TEST_CASE("a changed option or input is refused with what changed, and nothing is touched") {
  const Fixture f;
  run(f.options("out"));
  const auto before = f.content("out");
  ReshardOptions options = f.options("out");
  options.sort = true;
  CHECK(says(failure(options), "used neither --sort nor --shuffle, but this one asks for --sort"));
  options = f.options("out");
  options.inputs.pop_back();
  CHECK(says(failure(options), "input 'y.tar' no longer exists"));
  f.folder.write("b/y.tar", numbered_samples(6, "b"));
  CHECK(failure(f.options("out")).code() == ErrorCode::conflict);
  CHECK(says(failure(f.options("out")), "input 'y.tar' had"));
  CHECK(f.content("out") == before);
}

TEST_CASE("a folder is not input and output at once") {
  const Fixture f;
  CHECK(failure(f.options("a")).code() == ErrorCode::usage);
  CHECK_FALSE(fs::exists(f.folder.path("a/.shardkit/plan")));
}

TEST_CASE("options that contradict each other or say nothing are refused") {
  const Fixture f;
  const auto refused = [&](const auto& change) {
    ReshardOptions options = f.options("out");
    change(options);
    return failure(options).code() == ErrorCode::usage;
  };
  CHECK(refused([](auto& o) { o.sort = true, o.shuffle = 1; }));
  CHECK(refused([](auto& o) { o.split = {"a=0.5", "b=0.6"}; }));
  CHECK(refused([](auto& o) { o.split = {"a=0.5", "a=0.5"}; }));
  CHECK(refused([](auto& o) { o.split = {"../a=1"}; }));
  CHECK(refused([](auto& o) { o.sample = "0"; }));
  CHECK(refused([](auto& o) { o.sample = "1.5"; }));
  CHECK(refused([](auto& o) { o.rename = {"jpeg"}; }));
  CHECK(refused([](auto& o) { o.rename = {"jpeg=a b"}; }));
  CHECK(refused([](auto& o) { o.sizes.shards = 26, o.sizes.samples.reset(); }));
  CHECK_FALSE(fs::exists(f.folder.path("out/manifest.json")));
}

TEST_CASE("filters that leave nothing are an error, not an empty set, and so are inputs that hold nothing") {
  const Fixture f;
  ReshardOptions options = f.options("out");
  options.keys = {"z*"};
  CHECK(failure(options).code() == ErrorCode::not_found);
  CHECK(says(failure(options), "the filters leave out all samples"));
  const OneTar empty(TarBuilder().end());
  CHECK(failure(empty.options()).code() == ErrorCode::not_found);
  CHECK(says(failure(empty.options()), "there is no sample in 1 input"));
}

TEST_CASE("a sample of more than there are takes all with a warning") {
  const Fixture f;
  ReshardOptions options = f.options("out");
  options.sample = "26";
  Context context;
  CHECK(reshard(options, context).samples == 25);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].code == "sample_short");
  options.sample = "25";
  options.target = f.folder.path("exact");
  Context quiet;
  reshard(options, quiet);
  CHECK(quiet.warnings().empty());
}
