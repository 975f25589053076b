#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "dataset/convert/convert_support.hpp"
#include "dataset/index/index.hpp"
#include "dataset/ls/ls.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/stage/stage.hpp"
#include "dataset/verify/verify.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "io/run_file.hpp"
#include "support/files.hpp"
#include "support/forgetful_file_system.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

/// A source that grows: 3 classes of 12 images, of which the first 8 are there from the start, and class_1 only later.
struct GrowingSource {
  TempDir dir;
  ImageTree tree{dir.path("all"), 3, 12, 3000};

  GrowingSource() {
    tree.make();
    add(0, 0, 8);
    add(2, 0, 8);
  }
  void add(std::uint64_t c, std::uint64_t first, std::uint64_t end) const {
    for (std::uint64_t i = first; i < end; ++i) {
      const std::string name = fs::relative(tree.path(c, i), tree.root);
      fs::create_directories(fs::path(dir.path("src/" + name)).parent_path());
      fs::copy_file(tree.path(c, i), dir.path("src/" + name));
      fs::last_write_time(dir.path("src/" + name), fs::last_write_time(tree.path(c, i)));
    }
  }
  void grow() const {
    add(0, 8, 12);
    add(1, 0, 12);
    add(2, 8, 12);
  }

  ConvertOptions options(const std::string& target = "set") const {
    ConvertOptions options;
    options.source = dir.path("src");
    options.target = dir.path(target);
    options.sharding.samples = 6;
    options.threads = 1;
    return options;
  }
  ConvertOptions appending(const std::string& target = "set") const {
    ConvertOptions appended = options(target);
    appended.append = true;
    return appended;
  }
  Manifest manifest(const std::string& target = "set") const {
    const std::string path = dir.path(target + "/manifest.json");
    return read_manifest(read_file(path), path);
  }
  std::uint64_t problems(const std::string& target = "set") const {
    Context context;
    VerifyOptions verifying;
    verifying.shards = {dir.path(target)};
    verifying.against = dir.path("src");
    const VerifyResult result = verify(verifying, context);
    return result.errors + result.warnings;
  }
};

std::map<std::string, std::uint64_t> labels(const Manifest& manifest) {
  std::map<std::string, std::uint64_t> labels;
  for (const ManifestClass& item : manifest.classes) labels.emplace(item.name, item.label);
  return labels;
}

/// Paths of the samples of a set.
std::set<std::string> sample_paths(const std::string& folder) {
  std::set<std::string> paths;
  const std::string manifest = folder + "/manifest.json";
  for (const ManifestShard& shard : read_manifest(read_file(manifest), manifest).shards) {
    const std::string path = folder + "/" + shard_index_path(shard.name);
    io::FileSource index(path);
    ShardIndexVisitor visitor;
    visitor.sample = [&](IndexSample&& sample) { CHECK(paths.insert(sample.path).second); };
    read_shard_index(index, path, visitor);
  }
  return paths;
}

/// Of the two parts of an --append only the first is written.
void leave_append_unfinished(const GrowingSource& source) {
  run(source.options());
  source.grow();
  ConvertOptions part = source.appending();
  part.part = "0/2";
  run(part);
}

bool is_shard(const std::string& name) { return name.ends_with(".tar") || name.ends_with(".index"); }

}  // namespace

TEST_CASE("--append adds new files in new shards and leaves the old ones byte for byte") {
  const GrowingSource source;
  run(source.options());
  const auto before = tree_content(source.dir.path("set"));
  source.grow();

  const ConvertResult result = run(source.appending());

  CHECK(result.samples_before == 16);
  CHECK(result.samples == 20);
  CHECK(source.manifest().samples == 36);
  CHECK(source.manifest().shards.size() == 3 + 4);
  for (const auto& [name, content] : before) {
    if (name != "manifest.json") CHECK(read_file(source.dir.path("set/" + name)) == content);
  }
  CHECK(sample_paths(source.dir.path("set")).size() == 36);
  CHECK(source.problems() == 0);
}

TEST_CASE("--append keeps labels; a new class gets the next one, wherever its name sorts") {
  const GrowingSource source;
  run(source.options());
  source.grow();
  Context context;

  convert(source.appending(), context);

  CHECK(labels(source.manifest()) ==
        std::map<std::string, std::uint64_t>{{"class_0", 0}, {"class_1", 2}, {"class_2", 1}});
  CHECK(contains(context.warnings().at(0).text, "class 'class_1' is new in the set: label 2"));
}

TEST_CASE("--append into an empty folder converts, and where nothing is new it changes nothing") {
  const GrowingSource source;
  run(source.options("expected"));
  run(source.appending());
  CHECK(tree_content(source.dir.path("set")) == tree_content(source.dir.path("expected")));
  Context context;

  const ConvertResult result = convert(source.appending(), context);

  CHECK(result.samples_before == 16);
  CHECK(result.samples == 0);
  CHECK(context.warnings().at(0).code == "nothing_new");
  CHECK(tree_content(source.dir.path("set")) == tree_content(source.dir.path("expected")));
}

TEST_CASE("--append --index with nothing to add writes the index") {
  const GrowingSource source;
  run(source.options());
  ConvertOptions options = source.options("expected");
  options.index = {"dali", "wids", "energon"};
  run(options);
  options = source.appending();
  options.index = {"dali", "wids", "energon"};
  CHECK(run(options).samples == 0);
  CHECK(tree_content(source.dir.path("set")) == tree_content(source.dir.path("expected")));
}

