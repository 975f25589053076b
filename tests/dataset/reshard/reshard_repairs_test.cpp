// What reshard repairs: members that stand apart, keys and extensions that occur twice, shards that are cut, sets whose
// classes have other labels.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/ranges.h>

#include "dataset/convert/convert.hpp"
#include "dataset/extract/extract.hpp"
#include "dataset/verify/verify_support.hpp"
#include "reshard_support.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

struct Repaired {
  ReshardResult result;
  std::vector<std::string> warnings;
};

Repaired repair(const ReshardOptions& options) {
  Context context;
  Repaired repaired{reshard(options, context), {}};
  for (const Finding& warning : context.warnings()) repaired.warnings.push_back(warning.code);
  return repaired;
}

void check_sound(const std::string& folder) {
  const VerifyResult result = verify_path(folder, {.shards = {}, .strict = true, .threads = {}});
  CHECK_MESSAGE(!result.has_findings(), result.verdict);
}

}  // namespace

TEST_CASE("members that stand apart are put together again") {
  // All labels behind all images, in three pieces each, and one sample as it should be.
  TarBuilder apart;
  for (int i = 0; i < 5; ++i) apart.file(fmt::format("k{}.jpg", i), fake_jpeg(fmt::to_string(i)));
  apart.sample("whole", fake_jpeg(), "9");
  for (int i = 0; i < 5; ++i) apart.file(fmt::format("k{}.cls", i), fmt::to_string(i));
  for (int i = 0; i < 5; ++i) apart.file(fmt::format("k{}.json", i), "{}");
  const OneTar tar(apart.end());
  for (const bool indexed : {false, true}) {
    if (indexed) index_folder(tar.folder);
    ReshardOptions options = tar.options();
    options.target = tar.folder.path(indexed ? "by_index" : "by_headers");
    const Repaired repaired = repair(options);
    CHECK(repaired.result.samples == 6);
    CHECK(repaired.result.input_samples == 6);
    CHECK(repaired.result.regrouped == 10);
    CHECK(repaired.warnings == std::vector<std::string>{"members_regrouped"});
    const std::vector<ReadMember> members = members_in(options.target);
    CHECK(members.size() == 17);
    CHECK(std::vector(members.begin() + 3, members.begin() + 6) ==
          std::vector<ReadMember>{{"k1", "cls", "1"}, {"k1", "jpg", fake_jpeg("1")}, {"k1", "json", "{}"}});
    const VerifyResult sound = verify_path(options.target);
    CHECK(sound.errors == 0);
    CHECK(sound.classes->largest_label == 9);
  }
}

TEST_CASE("of members with one name the last counts, wherever it is; whole samples are marked if they are to be") {
  const std::vector<std::string> images{fake_jpeg("one"), fake_jpeg("x"), fake_jpeg("two")};
  const OneTar updated(TarBuilder()
                           .file("k.json", "0")
                           .file("k.jpg", images[0])
                           .file("k.json", "1")
                           .file("l.jpg", images[1])
                           .file("l.json", "2")
                           .file("./k.json", "3")
                           .end());
  ReshardOptions options = updated.options();
  for (const bool mark : {false, true}) {
    options.mark_duplicates = mark;
    options.target = updated.folder.path(mark ? "marked" : "plain");
    Context context;
    CHECK(reshard(options, context).samples == 2);
    CHECK(context.warnings().back().text.starts_with("2 members replaced by a later one of the same name"));
    CHECK(context.warnings().back().text.find("the one at byte") != std::string::npos);
    CHECK(sorted(members_in(options.target)) ==
          std::vector<ReadMember>{
              {"k", "jpg", images[0]}, {"k", "json", "3"}, {"l", "jpg", images[1]}, {"l", "json", "2"}});
    check_sound(options.target);
  }
  const OneTar whole(
      TarBuilder().sample("k", images[0], "0").sample("l", images[1], "1").sample("k", images[2], "1").end());
  options = whole.options();
  CHECK(repair(options).warnings == std::vector<std::string>{"members_regrouped", "members_replaced"});
  CHECK(sorted(whole.result()).at(1) == ReadMember{"k", "jpg", images[2]});
  options.mark_duplicates = true;
  options.target = whole.folder.path("marked");
  CHECK(repair(options).result.samples == 3);
  check_sound(options.target);
}