TEST_CASE("--append works any number of times, also from another folder with other files") {
  const GrowingSource source;
  run(source.options());
  source.add(0, 8, 10);
  run(source.appending());
  source.add(1, 0, 3);
  run(source.appending());
  write_file(source.dir.path("day2/class_3/new.jpg"), fake_jpeg());
  ConvertOptions other = source.appending();
  other.source = source.dir.path("day2");

  run(other);

  CHECK(source.manifest().samples == 16 + 2 + 3 + 1);
  CHECK(labels(source.manifest()) ==
        std::map<std::string, std::uint64_t>{{"class_0", 0}, {"class_1", 2}, {"class_2", 1}, {"class_3", 3}});
  CHECK(sample_paths(source.dir.path("set")).size() == 22);
}

TEST_CASE("parts of an --append give the same bytes as one run") {
  const GrowingSource source;
  for (const char* target : {"whole", "set"}) run(source.options(target));
  source.grow();
  run(source.appending("whole"));
  for (const char* part : {"1/3", "0/3", "2/3"}) {
    ConvertOptions options = source.appending();
    options.part = part;
    run(options);
  }
  Context context;
  MergeOptions merging;
  merging.target = source.dir.path("set");

  merge(merging, context);

  CHECK(tree_content(source.dir.path("set")) == tree_content(source.dir.path("whole")));
}

TEST_CASE("--append to a split leaves each sample in its set and adds to it as a whole convert would") {
  const GrowingSource source;
  const auto split = [](ConvertOptions options) {
    options.split = {"train=0.7", "val=0.3"};
    return options;
  };
  run(split(source.options()));
  const auto train_before = sample_paths(source.dir.path("set/train"));
  source.grow();
  run(split(source.appending()));
  run(split(source.options("whole")));

  const auto train = sample_paths(source.dir.path("set/train"));
  CHECK(std::ranges::includes(train, train_before));
  CHECK(train == sample_paths(source.dir.path("whole/train")));
  CHECK(sample_paths(source.dir.path("set/val")) == sample_paths(source.dir.path("whole/val")));
}

TEST_CASE("--append to train/ and val/ folders numbers a class alike in both") {
  const GrowingSource source;
  for (const char* set : {"train", "val"}) {
    for (const char* item : {"ant", "cat"})
      write_file(source.dir.path(fmt::format("two/{}/{}/a.jpg", set, item)), fake_jpeg());
  }
  ConvertOptions options = source.options();
  options.source = source.dir.path("two");
  run(options);
  write_file(source.dir.path("two/val/bee/a.jpg"), fake_jpeg());
  write_file(source.dir.path("two/train/bat/a.jpg"), fake_jpeg());
  write_file(source.dir.path("two/train/bee/b.jpg"), fake_jpeg());
  write_file(source.dir.path("two/val/bat/b.jpg"), fake_jpeg());
  options.append = true;

  run(options);

  const std::map<std::string, std::uint64_t> expected{{"ant", 0}, {"bat", 2}, {"bee", 3}, {"cat", 1}};
  CHECK(labels(source.manifest("set/train")) == expected);
  CHECK(labels(source.manifest("set/val")) == expected);
  CHECK(source.manifest("set/train").samples == 4);
}

TEST_CASE("a file that was left out is added once it can be read") {
  const GrowingSource source;
  const std::string bad = source.dir.path("src/class_0/img_003.jpg");
  const std::string good = read_file(bad);
  write_file(bad, "<html>");
  ConvertOptions options = source.options();
  options.sharding.on_bad = OnBad::skip;
  run(options);
  CHECK(source.manifest().skipped == 1);
  write_file(bad, good);
  options.append = true;

  run(options);

  CHECK(source.manifest().samples == 16);
  CHECK(source.manifest().skipped == 0);
  CHECK(source.problems() == 0);
}

TEST_CASE("a bad file that stays as it is makes no plan again and again") {
  const GrowingSource source;
  ConvertOptions options = source.appending();
  options.sharding.on_bad = OnBad::skip;
  run(options);
  write_file(source.dir.path("src/class_0/new.jpg"), "<html>");
  run(options);
  run(options);
  CHECK_FALSE(fs::exists(source.dir.path("set/.shardkit/plan-2")));
  CHECK(source.manifest().skipped == 1);
}

TEST_CASE("a new file that cannot be read is on record, also if it is the only new one") {
  const GrowingSource source;
  run(source.options());
  fs::create_symlink("nowhere", source.dir.path("src/class_0/link.jpg"));
  ConvertOptions options = source.options();
  options.append = true;
  options.sharding.on_bad = OnBad::skip;
  for (int repetition = 0; repetition < 2; ++repetition) CHECK(run(options).samples == 0);
  Context context;
  const VerifyResult result = verify({.shards = {source.dir.path("set")}, .against = source.dir.path("src")}, context);
  CHECK(result.errors == 0);
  source.grow();
  CHECK(run(options).samples == 20);
}

TEST_CASE("a set of a split to which nothing is added lists a new class of the others too") {
  const GrowingSource source;
  ConvertOptions options = source.options();
  options.split = {"train=0.5", "val=0.5"};
  run(options);
  write_file(source.dir.path("src/zebra/1.jpg"), fake_jpeg("z"));
  options.append = true;
  run(options);
  for (const char* set : {"train", "val"}) {
    const std::string path = source.dir.path(fmt::format("set/{}/manifest.json", set));
    CHECK(read_manifest(io::read_text_file(path), path).classes.back().name == "zebra");
  }
}

TEST_CASE("a plain convert into a finished set whose source has grown advises --append") {
  const GrowingSource source;
  run(source.options());
  source.grow();
  CHECK(contains(refusal(source.options(), ErrorCode::conflict), "add new files with --append"));
}