TEST_CASE("tars that were put together keep their samples apart; marks differ, also of links to one file") {
  const OneTar joined(TarBuilder()
                          .raw(TarBuilder().file("a.bin", "1").end().bytes())
                          .raw(TarBuilder().file("a.bin", "2").file("a.json", "{}").end().bytes()));
  ReshardOptions options = joined.options();
  options.salvage = true;
  CHECK(failure(options).code() == ErrorCode::conflict);
  options.mark_duplicates = true;
  CHECK(run(options).samples == 2);
  const OneTar linked(TarBuilder()
                          .file("a.bin", "1")
                          .file("b.bin", "2")
                          .member({.name = "a.bin", .type = '1', .link_target = "a.bin"}, "")
                          .end());
  options = linked.options();
  options.mark_duplicates = true;
  CHECK(run(options).samples == 3);
}

TEST_CASE("the last sample of a tar without an end is kept, unless it lacks members that the one before has") {
  const auto taken = [](const TarBuilder& builder, bool salvage) {
    const OneTar tar(builder);
    ReshardOptions options = tar.options();
    options.salvage = salvage;
    return run(options).samples;
  };
  for (const bool salvage : {false, true}) {
    CHECK(taken(TarBuilder().file("only.jpg", "1"), salvage) == 1);
    CHECK(taken(TarBuilder().sample("a", "1", "0").file("b.png", "2"), salvage) == 2);
    CHECK(taken(TarBuilder().sample("a", "1", "0").file("b.jpg", "2"), salvage) == (salvage ? 1 : 2));
  }
}

TEST_CASE("samples of texts alone are data where most are; a --drop-bad that would leave nothing fails") {
  TarBuilder texts;
  for (int i = 0; i < 20; ++i) texts.file(fmt::format("{}.json", i), "{}").file(fmt::format("{}.txt", i), "text");
  const OneTar tar(texts.file("20.cls", "0").end());
  ReshardOptions options = tar.options();
  options.drop_bad = true;
  CHECK(run(options).samples == 20);
  const OneTar labels(TarBuilder().file("a.cls", "0").file("b.cls", "1").end());
  options = labels.options();
  options.drop_bad = true;
  CHECK(failure(options).code() == ErrorCode::unsupported);
}

TEST_CASE("a split of one set of a split has the shares that were asked for") {
  const OneTar tar(numbered_samples(600, "k"));
  ReshardOptions options = tar.options();
  options.split = {"train=0.9", "val=0.1"};
  run(options);
  options.inputs = {options.target + "/train"};
  options.target = tar.folder.path("again");
  options.split = {"train=0.8", "val=0.2"};
  const ReshardResult result = run(options);
  CHECK(result.sets.at(1).samples > 80);
  CHECK(result.sets.at(1).samples < 135);
  options.inputs = {options.target + "/train"};
  options.target = tar.folder.path("thrice");
  CHECK(run(options).sets.at(1).samples > 60);
}

TEST_CASE("members of a sample that share an extension are numbered") {
  const OneTar tar(TarBuilder()
                       .file("k.jpg", fake_jpeg("1"))
                       .file("k.JPG", fake_jpeg("2"))
                       .file("k.Jpg", fake_jpeg("3"))
                       .file("k.2.jpg", fake_jpeg("there before"))
                       .file("k.cls", "1")
                       .file("k.cls", "0")
                       .end());
  ReshardOptions options = tar.options();
  CHECK(says(failure(options), "--mark-duplicates"));
  options.mark_duplicates = true;
  run(options);
  CHECK(tar.result() == std::vector<ReadMember>{{"k", "2.jpg", fake_jpeg("there before")},
                                                {"k", "3.jpg", fake_jpeg("2")},
                                                {"k", "4.jpg", fake_jpeg("3")},
                                                {"k", "cls", "0"},
                                                {"k", "jpg", fake_jpeg("1")}});
  check_sound(options.target);
}

TEST_CASE(
    "--rename changes names in shards: extract restores the files, and a rename that may do nothing is no warning") {
  const TempDir dir;
  write_file(dir.path("src/cat/1.jpg"), fake_jpeg("1"));
  write_file(dir.path("src/cat/1.json"), "{}");
  ConvertOptions converting;
  converting.source = dir.path("src");
  converting.target = dir.path("set");
  Context context;
  convert(converting, context);
  ReshardOptions options;
  options.inputs = {converting.target};
  options.target = dir.path("renamed");
  options.rename = {"json=meta", "=x"};
  CHECK(repair(options).warnings.empty());
  CHECK(members_in(options.target).at(2) == ReadMember{"cat/1", "meta", "{}"});
  extract({.shards = {options.target}, .target = dir.path("files"), .threads = {}}, context);
  for (const char* file : {"cat/1.jpg", "cat/1.json"})
    CHECK(read_file(dir.path("files/") + file) == read_file(dir.path("src/") + file));
}