TEST_CASE("a bad new file keeps the old manifest; the same command goes on when it is corrected") {
  const GrowingSource source;
  run(source.options());
  const std::string before = read_file(source.dir.path("set/manifest.json"));
  source.grow();
  const std::string bad = source.dir.path("src/class_1/img_003.jpg");
  const std::string good = read_file(bad);
  write_file(bad, "<html>");
  CHECK(contains(refusal(source.appending(), ErrorCode::corrupt), "img_003.jpg"));
  CHECK(read_file(source.dir.path("set/manifest.json")) == before);
  write_file(bad, good);

  run(source.appending());

  CHECK(source.manifest().samples == 36);
  CHECK(source.problems() == 0);
}

TEST_CASE("indexes of other readers that the set has are kept up, without being asked for") {
  const GrowingSource source;
  ConvertOptions options = source.options();
  options.index = {"dali", "wids", "energon"};
  run(options);
  source.grow();

  run(source.appending());

  CHECK(fs::exists(source.dir.path("set/shard-000006.idx")));
  CHECK(contains(read_file(source.dir.path("set/shardindex.json")), "shard-000006.tar"));
  CHECK(contains(read_file(source.dir.path("set/.nv-meta/split.yaml")), "000006}.tar"));
  CHECK(source.problems() == 0);
}

TEST_CASE("--append is refused with its reason where it would not be an addition") {
  const GrowingSource source;
  run(source.options());
  source.grow();
  ConvertOptions options = source.appending();

  SUBCASE("a file of the set has changed") {
    write_file(source.dir.path("src/class_0/img_001.jpg"), fake_jpeg("longer"));
    CHECK(contains(refusal(options, ErrorCode::conflict), "'class_0/img_001.jpg'"));
  }
  SUBCASE("a new file would share its key with one of the set") {
    fs::remove(source.dir.path("src/class_0/img_001.jpg"));
    write_file(source.dir.path("src/class_0/img_001.png"), fake_jpeg());
    const std::string text = refusal(options, ErrorCode::conflict);
    CHECK(contains(text, "the new file 'class_0/img_001.png' would have the key 'class_0/img_001'"));
  }
  SUBCASE("an old shard is missing, or has another size or, with --recheck, other bytes") {
    const std::string shard = source.dir.path("set/shard-000001.tar");
    const std::string whole = read_file(shard);
    fs::remove(shard);
    CHECK(contains(refusal(options, ErrorCode::not_found), "missing, the first is 'shard-000001.tar'"));
    write_file(shard, whole.substr(0, 1024));
    CHECK(contains(refusal(options, ErrorCode::not_found), "is damaged, the first is 'shard-000001.tar'"));
    write_file(shard, std::string(whole.size(), 'x'));
    options.recheck = true;
    CHECK(contains(refusal(options, ErrorCode::corrupt), "shard-000001.tar' of the set is damaged"));
  }
  SUBCASE("an index of an old shard is missing or damaged") {
    const std::string index = source.dir.path("set/.shardkit/shard-000001.tar.index");
    fs::permissions(index, fs::perms::owner_all);
    write_file(index, "no index");
    CHECK(contains(refusal(options, ErrorCode::corrupt), "is damaged: --append needs the indexes of old shards"));
    fs::remove(index);
    CHECK(contains(refusal(options, ErrorCode::not_found), "is missing: --append needs the indexes of old shards"));
  }
  SUBCASE("other options, also where nothing is new") {
    fs::remove_all(source.dir.path("src/class_1"));
    options.sharding.samples = 7;
    CHECK(contains(refusal(options, ErrorCode::conflict), "used --samples 6, but this one asks for --samples 7"));
  }
  SUBCASE("the label of a listed image is another") {
    write_file(source.dir.path("list.csv"), "path,label\nclass_0/img_000.jpg,cat\nclass_0/img_001.jpg,dog\n");
    options = source.options("listed");
    options.sharding.images.list = source.dir.path("list.csv");
    options.sharding.images.label_column = "label";
    run(options);
    write_file(source.dir.path("list.csv"), "path,label\nclass_0/img_000.jpg,dog\nclass_0/img_001.jpg,dog\n");
    options.append = true;
    CHECK(contains(refusal(options, ErrorCode::conflict), "'class_0/img_000.jpg'"));
  }
  SUBCASE("other options") {
    options.sharding.samples = 7;
    CHECK(contains(refusal(options, ErrorCode::conflict), "used --samples 6, but this one asks for --samples 7"));
  }
  SUBCASE("another label by a class map") {
    write_file(source.dir.path("map"), "class_2\nclass_1\nclass_0\n");
    options.sharding.class_map = source.dir.path("map");
    CHECK(contains(refusal(options, ErrorCode::conflict), "class 'class_0' has label 0 in the set, but 2 now"));
  }
  SUBCASE("a set that reshard made") {
    Context context;
    ReshardOptions reshard_options;
    reshard_options.inputs = {source.dir.path("set")};
    reshard_options.target = source.dir.path("other");
    reshard(reshard_options, context);
    options.target = source.dir.path("other");
    CHECK(contains(refusal(options, ErrorCode::conflict), "was made by reshard"));
  }
  SUBCASE("a plan") {
    options.plan = source.dir.path("set/.shardkit/plan");
    options.sharding = {};
    CHECK(contains(refusal(options, ErrorCode::usage), "leave out --plan"));
  }
  CHECK(source.manifest().samples == 16);
  CHECK_FALSE(fs::exists(source.dir.path("set/.shardkit/plan-1")));
}

VerifyResult verify_against(const GrowingSource& source) {
  Context context;
  VerifyOptions options;
  options.shards = {source.dir.path("set")};
  options.against = source.dir.path("src");
  return verify(options, context);
}

TEST_CASE("a file keeps its key when others of its stem come or go") {
  const GrowingSource source;
  const std::string folder = source.dir.path("src/class_0/");
  for (const char* name : {"a.jpg", "a.jpeg", "b.jpg"}) write_file(folder + name, fake_jpeg(name));
  run(source.options());
  const std::set<std::string> before = sample_paths(source.dir.path("set"));

  SUBCASE("one is removed: nothing is new") {
    fs::remove(folder + "a.jpg");
    run(source.appending());
    CHECK(sample_paths(source.dir.path("set")) == before);
    const VerifyResult result = verify_against(source);
    CHECK(result.errors == 2);  // .cls and .jpg of the removed file
    for (const Problem& problem : result.problems) CHECK(problem.code == "not_in_source");
  }
  SUBCASE("one is added beside it: it is the only new one") {
    write_file(folder + "b.png", fake_jpeg("b.png"));
    run(source.appending());
    std::set<std::string> after = before;
    after.insert("class_0/b.png");
    CHECK(sample_paths(source.dir.path("set")) == after);
    run(source.appending());
    CHECK(sample_paths(source.dir.path("set")) == after);
    CHECK(verify_against(source).errors == 0);
  }
}

TEST_CASE("a mask that no longer exists does not matter for a sample of the set, and is missed for a new one") {
  const GrowingSource source;
  fs::copy(source.dir.path("src"), source.dir.path("masks"), fs::copy_options::recursive);
  ConvertOptions options = source.options();
  options.sharding.fields = {"mask.jpg=../masks/{dir}/{name}"};
  run(options);
  const std::set<std::string> before = sample_paths(source.dir.path("set"));
  fs::remove(source.dir.path("masks/class_0/img_001.jpg"));
  options.append = true;
  run(options);
  CHECK(sample_paths(source.dir.path("set")) == before);
  write_file(source.dir.path("src/class_0/new.jpg"), fake_jpeg("new"));
  Context context;
  const ConvertResult result = try_convert(options, context);
  REQUIRE(result.bad_files.size() == 1);
  CHECK(result.bad_files.front().path == "../masks/class_0/new.jpg");
  write_file(source.dir.path("masks/class_0/new.jpg"), fake_jpeg("mask"));
  CHECK(run(options).samples == 1);
}

TEST_CASE("copies with other times are known by their size with --identity size") {
  const GrowingSource source;
  run(source.options());
  source.grow();
  fs::last_write_time(source.dir.path("src/class_0/img_001.jpg"), fs::file_time_type::clock::now());
  CHECK(contains(refusal(source.appending(), ErrorCode::conflict), "--identity size"));
  ConvertOptions options = source.appending();
  options.identity = FileIdentity::size;
  CHECK(run(options).samples == 20);
}

TEST_CASE("a command without --append does not undo one with it") {
  const GrowingSource source;
  run(source.options());
  source.grow();
  run(source.appending());
  fs::remove_all(source.dir.path("src/class_1"));
  const std::string before = read_file(source.dir.path("set/manifest.json"));
  CHECK(contains(refusal(source.options(), ErrorCode::conflict), "run this command with --append"));
  CHECK(read_file(source.dir.path("set/manifest.json")) == before);
}

namespace {

/// What readers of a folder get of it.
std::string seen_by_readers(const std::string& folder) {
  Context context;
  const VerifyResult verified = verify({.shards = {folder}}, context);
  std::string text =
      fmt::format("{} errors, {} shards, {} samples;", verified.errors, verified.shards, verified.samples);
  ls({.shards = {folder}}, context, [&](const LsRow& row) { text += fmt::format("{} {};", row.shard, row.name); });
  const TempDir elsewhere;
  StageOptions staging;
  staging.sources = {folder};
  staging.target = elsewhere.path("copy");
  stage(staging, context);
  for (const auto& [name, content] : tree_content(staging.target))
    if (!name.starts_with(".shardkit") || name.ends_with(".index"))
      text += name + "=" + to_hex(xxh3_64(as_bytes(content))) + ";";
  return text;
}

/// The files that programs see which list *.tar.
std::set<std::string> tars_in(const std::string& folder) {
  std::set<std::string> tars;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".tar") tars.insert(entry.path().filename());
  return tars;
}

/// What readers saw while a set became another one.
class Watch {
 public:
  Watch(const std::string& before, const std::string& after)
      : after_(after),
        old_(seen_by_readers(before)),
        new_(seen_by_readers(after)),
        old_tars_(tars_in(before)),
        new_tars_(tars_in(after)) {
    CHECK(old_ != new_);
  }
  void look(const std::string& folder) {
    const std::string seen = seen_by_readers(folder);
    CHECK_MESSAGE((seen == old_ || seen == new_), seen);
    (seen == old_ ? saw_old_ : saw_new_) = true;
    const std::set<std::string> tars = tars_in(folder);
    if (tars == (seen == old_ ? old_tars_ : new_tars_)) return;
    ++between_;
    CHECK(std::ranges::includes(tars, old_tars_));
    CHECK(std::ranges::includes(new_tars_, tars));
    for (const std::string& tar : tars) CHECK(read_file(folder + "/" + tar) == read_file(after_ + "/" + tar));
  }
  bool saw_both() const { return saw_old_ && saw_new_; }
  /// How often the tars were neither the old nor the new ones.
  std::uint64_t between() const { return between_; }

 private:
  std::string after_, old_, new_;
  std::set<std::string> old_tars_, new_tars_;
  bool saw_old_ = false, saw_new_ = false;
  std::uint64_t between_ = 0;
};

}  // namespace