TEST_CASE("members without an extension get one by --rename") {
  const std::string x = fake_jpeg("x");
  const std::string y = fake_jpeg("y");
  const OneTar tar(TarBuilder().file("a/1", x).file("a/1.cls", "0").file("a/2.", y).file("a/2.cls", "1").end());
  ReshardOptions options = tar.options();
  options.rename = {"=jpg"};
  run(options);
  CHECK(tar.result() ==
        std::vector<ReadMember>{{"a/1", "cls", "0"}, {"a/1", "jpg", x}, {"a/2", "cls", "1"}, {"a/2", "jpg", y}});
  check_sound(options.target);
}

TEST_CASE("of a shard that is cut anywhere the whole samples are taken, with one warning that says what is lost") {
  const std::string whole = numbered_samples(6, "k").bytes();
  for (const bool listed : {false, true}) {
    for (std::size_t length = 0; length < whole.size() - 1024; length += 300) {
      CAPTURE(length);
      CAPTURE(listed);
      const bool may_be_whole = length > 512 && length <= 1024;  // an image, and nothing shows that it had a label
      if (may_be_whole && !listed) continue;
      ShardFolder folder;
      folder.write("in/a.tar", whole);
      folder.write("in/b.tar", numbered_samples(2, "other"));
      if (listed) {
        Context context;
        shardkit::dataset::index({.shards = {folder.path("in")}, .threads = std::nullopt}, context);
      }
      const std::vector<ReadMember> before = members_of(folder.path("in/a.tar"));
      fs::resize_file(folder.path("in/a.tar"), length);
      ReshardOptions options;
      options.inputs = {folder.path("in")};
      options.target = folder.path("out");
      options.salvage = true;
      const Repaired repaired = repair(options);
      const std::uint64_t taken = repaired.result.samples - 2;
      std::vector<ReadMember> kept = members_in(options.target);
      kept.resize(2 * taken);
      CHECK(sorted(kept) == sorted({before.begin(), before.begin() + static_cast<std::ptrdiff_t>(2 * taken)}));
      const bool shows_cut = listed || repaired.warnings.back() == "samples_lost";
      CHECK(repaired.warnings.size() == 1 + std::ranges::count(repaired.warnings, "shards_missing"));
      if (listed) CHECK(repaired.result.lost_samples == 6 - taken);
      if (shows_cut) CHECK(repaired.result.lost_samples_known == listed);
      if (shows_cut && length > 0) CHECK(*repaired.result.lost_bytes > 0);
      check_sound(options.target);
    }
  }
}

TEST_CASE("a cut shard is refused with the command that salvages it") {
  const std::string whole = numbered_samples(3, "k").bytes();
  const OneTar tar(TarBuilder().raw(whole.substr(0, 2570)));
  CHECK(says(failure(tar.options()), "--salvage` takes the samples before that"));
  std::string damaged = whole;
  damaged[4096] = 'X';  // in the header of the third sample
  const OneTar flipped(TarBuilder().raw(damaged));
  ReshardOptions options = flipped.options();
  options.salvage = true;
  const Repaired repaired = repair(options);
  CHECK(repaired.result.samples == 2);
  CHECK(repaired.warnings == std::vector<std::string>{"samples_lost"});
}

TEST_CASE("tars that were put together are refused with the command that takes all of their samples, and it does") {
  const std::string joined = numbered_samples(3, "a").bytes() + numbered_samples(4, "b").bytes();
  const OneTar tar(TarBuilder().raw(joined));
  CHECK(says(failure(tar.options()), "--salvage --mark-duplicates` takes the samples of all of them"));
  ReshardOptions options = tar.options();
  options.salvage = true;
  const Repaired repaired = repair(options);
  CHECK(repaired.result.samples == 7);
  CHECK(repaired.warnings.empty());
  CHECK(repaired.result.lost_bytes.value_or(0) == 0);
  check_sound(options.target);
}

TEST_CASE("of tars that were put together and cut, the whole samples before the cut are taken") {
  const std::string first = numbered_samples(3, "a").bytes();
  const std::string second = numbered_samples(4, "b").bytes();
  for (const std::size_t cut : {std::size_t{100}, second.size() / 2}) {
    CAPTURE(cut);
    const OneTar tar(TarBuilder().raw(first + second.substr(0, cut)));
    ReshardOptions options = tar.options();
    options.salvage = true;
    const Repaired repaired = repair(options);
    CHECK(repaired.result.samples == (cut == 100 ? 3 : 5));
    CHECK(repaired.warnings == std::vector<std::string>{"samples_lost"});
  }
}