TEST_CASE("readers see the old set or the new one, at any moment of an --append and after a kill at any moment") {
  const GrowingSource source;
  run(source.options("old"));
  run(source.options("new"));
  source.add(1, 0, 12);
  run(source.appending("new"));
  const std::string set = source.dir.path("set");
  Watch running(source.dir.path("old"), source.dir.path("new"));
  Watch killed(source.dir.path("old"), source.dir.path("new"));
  bool began = true;
  for (std::uint64_t moment = 1; std::exchange(began, false); ++moment) {
    CAPTURE(moment);
    for (const bool kill : {false, true}) {
      fs::remove_all(set);
      fs::copy(source.dir.path("old"), set, fs::copy_options::recursive);
      ForgetfulFileSystem files;
      files.act_at(moment, [&] {
        began = true;
        if (!kill) running.look(set);
      });
      if (kill) files.fail_at(moment, ErrorCode::io);
      Context context;
      try {
        convert_on(files, source.appending(), context);
      } catch (const Error&) {
      }
      if (kill) killed.look(set);
    }
  }
  CHECK(running.saw_both());
  CHECK(killed.saw_both());
  for (const Watch* watch : {&running, &killed}) {
    CHECK(watch->between() > 0);  // from the move of the first of two shards to that of the manifest
    CHECK(watch->between() <= 8);
  }
}

TEST_CASE("an unfinished --append is discarded whatever of its own files is damaged") {
  const GrowingSource source;
  leave_append_unfinished(source);
  const std::string unfinished = source.dir.path("unfinished");
  fs::copy(source.dir.path("set"), unfinished, fs::copy_options::recursive);
  for (const std::string name : {"plan", "part-00000-of-00002.json"}) {
    const std::string state = "/.shardkit/append-1/.shardkit/";
    const std::string good = read_file(unfinished + state + name);
    for (const std::size_t at : {std::size_t{3}, good.size() / 2, good.size() - 3}) {
      CAPTURE(name);
      CAPTURE(at);
      fs::remove_all(source.dir.path("set"));
      fs::copy(unfinished, source.dir.path("set"), fs::copy_options::recursive);
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      write_file(source.dir.path("set" + state + name), bad);
      ConvertOptions again = source.appending();
      if (name == "plan") CHECK_THROWS_WITH_AS(run(again), doctest::Contains("add --discard to this command"), Error);
      again.discard = true;
      run(again);
      CHECK(source.problems() == 0);
      CHECK(source.manifest().samples == 36);
    }
  }
}

TEST_CASE("a discard removes no shard of somebody else that has a later number") {
  const GrowingSource source;
  leave_append_unfinished(source);
  write_file(source.dir.path("set/shard-900000.tar"), "of somebody else");
  ConvertOptions again = source.appending();
  again.discard = true;
  fs::remove(source.dir.path("src/class_1/img_003.jpg"));
  run(again);
  CHECK(read_file(source.dir.path("set/shard-900000.tar")) == "of somebody else");
}

TEST_CASE("a damaged plan of a finished set is found by verify, and its set can be written again") {
  const GrowingSource source;
  run(source.options());
  source.grow();
  run(source.appending());
  for (const char* name : {"plan", "plan-1"}) {
    CAPTURE(name);
    const std::string path = source.dir.path(std::string("set/.shardkit/") + name);
    const std::string good = read_file(path);
    std::string bad = good;
    bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
    write_file(path, bad);
    Context context;
    const VerifyResult found = verify({.shards = {source.dir.path("set")}}, context);
    CHECK(found.errors == 1);
    CHECK(found.problems.at(0).code == "plan_damaged");
    REQUIRE(found.remedies.size() == 1);
    CHECK(contains(found.remedies.front(), "reshard "));
    CHECK(contains(refusal(source.appending(), ErrorCode::corrupt), "into an empty folder"));
    ReshardOptions resharding;
    resharding.inputs = {source.dir.path("set")};
    resharding.target = source.dir.path(std::string("again-") + name);
    CHECK(reshard(resharding, context).samples == 36);
    write_file(path, good);
  }
}

TEST_CASE("an unfinished --append whose source has changed is discarded by what its message says") {
  const GrowingSource source;
  ConvertOptions options = source.options();
  options.index = {"dali", "wids", "energon"};
  run(options);
  const auto before = tree_content(source.dir.path("set"));
  source.grow();
  ConvertOptions part = source.appending();
  part.part = "1/2";
  part.index = {"dali"};
  run(part);
  fs::remove(source.dir.path("src/class_1/img_003.jpg"));
  CHECK(contains(refusal(source.appending(), ErrorCode::conflict), "add --discard to this command"));
  ConvertOptions discarding = source.appending();
  discarding.discard = true;

  SUBCASE("and the new one is written") {
    run(discarding);
    CHECK(source.manifest().samples == 16 + 4 + 11 + 4);
    CHECK(source.problems() == 0);
  }
  SUBCASE("with the parts of the new one, which all have the option") {
    for (const char* name : {"0/3", "2/3", "1/3"}) {
      discarding.part = name;
      run(discarding);
    }
    Context context;
    MergeOptions merging;
    merging.target = source.dir.path("set");
    CHECK(merge(merging, context).samples == 16 + 4 + 11 + 4);
    CHECK(source.problems() == 0);
  }
  SUBCASE("a dry run of it removes nothing") {
    const auto unfinished = tree_content(source.dir.path("set"));
    discarding.dry_run = true;
    Context context;
    convert(discarding, context);
    CHECK(tree_content(source.dir.path("set")) == unfinished);
  }
  SUBCASE("and nothing of it stays if no file is new") {
    fs::remove_all(source.dir.path("src/class_1"));
    for (const char* folder : {"class_0", "class_2"}) {
      for (int i = 8; i < 12; ++i) fs::remove(source.dir.path(fmt::format("src/{}/img_{:03}.jpg", folder, i)));
    }
    run(discarding);
    CHECK(tree_content(source.dir.path("set")) == before);
  }
}

TEST_CASE("--discard continues an unfinished --append of the same files, and never touches a finished one") {
  const GrowingSource source;
  run(source.options());
  source.grow();
  ConvertOptions options = source.appending();
  options.part = "0/2";
  run(options);
  options.part.clear();
  options.discard = true;
  CHECK(run(options).shards_reused == 2);
  const auto finished = tree_content(source.dir.path("set"));
  run(options);
  CHECK(tree_content(source.dir.path("set")) == finished);
  options.append = false;
  refusal(options, ErrorCode::usage);
}