TEST_CASE("sets with other classes are merged by the names of their classes; only labels change") {
  const TempDir dir;
  const std::map<std::string, std::vector<std::string>> trees = {
      {"pets", {"cat", "dog"}}, {"farm", {"cow", "dog", "hen"}}, {"cats", {"cat"}}};
  for (const auto& [tree, classes] : trees) {
    for (const std::string& name : classes) {
      for (int i = 0; i < 3; ++i) {
        write_file(dir.path(fmt::format("{}/{}/{}_{}.jpg", tree, name, tree, i)),
                   fake_jpeg(fmt::format("{} {} {}", tree, name, i)));
        write_file(dir.path(fmt::format("{}/{}/{}_{}.json", tree, name, tree, i)), "{}");
      }
    }
    ConvertOptions convert_options;
    convert_options.source = dir.path(tree);
    convert_options.target = dir.path("shards/" + tree);
    Context context;
    convert(convert_options, context);
  }
  ReshardOptions options;
  options.inputs = {dir.path("shards/pets"), dir.path("shards/farm"), dir.path("shards/cats")};
  options.target = dir.path("merged");
  options.shuffle = 7;
  CHECK(says(failure(options), " --shuffle 7 --merge-classes` merges the sets"));
  options.merge_classes = true;
  CHECK(repair(options).result.samples == 18);
  const std::map<std::string, std::string> labels = {{"cat", "0"}, {"cow", "1"}, {"dog", "2"}, {"hen", "3"}};
  std::vector<ReadMember> before;
  for (const std::string& input : options.inputs) {
    for (ReadMember& member : members_in(input)) {
      if (member.extension == "cls") member.content = labels.at(member.key.substr(0, member.key.find('/')));
      before.push_back(std::move(member));
    }
  }
  CHECK(sorted(members_in(options.target)) == sorted(before));
  const VerifyResult result = verify_path(options.target);
  CHECK(result.problems.empty());
  CHECK(result.classes->count == 4);
  options.classes = {"dog"};
  options.target = dir.path("dogs");
  CHECK(repair(options).result.samples == 6);
}

namespace {

/// A set in which a class map gives cats and dogs one label, and an option that has to know the class of each sample.
struct SharedLabel {
  TempDir dir;
  ConvertOptions converting;
  ReshardOptions options;

  SharedLabel() {
    for (const char* name : {"bird", "cat", "dog"}) {
      for (int i = 0; i < 4; ++i) {
        write_file(dir.path(fmt::format("src/{0}/{0}{1}.jpg", name, i)), fake_jpeg(fmt::format("{}{}", name, i)));
      }
    }
    write_file(dir.path("map.json"), R"({"bird": 0, "cat": 1, "dog": 1})");
    converting.source = dir.path("src");
    converting.target = dir.path("set");
    converting.sharding.class_map = dir.path("map.json");
    options.inputs = {dir.path("set")};
    options.target = dir.path("out");
  }
  void make() const {
    Context context;
    convert(converting, context);
  }
  void lose_index() const { fs::remove(dir.path("set/.shardkit/shard-000000.tar.index")); }
  void ask(bool merge) {
    options.merge_classes = merge;
    if (!merge) options.classes = {"dog"};
  }
};

}  // namespace

TEST_CASE("of classes that share a label the original path tells which one a sample has") {
  for (const bool merge : {false, true}) {
    CAPTURE(merge);
    SharedLabel set;
    set.make();
    set.ask(merge);
    CHECK(repair(set.options).result.samples == (merge ? 12 : 4));
    for (const ReadMember& member : members_in(set.options.target)) {
      if (merge && member.extension == "cls") {
        CHECK(member.content == (member.key.starts_with("bird") ? "0" : member.key.starts_with("cat") ? "1" : "2"));
      }
      if (!merge) CHECK(member.key.starts_with("dog/"));
    }
  }
}

TEST_CASE("what needs the class of samples that share a label is refused where nothing shows it") {
  for (const bool merge : {false, true}) {
    CAPTURE(merge);
    SUBCASE("without the index, until --recheck restores it") {
      SharedLabel set;
      set.make();
      set.lose_index();
      set.ask(merge);
      const Error error = failure(set.options);
      CHECK(error.code() == ErrorCode::unsupported);
      CHECK(says(error, "2 classes share label 1, such as 'cat' and 'dog'"));
      CHECK(says(error, merge ? "which --merge-classes needs" : "which --class needs"));
      CHECK(says(error, "that made the set again"));
      CHECK(!fs::exists(set.dir.path("out")));
      set.converting.recheck = true;
      set.make();
      CHECK(repair(set.options).result.samples == (merge ? 12 : 4));
    }
    SUBCASE("in a set of a list, where folders are not classes") {
      SharedLabel set;
      write_file(set.dir.path("list.csv"), "path,label\ncat/cat0.jpg,dog\ndog/dog0.jpg,cat\nbird/bird0.jpg,bird\n");
      set.converting.sharding.images.list = set.dir.path("list.csv");
      set.converting.sharding.images.label_column = "label";
      set.make();
      set.ask(merge);
      CHECK(says(failure(set.options), "--class-map that gives each class its own label"));
    }
  }
}