namespace {

/// A set, what --append adds to it, and another --append into it from another folder.
struct TwoAppends {
  GrowingSource source;
  ConvertOptions one = source.appending();
  ConvertOptions other = source.appending();

  TwoAppends() {
    run(source.options("old"));
    source.grow();
    for (const char* name : {"a", "b"})
      write_file(source.dir.path(fmt::format("day2/class_3/{}.jpg", name)), fake_jpeg(name));
    other.source = source.dir.path("day2");
  }
  /// The set as it was at first.
  void reset() const {
    fs::remove_all(source.dir.path("set"));
    fs::copy(source.dir.path("old"), source.dir.path("set"), fs::copy_options::recursive);
  }
  void check_whole() const {
    CHECK(source.manifest().samples == 16 + 20 + 2);
    CHECK(sample_paths(source.dir.path("set")).size() == 16 + 20 + 2);
    Context context;
    const VerifyResult result = verify({.shards = {source.dir.path("set")}}, context);
    CHECK(result.errors == 0);
    for (const auto& entry : fs::directory_iterator(source.dir.path("set/.shardkit")))
      CHECK(entry.path().extension() != ".run");
  }
};

/// Whether it ended; else it was refused because of another run, and a retry helps.
bool ends(const std::function<void()>& convert) {
  try {
    convert();
    return true;
  } catch (const Error& error) {
    CHECK_MESSAGE(error.code() == ErrorCode::in_use, std::string(error.what()));
    return false;
  }
}

}  // namespace

TEST_CASE("of two appends at once one is refused, whenever the second begins, and both end up in the set") {
  const TwoAppends appends;
  ConvertOptions other = appends.other;
  SUBCASE("") {}
  SUBCASE("also if the second would discard the first") { other.discard = true; }
  std::uint64_t refused = 0;
  bool began = true;
  for (std::uint64_t moment = 1; std::exchange(began, false); ++moment) {
    CAPTURE(moment);
    appends.reset();
    ForgetfulFileSystem files;
    bool other_ended = false;
    files.act_at(moment, [&] {
      began = true;
      other_ended = ends([&] { run(other); });
    });
    Context context;
    const bool one_ended = ends([&] { convert_on(files, appends.one, context); });
    CHECK((one_ended || other_ended));
    if (one_ended && !other_ended) ++refused;
    if (!one_ended) run(appends.one);
    if (!other_ended) run(other);
    appends.check_whole();
  }
  CHECK(refused > 20);
}

TEST_CASE("the same --append twice at once is harmless at any moment") {
  const TwoAppends appends;
  appends.reset();
  run(appends.one);
  const auto expected = tree_content(appends.source.dir.path("set"));
  bool began = true;
  for (std::uint64_t moment = 1; std::exchange(began, false); ++moment) {
    CAPTURE(moment);
    appends.reset();
    ForgetfulFileSystem files;
    files.act_at(moment, [&] {
      began = true;
      run(appends.one);
    });
    Context context;
    convert_on(files, appends.one, context);
    CHECK(tree_content(appends.source.dir.path("set")) == expected);
  }
}

TEST_CASE("an --append that was killed at any moment can be discarded, and appended again after another") {
  const TwoAppends appends;
  ConvertOptions discarding = appends.other;
  discarding.discard = true;
  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    appends.reset();
    ForgetfulFileSystem files;
    files.fail_at(moment, ErrorCode::io);
    Context context;
    try {
      convert_on(files, appends.one, context);
    } catch (const Error&) {
    }
    run(discarding);
    run(appends.one);
    appends.check_whole();
    if (!files.failed()) break;
  }
}

TEST_CASE("a kill or a power cut at any moment of a discard is repaired by the next one") {
  const TwoAppends appends;
  ConvertOptions part = appends.one;
  part.part = "0/2";
  ConvertOptions discarding = appends.other;
  discarding.discard = true;
  const std::string set = appends.source.dir.path("set");
  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    appends.reset();
    run(part);
    ForgetfulFileSystem files;
    files.know(set);
    files.fail_at(moment, ErrorCode::io);
    Context context;
    try {
      convert_on(files, discarding, context);
    } catch (const Error&) {
    }
    std::map<std::string, std::string> killed;
    for (const auto& [name, content] : tree_content(set)) killed[set + "/" + name] = content;
    for (const auto& left : {killed, files.after_power_cut(), files.after_power_cut_names_first()}) {
      fs::remove_all(set);
      for (const auto& [path, content] : left) write_file(path, content);
      run(discarding);
      run(appends.one);
      appends.check_whole();
    }
    if (!files.failed()) break;
  }
}

TEST_CASE("a class whose name is not UTF-8 is listed once, also after --append") {
  TempDir dir;
  ConvertOptions options;
  options.source = dir.path("src");
  options.target = dir.path("set");
  options.append = true;
  for (const char* name : {"1", "2"}) {
    write_file(dir.path(fmt::format("src/caf\xe9/{}.jpg", name)), fake_jpeg());
    run(options);
  }
  const std::string path = dir.path("set/manifest.json");
  const Manifest manifest = read_manifest(read_file(path), path);
  REQUIRE(manifest.classes.size() == 1);
  CHECK(manifest.classes[0].samples == 2);
}