TEST_CASE("without an index classes are merged where each has its own label, and a whole shared label is filtered") {
  SharedLabel set;
  set.make();
  set.lose_index();
  SUBCASE("both classes of the label are wanted") {
    set.options.classes = {"dog", "cat"};
    CHECK(repair(set.options).result.samples == 8);
  }
  SUBCASE("another class is wanted") {
    set.options.classes = {"bird"};
    CHECK(repair(set.options).result.samples == 4);
  }
  SUBCASE("the label is wanted by its number") {
    set.options.classes = {"1"};
    CHECK(repair(set.options).result.samples == 8);
  }
  SUBCASE("no label is shared") {
    set.converting.sharding.class_map.clear();
    set.converting.target = set.dir.path("plain");
    set.make();
    fs::remove_all(set.dir.path("plain/.shardkit"));
    set.options.inputs = {set.dir.path("plain")};
    set.options.merge_classes = true;
    CHECK(repair(set.options).result.samples == 12);
  }
}

TEST_CASE("classes are merged by name only where manifests name them") {
  const OneTar tar(numbered_samples(3, "k"));
  ReshardOptions options = tar.options();
  options.merge_classes = true;
  CHECK(says(failure(options), "but no manifest.json has any"));
}

TEST_CASE("names, classes and labels that a set would lack are warnings") {
  const OneTar tar(numbered_samples(3, "k"));
  for (const char* name : {"src/cat/1.JPEG", "src/dog/2.JPEG"}) write_file(tar.folder.path(name), fake_jpeg());
  ConvertOptions converting;
  converting.source = tar.folder.path("src");
  converting.target = tar.folder.path("set");
  Context context;
  convert(converting, context);
  ReshardOptions options = tar.options();
  using Codes = std::vector<std::string>;

  SUBCASE("labels without class names are taken as those of named classes") {
    CHECK(repair(options).warnings == Codes{});
    options.inputs.push_back(converting.target);
    options.target = tar.folder.path("joined");
    CHECK(repair(options).warnings == Codes{"classes_assumed"});
    VerifyOptions checking;
    checking.shards = options.inputs;
    CHECK(fmt::format("{}", fmt::join(verify(checking, context).checked, " ")).find("agree") == std::string::npos);
  }
  SUBCASE("samples without a label beside others with one") {
    converting.sharding.unlabeled = true;
    converting.target = tar.folder.path("plain");
    convert(converting, context);
    options.inputs = {converting.target};
    CHECK(repair(options).warnings == Codes{});
    options.inputs.push_back(tar.folder.path("set"));
    options.target = tar.folder.path("joined");
    options.mark_duplicates = true;
    CHECK(repair(options).warnings == Codes{"labels_missing"});
  }
  SUBCASE("original names, if no index can be used") {
    options.inputs = {converting.target};
    CHECK(repair(options).warnings == Codes{});
    const std::string index = tar.folder.path("set/.shardkit/shard-000000.tar.index");
    const std::string whole = read_file(index);
    fs::permissions(index, fs::perms::owner_all);
    write_file(index, whole.substr(0, whole.size() / 2));
    const VerifyResult found = verify_path(converting.target);
    CHECK(found.remedies.at(0).find("writes this set again") != std::string::npos);
    options.target = tar.folder.path("damaged");
    CHECK(repair(options).warnings == Codes{"index_unusable", "names_lost"});
    fs::remove(index);
    options.target = tar.folder.path("missing");
    CHECK(repair(options).warnings == Codes{"names_lost"});
    write_file(index, whole.substr(0, whole.size() / 2));
    converting.recheck = true;
    convert(converting, context);
    CHECK(read_file(index) == whole);
    check_sound(converting.target);
  }
}

TEST_CASE("an input that is given twice, and a --rename of an extension that no member has, are warnings") {
  const OneTar tar(numbered_samples(3, "s"));
  ReshardOptions options = tar.options();
  options.inputs.push_back(tar.folder.path("./in.tar"));
  options.rename = {"foo=png", "jpg=jpeg"};
  const Repaired repaired = repair(options);
  CHECK(repaired.warnings == std::vector<std::string>{"input_twice", "rename_unused"});
  CHECK(repaired.result.samples == 3);
}