TEST_CASE("another plan waits for the runs of a target, whatever makes it") {
  const GrowingSource source;
  run(source.options());
  const std::string state = source.dir.path("set/.shardkit");
  const auto files = io::posix_file_system();
  io::RunFile live(*files, state);
  const auto waits = [&](const auto& command) {
    try {
      command();
      FAIL("not refused");
    } catch (const Error& error) {
      CHECK_MESSAGE(error.code() == ErrorCode::in_use, error.what());
      CHECK(contains(error.what(), fmt::format("process {} on host", ::getpid()).c_str()));
    }
  };
  Context context;
  live.follow(source.manifest().plan_hash);
  ConvertOptions options = source.options();
  run(options);  // of the same plan
  SUBCASE("convert") {
    options.sharding.samples = 7;
    waits([&] { run(options); });
  }
  SUBCASE("convert --append of a finished set") {
    source.grow();
    waits([&] { run(source.appending()); });
  }
  SUBCASE("reshard") {
    run(source.options("other"));
    ReshardOptions resharding;
    resharding.inputs = {source.dir.path("other")};
    resharding.target = source.dir.path("set");
    waits([&] { reshard(resharding, context); });
  }
  SUBCASE("index --replace") {
    IndexOptions indexing;
    indexing.shards = {source.dir.path("set")};
    indexing.replace = true;
    waits([&] { index(indexing, context); });
  }
  SUBCASE("merge and index while another run discards") {
    live.follow("discard");
    MergeOptions merging;
    merging.target = source.dir.path("set");
    waits([&] { merge(merging, context); });
    waits([&] { run(source.options()); });
  }
  CHECK(source.manifest().samples == 16);
}

TEST_CASE("a run that others took for dead publishes nothing") {
  const TwoAppends appends;
  appends.reset();
  ForgetfulFileSystem files;
  files.act_at(60, [&] {
    for (const auto& entry : fs::directory_iterator(appends.source.dir.path("set/.shardkit")))
      if (entry.path().extension() == ".run") fs::remove(entry.path());
  });
  const std::string before = read_file(appends.source.dir.path("set/manifest.json"));
  Context context;
  CHECK_FALSE(ends([&] { convert_on(files, appends.one, context); }));
  CHECK(read_file(appends.source.dir.path("set/manifest.json")) == before);
}

TEST_CASE(
    "a slower convert that others took for dead leaves the manifest of an --append, unless it was writing its own") {
  const GrowingSource small;
  const GrowingSource grown;
  grown.grow();
  std::uint64_t appended = 0;
  std::uint64_t replaced = 0;
  bool began = true;
  for (std::uint64_t moment = 1; std::exchange(began, false); ++moment) {
    CAPTURE(moment);
    fs::remove_all(small.dir.path("set"));
    ConvertOptions appending = grown.appending();
    appending.target = small.dir.path("set");
    appending.identity = FileIdentity::size;
    ConvertOptions slow = small.options();
    slow.identity = FileIdentity::size;
    bool has_appended = false;
    ForgetfulFileSystem files;
    files.act_at(moment, [&] {
      began = true;
      if (fs::exists(small.dir.path("set/.shardkit"))) {
        for (const auto& entry : fs::directory_iterator(small.dir.path("set/.shardkit")))
          if (entry.path().extension() == ".run") fs::remove(entry.path());
      }
      has_appended = ends([&] {
        run(slow);
        run(appending);
      });
    });
    Context context;
    ends([&] { convert_on(files, slow, context); });
    appended += has_appended ? 1 : 0;
    replaced += has_appended && small.manifest().samples < 36 ? 1 : 0;
  }
  CHECK(appended > 10);
  CHECK(replaced <= 4);  // it has looked, and creates, writes, syncs and renames the manifest
}

TEST_CASE("a power cut at any moment of an --append leaves the old set or the new one, and the next run ends it") {
  const GrowingSource source;
  const auto indexed = [](ConvertOptions options) {
    options.index = {"dali", "wids"};
    return options;
  };
  run(indexed(source.options("old")));
  run(indexed(source.options("new")));
  const auto old_set = tree_content(source.dir.path("old"));
  source.add(1, 0, 12);
  run(indexed(source.appending("new")));
  const auto new_set = tree_content(source.dir.path("new"));
  const std::string target = source.dir.path("set");

  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    fs::remove_all(target);
    fs::copy(source.dir.path("old"), target, fs::copy_options::recursive);
    ForgetfulFileSystem files;
    files.know(target);
    files.fail_at(moment, ErrorCode::io);
    Context interrupted;
    try {
      convert_on(files, source.appending(), interrupted);
    } catch (const Error&) {
    }
    for (const auto& cut : {files.after_power_cut(), files.after_power_cut_names_first()}) {
      fs::remove_all(target);
      for (const auto& [path, content] : cut) write_file(path, content);
      const auto left = tree_content(target);
      const bool is_new = left.at("manifest.json") == new_set.at("manifest.json");
      CHECK((is_new || left.at("manifest.json") == old_set.at("manifest.json")));
      for (const auto& [name, content] : is_new ? new_set : old_set) {
        if (is_shard(name)) CHECK(left.at(name) == content);
      }
      run(source.appending());
      CHECK(tree_content(target) == new_set);
    }
    if (!files.failed()) {
      CHECK(moment > 20);
      break;
    }
  }
}

TEST_CASE("the parts of an --append are joined, whenever merge is killed, or another one ends before it") {
  const GrowingSource source;
  for (const char* target : {"whole", "parts"}) run(source.options(target));
  source.add(1, 0, 12);
  run(source.appending("whole"));
  const auto expected = tree_content(source.dir.path("whole"));
  for (const char* part : {"0/2", "1/2"}) {
    ConvertOptions options = source.appending("parts");
    options.part = part;
    run(options);
  }
  MergeOptions merging;
  merging.target = source.dir.path("set");
  bool began = true;
  for (std::uint64_t moment = 1; std::exchange(began, false); ++moment) {
    CAPTURE(moment);
    for (const bool kill : {false, true}) {
      CAPTURE(kill);
      fs::remove_all(merging.target);
      fs::copy(source.dir.path("parts"), merging.target, fs::copy_options::recursive);
      ForgetfulFileSystem files;
      Context context;
      files.act_at(moment, [&] {
        began = true;
        if (!kill) CHECK(merge(merging, context).samples == 28);
      });
      if (kill) files.fail_at(moment, ErrorCode::io);
      try {
        merge_on(files, merging, context);
      } catch (const Error&) {
        CHECK(kill);
      }
      CHECK(merge(merging, context).samples == 28);
      CHECK(tree_content(merging.target) == expected);
    }
  }
}

TEST_CASE("an --append that an earlier version began in the set itself is ended by its plan, then another one adds") {
  const GrowingSource source;
  run(source.options());
  run(source.options("new"));
  source.grow();
  run(source.appending("new"));
  for (const char* name : {".shardkit/plan-1", ".shardkit/shard-000003.tar.index", "shard-000003.tar"})
    fs::copy(source.dir.path(std::string("new/") + name), source.dir.path(std::string("set/") + name));
  SUBCASE("by --append") { run(source.appending()); }
  SUBCASE("by the command without it") { run(source.options()); }
  SUBCASE("by parts") {
    for (const char* part : {"1/2", "0/2"}) {
      ConvertOptions options = source.options();
      options.part = part;
      run(options);
    }
    Context context;
    MergeOptions merging;
    merging.target = source.dir.path("set");
    merge(merging, context);
  }
  CHECK(tree_content(source.dir.path("set")) == tree_content(source.dir.path("new")));
}

namespace {

/// A set of two plans, with what is expected of it.
struct AppendedSet : GrowingSource {
  std::map<std::string, std::string> expected;

  AppendedSet() {
    run(options());
    grow();
    run(appending());
    expected = tree_content(dir.path("set"));
  }
  std::string path(const std::string& name) const { return dir.path("set/" + name); }
  void lose(const std::string& name) const { fs::remove(path(name)); }
  void check_repaired() const { CHECK(tree_content(dir.path("set")) == expected); }
};

}  // namespace

TEST_CASE("what an appended set lacks is written again by convert, whatever generation it is of") {
  const AppendedSet set;
  const std::string first = "shard-000001.tar";
  const std::string second = "shard-000004.tar";
  for (const std::vector<std::string>& lost : {std::vector<std::string>{first},
                                               {second},
                                               {first, second},
                                               {first, "manifest.json"},
                                               {"manifest.json"},
                                               {shard_index_path(first)},
                                               {second, shard_index_path(second), "manifest.json"}}) {
    CAPTURE(lost.front());
    for (const std::string& name : lost) set.lose(name);
    run(set.options());
    set.check_repaired();
  }
  write_file(set.path(first), "short");
  CHECK(run(set.options()).shards_written == 1);
  set.check_repaired();
  write_file(set.path(shard_index_path(second)), "damaged");
  CHECK(run(set.options()).shards_written == 1);
  set.check_repaired();
  CHECK(contains(refusal(set.options(), ErrorCode::conflict), "run this command with --append"));
  set.lose(first);
  ConvertOptions other = set.options();
  other.sharding.samples = 7;
  CHECK(contains(refusal(other, ErrorCode::conflict), "used --samples 6, but this one asks for --samples 7"));
  CHECK_FALSE(fs::exists(set.path(first)));
}

TEST_CASE("an append into a set whose manifest is damaged repairs it first") {
  const AppendedSet set;
  write_file(set.path("manifest.json"), set.expected.at("manifest.json").substr(0, 300));
  run(set.appending());
  set.check_repaired();
  set.lose("shard-000001.tar");
  set.lose("manifest.json");
  write_file(set.dir.path("src/class_3/new.jpg"), fake_jpeg());
  CHECK(run(set.appending()).samples == 1);
  CHECK(set.manifest().samples == 37);
  CHECK(set.problems() == 0);
}

TEST_CASE("merge writes the manifest of all generations of a set") {
  const AppendedSet set;
  Context context;
  MergeOptions merging;
  merging.target = set.dir.path("set");
  for (const std::string& left : {std::string(), std::string("{\"shardkit-manifest\"")}) {
    set.lose("manifest.json");
    if (!left.empty()) write_file(set.path("manifest.json"), left);
    CHECK(merge(merging, context).samples == 36);
    set.check_repaired();
  }
  set.lose("shard-000001.tar");
  CHECK_THROWS_WITH_AS(merge(merging, context), doctest::Contains("shard-000001.tar"), Error);
}

TEST_CASE("a finished set whose source has grown gets back the shards that it lost") {
  const GrowingSource source;
  run(source.options());
  const auto expected = tree_content(source.dir.path("set"));
  source.grow();
  fs::remove(source.dir.path("set/shard-000001.tar"));
  refusal(source.appending(), ErrorCode::not_found);
  CHECK(run(source.options()).shards_written == 1);
  CHECK(tree_content(source.dir.path("set")) == expected);
  run(source.appending());
  CHECK(source.manifest().samples == 36);
}

TEST_CASE("an --append replaces no tar of somebody else that has a name of its shards") {
  const GrowingSource source;
  run(source.options());
  source.grow();
  const std::string tar = source.dir.path("set/shard-000004.tar");
  write_file(tar, "of somebody else");
  CHECK(contains(refusal(source.appending(), ErrorCode::conflict), "shard-000004.tar"));
  CHECK(read_file(tar) == "of somebody else");
  fs::remove(tar);
  ConvertOptions part = source.appending();
  part.part = "0/2";
  run(part);
  write_file(tar, "of somebody else");
  CHECK(contains(refusal(source.appending(), ErrorCode::conflict), "shard-000004.tar"));
  CHECK(read_file(tar) == "of somebody else");
  CHECK(source.manifest().samples == 16);
  fs::remove(tar);
  run(source.appending());
  CHECK(source.problems() == 0);
}
