// Bad files and sources that are away: what one run finds, and how the same target is finished.
#include <filesystem>

#include <sys/stat.h>

#include "dataset/convert/convert_support.hpp"
#include "dataset/image_samples.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/plan/plan.hpp"
#include "support/files.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

const std::string kHtml = "<html>404</html>";

/// A tree of 120 images of which three are bad, each in a way of its own, and the same tree when all were good.
struct Fixture {
  TempDir dir;
  ImageTree tree{dir.path("src")};
  std::vector<std::string> bad{"class_0/img_003.jpg", "class_1/img_007.jpg", "class_2/img_011.jpg"};
  std::map<std::string, std::string> good;

  Fixture() {
    tree.make();
    good = tree_content(tree.root);
    fs::copy(tree.root, dir.path("good"), fs::copy_options::recursive);
    write_file(path(0), kHtml);
    write_file(path(1), "");
    fs::remove(path(2));
    fs::create_symlink("nowhere", path(2));
  }

  std::string path(std::size_t number) const { return tree.root + "/" + bad[number]; }
  ConvertOptions options(const std::string& target) const {
    ConvertOptions options;
    options.source = tree.root;
    options.target = dir.path(target);
    options.sharding.samples = 8;
    options.threads = 2;
    return options;
  }
  ConvertOptions skipping(const std::string& target) const {
    ConvertOptions skipping = options(target);
    skipping.sharding.on_bad = OnBad::skip;
    return skipping;
  }
  /// Plans the source as it is now, for a convert by that plan.
  ConvertOptions planned(const std::string& target) const {
    ConvertOptions converting = options(target);
    PlanOptions planning;
    planning.source = converting.source;
    planning.output = converting.plan = dir.path("plan");
    planning.sharding = std::exchange(converting.sharding, {});
    Context context;
    plan(planning, context);
    return converting;
  }
  void correct() const {
    for (std::size_t i = 0; i < bad.size(); ++i) {
      fs::remove(path(i));
      write_file(path(i), good.at(bad[i]));
    }
  }
  void remove() const {
    for (std::size_t i = 0; i < bad.size(); ++i) fs::remove(path(i));
  }

  std::map<std::string, std::string> content(const std::string& target) const {
    std::map<std::string, std::string> content = tree_content(dir.path(target));
    content.erase(".shardkit/plan");
    return content;
  }
  std::map<std::string, std::string> tars(const std::string& target) const {
    std::map<std::string, std::string> content = tree_content(dir.path(target));
    std::erase_if(content, [](const auto& file) { return !file.first.ends_with(".tar"); });
    return content;
  }
  /// The shards of the tree without faults.
  std::map<std::string, std::string> good_tars() const {
    ConvertOptions whole = options("of-good");
    whole.source = dir.path("good");
    run(whole);
    return tars("of-good");
  }
};

ConvertResult tried(const ConvertOptions& options) {
  Context context;
  return try_convert(options, context);
}

std::vector<std::string> paths(const std::vector<formats::IndexSkip>& files) {
  std::vector<std::string> paths;
  for (const formats::IndexSkip& file : files) paths.push_back(file.path);
  return paths;
}

}  // namespace

TEST_CASE("one run finds all bad files, finishes all other shards, and publishes none that has one") {
  const Fixture f;
  const ConvertResult result = tried(f.options("out"));
  REQUIRE(result.failure);
  CHECK(result.failure->code() == ErrorCode::corrupt);
  CHECK(paths(result.bad_files) == f.bad);
  CHECK(result.bad == 3);
  for (const std::string& path : f.bad) CHECK(contains(result.failure->what(), path.c_str()));
  CHECK(!fs::exists(f.dir.path("out/manifest.json")));
  CHECK(f.tars("out").size() == result.shards_written);
  CHECK(result.shards_written >= 12);
  CHECK(result.shards_written < 15);
  const auto expected = f.good_tars();
  for (const auto& [name, bytes] : f.tars("out")) CHECK(bytes == expected.at(name));
  CHECK(paths(tried(f.options("out")).bad_files) == f.bad);  // again, by reading only their shards
}

TEST_CASE("each remedy works on the same target, and writes only the shards concerned") {
  for (const bool planned : {false, true}) {
    for (const char* remedy : {"skip", "delete", "correct"}) {
      CAPTURE(planned);
      CAPTURE(remedy);
      const Fixture f;
      ConvertOptions options = f.options("out");
      if (planned) {
        fs::remove(f.path(2));
        write_file(f.path(2), kHtml);  // a plan is not made of files that cannot be read
        options = f.planned("out");
      }
      const std::uint64_t before = tried(options).shards_written;
      ConvertOptions skipping = options;
      skipping.sharding.on_bad = OnBad::skip;
      skipping.target = f.dir.path("skipped");
      run(skipping);
      ConvertOptions again = options;
      if (remedy == std::string("skip")) again.sharding.on_bad = OnBad::skip;
      if (remedy == std::string("delete")) f.remove();
      if (remedy == std::string("correct")) f.correct();
      const ConvertResult result = run(again);
      CHECK(result.shards_reused == before);
      CHECK(result.shards == 15);
      if (remedy == std::string("skip")) CHECK(f.content("out") == f.content("skipped"));
      CHECK(f.tars("out") == (remedy == std::string("correct") ? f.good_tars() : f.tars("skipped")));
      CHECK(result.samples == (remedy == std::string("correct") ? 120 : 117));
      CHECK(run(again).shards_written == 0);
    }
  }
}

TEST_CASE("pipes, and masks or listed files that are not there, are bad files among the others, and can be corrected") {
  for (const bool skips : {false, true}) {
    for (const std::string kind : {"pipe", "mask", "listed"}) {
      CAPTURE(skips);
      CAPTURE(kind);
      const Fixture f;
      ConvertOptions options = skips ? f.skipping("out") : f.options("out");
      std::string absent = f.tree.path(1, 20);
      if (kind == "mask") {
        fs::copy(f.dir.path("good"), f.dir.path("masks"), fs::copy_options::recursive);
        options.sharding.fields = {"mask.jpg=../masks/{dir}/{name}"};
        absent = f.dir.path("masks/class_1/img_020.jpg");
      } else if (kind == "listed") {
        std::string rows = "path,label\n";
        for (const auto& [path, content] : f.good) rows += path + "," + path.substr(6, 1) + "\n";
        write_file(f.dir.path("list.csv"), rows);
        options.sharding.images.list = f.dir.path("list.csv");
        options.sharding.images.label_column = "label";
      }
      const std::string content = read_file(absent);
      fs::remove(absent);
      if (kind == "pipe") REQUIRE(::mkfifo(absent.c_str(), 0600) == 0);
      const ConvertResult result = tried(options);
      CHECK(result.failure.has_value() != skips);
      CHECK(result.bad + result.skipped == 4);
      CHECK(result.shards_written >= (skips ? 15 : 10));
      f.correct();
      fs::remove(absent);
      write_file(absent, content);
      CHECK(run(options).samples == 120);
      ConvertOptions whole = options;
      whole.target = f.dir.path("whole");
      run(whole);
      CHECK(f.tars("out") == f.tars("whole"));
    }
  }
}

TEST_CASE("more files that are not there than may be missing by chance stop the scan") {
  const Fixture f;
  for (std::uint64_t i = 20; i < 30; ++i) {
    fs::remove(f.tree.path(0, i));
    fs::create_symlink("nowhere", f.tree.path(0, i));
  }
  const std::string text = refusal(f.options("out"), ErrorCode::not_found);
  CHECK(contains(text, "--on-bad skip --max-bad 11 (or more: files are read while they are converted)"));
  CHECK_FALSE(fs::exists(f.dir.path("out")));
  CHECK(contains(refusal(f.skipping("out"), ErrorCode::not_found), "11 files cannot be used, more than --max-bad"));
}

TEST_CASE("files that were left out are taken in when they are good; others of the plan must not change") {
  const Fixture f;
  CHECK(run(f.skipping("out")).skipped == 3);
  CHECK(run(f.skipping("out")).shards_written == 0);
  f.correct();
  const ConvertResult result = run(f.skipping("out"));
  CHECK(result.samples == 120);
  CHECK(result.skipped == 0);
  CHECK(f.tars("out") == f.good_tars());
  CHECK(run(f.skipping("out")).shards_written == 0);
  write_file(f.path(0), f.good.at(f.bad[0]) + "changed again");
  CHECK(contains(refusal(f.skipping("out"), ErrorCode::conflict), "img_003.jpg"));
}

TEST_CASE("a bad file that was corrected at equal size is taken, and what else was left out stays out") {
  for (const OnBad later : {OnBad::skip, OnBad::fail}) {
    const Fixture f;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t size = f.good.at(f.bad[i]).size();
      write_file(f.path(i), kHtml + std::string(size - kHtml.size(), 'x'));
    }
    ConvertOptions options = f.skipping("out");
    options.sharding.samples = 1000;
    CHECK(run(options).skipped == 3);
    write_file(f.path(0), f.good.at(f.bad[0]));
    options.sharding.on_bad = later;
    const ConvertResult result = run(options);
    CHECK(result.samples == 118);
    CHECK(result.skipped == 2);
  }
}

TEST_CASE("a set of which every file is bad is a failure, and nothing to verify") {
  TempDir dir;
  for (const char* name : {"a", "b"}) write_file(dir.path(fmt::format("src/cat/{}.jpg", name)), kHtml);
  ConvertOptions options;
  options.source = dir.path("src");
  options.target = dir.path("out");
  options.sharding.on_bad = OnBad::skip;
  CHECK(contains(refusal(options, ErrorCode::corrupt), "no sample is left"));
  write_file(dir.path("src/cat/a.jpg"), fake_jpeg());
  CHECK(run(options).samples == 1);
}

TEST_CASE("a Git LFS pointer is named, as an image and as any other file of a sample") {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n";
  for (const char* file : {"src/cat/a.jpg", "src/cat/a.txt"}) {
    TempDir dir;
    write_file(dir.path("src/cat/a.jpg"), fake_jpeg());
    write_file(dir.path(file), pointer);
    ConvertOptions options;
    options.source = dir.path("src");
    options.target = dir.path("out");
    options.sharding.validate = Validate::none;
    CHECK(contains(refusal(options, ErrorCode::corrupt), "git lfs pull"));
  }
}

TEST_CASE("a plan of which no shard was written gives way to another one") {
  TempDir dir;
  for (const char* name : {"a", "b"}) write_file(dir.path(fmt::format("src/cat/{}.jpg", name)), fake_jpeg());
  write_file(dir.path("masks/a.png"), "png");
  ConvertOptions options;
  options.source = dir.path("src");
  options.target = dir.path("out");
  options.sharding.validate = Validate::none;
  options.sharding.fields = {"mask.png=../masks/{stem}.png"};
  CHECK(contains(refusal(options, ErrorCode::not_found), "'NAME?=...'"));
  options.sharding.fields = {"mask.png?=../masks/{stem}.png"};
  options.dry_run = true;
  Context dry;
  CHECK(convert(options, dry).dry_run);
  CHECK(fs::exists(dir.path("out/.shardkit/shard-000000.tar.bad")));
  options.dry_run = false;
  Context context;
  CHECK(convert(options, context).samples == 2);
  CHECK_FALSE(fs::exists(dir.path("out/.shardkit/shard-000000.tar.bad")));
  options.sharding.fields = {"mask2.png?=../masks/{stem}.png"};
  CHECK(contains(refusal(options, ErrorCode::conflict), "contains a finished set of another plan"));
}

TEST_CASE("a file may be corrected again until the set is finished: its last state counts") {
  for (const bool parts : {false, true}) {
    CAPTURE(parts);
    const Fixture f;
    ConvertOptions options = f.options("out");
    const auto convert_all = [&] {
      for (const char* part : {"0/2", "1/2"}) {
        if (parts) options.part = part;
        tried(options);
        if (!parts) break;
      }
    };
    convert_all();
    for (const char* content : {"first", "second", "", "last state"}) {
      if (*content != '\0') write_file(f.path(0), fake_jpeg(content));
      if (*content == '\0') fs::remove(f.path(0));
      convert_all();
      CHECK(!fs::exists(f.dir.path("out/manifest.json")));
    }
    write_file(f.path(1), f.good.at(f.bad[1]));
    fs::remove(f.path(2));
    write_file(f.path(2), f.good.at(f.bad[2]));
    convert_all();
    Context context;
    if (parts) merge({f.dir.path("out"), false}, context);
    CHECK(fs::exists(f.dir.path("out/manifest.json")));
    run(f.options("fresh"));
    CHECK(f.tars("out") == f.tars("fresh"));
    write_file(f.path(0), fake_jpeg("too late"));
    CHECK(contains(refusal(options, ErrorCode::conflict), "img_003.jpg"));
  }
}

TEST_CASE("a target with bad files is refused where anything else differs from its plan") {
  const Fixture f;
  tried(f.options("out"));
  write_file(f.tree.root + "/class_0/new.jpg", fake_jpeg());
  CHECK(contains(refusal(f.skipping("out"), ErrorCode::conflict), "class 'class_0' had 40 images, has 41"));
  fs::remove(f.tree.root + "/class_0/new.jpg");
  write_file(f.tree.path(1, 1), fake_jpeg("other"));
  CHECK(contains(refusal(f.skipping("out"), ErrorCode::conflict), "img_001.jpg"));
}

TEST_CASE("parts that find bad files are finished one by one and merged") {
  const Fixture f;
  const std::vector<std::string> parts{"0/3", "1/3", "2/3"};
  std::size_t bad = 0;
  for (const std::string& part : parts) {
    ConvertOptions options = f.options("out");
    options.part = part;
    bad += tried(options).bad;
  }
  CHECK(bad == 3);
  for (const std::string& part : parts) {
    ConvertOptions options = f.skipping("out");
    options.part = part;
    run(options);
  }
  Context context;
  CHECK(merge({f.dir.path("out"), false}, context).samples == 117);
  run(f.skipping("whole"));
  CHECK(f.content("out") == f.content("whole"));
}

TEST_CASE("a bad file that all samples share is one file and keeps shards open, and --max-bad counts each sample") {
  const Fixture f;
  write_file(f.dir.path("mask.jpg"), kHtml);
  for (const std::uint64_t samples : {8U, 60U, 120U}) {
    for (const std::uint64_t threads : {1U, 2U}) {  // which leave out samples of one shard, too
      CAPTURE(samples);
      CAPTURE(threads);
      ConvertOptions options = f.skipping(fmt::format("out-{}-{}", samples, threads));
      options.sharding.samples = samples;
      options.sharding.fields = {"mask.jpg=../mask.jpg"};
      options.threads = threads;
      for (int run = 0; run < 2; ++run)
        CHECK(contains(refusal(options, ErrorCode::corrupt), "but --max-bad allows only 10"));
      const std::string last = fmt::format("{}/.shardkit/shard-{:06}.tar.bad", options.target, 120 / samples - 1);
      CHECK(contains(read_file(last), "open"));
      CHECK(!fs::exists(options.target + "/manifest.json"));
    }
  }
}

TEST_CASE("--max-bad limits what is left out, and the message has the value that passes") {
  const Fixture f;
  for (int i = 20; i < 29; ++i) write_file(f.tree.path(0, static_cast<std::uint64_t>(i)), kHtml);
  ConvertOptions none_left_out = f.skipping("out");
  none_left_out.sharding.max_bad = "0";
  CHECK(contains(refusal(none_left_out, ErrorCode::corrupt), "--on-bad skip --max-bad 12`"));
  const std::string text = refusal(f.skipping("out"), ErrorCode::corrupt);
  CHECK(contains(text, "found 12 bad samples in '"));
  CHECK(contains(text, "--on-bad skip --max-bad 12`"));
  CHECK(!fs::exists(f.dir.path("out/manifest.json")));
  CHECK(contains(refusal(f.options("failing"), ErrorCode::corrupt), "--on-bad skip --max-bad 12`"));
  ConvertOptions enough = f.skipping("out");
  enough.sharding.max_bad = "12";
  CHECK(run(enough).skipped == 12);
  enough.sharding.max_bad = "5%";
  CHECK(contains(refusal(enough, ErrorCode::corrupt), "--max-bad allows only 6"));
  enough.sharding.max_bad = "10%";
  CHECK(run(enough).skipped == 12);
  for (const char* none : {"x", "-1", "101%", "%", "1.5"}) {
    enough.sharding.max_bad = none;
    CHECK(contains(refusal(enough, ErrorCode::usage), "--max-bad"));
  }
  CHECK(most_bad("", 100) == 10);
  CHECK(most_bad("", 5000) == 50);
  CHECK(most_bad("0", 5000) == 0);
  CHECK(most_bad("0.5%", 1000) == 5);
}

TEST_CASE("a source that went away stops the run, also where bad files are skipped, and nothing of it is recorded") {
  const Fixture f;
  f.correct();
  ConvertOptions options = f.planned("out");
  options.sharding.on_bad = OnBad::skip;

  fs::rename(f.tree.root, f.dir.path("away"));
  CHECK(contains(refusal(options, ErrorCode::not_found), f.tree.root.c_str()));
  fs::create_directory(f.tree.root);  // where it is mounted
  CHECK(contains(refusal(options, ErrorCode::not_found), "is the source mounted?"));
  ConvertOptions scanning = f.skipping("out");
  CHECK(contains(refusal(scanning, ErrorCode::not_found), "no class folders"));
  CHECK(!fs::exists(options.target));
  fs::remove(f.tree.root);
  fs::rename(f.dir.path("away"), f.tree.root);

  fs::rename(f.tree.root + "/class_1", f.dir.path("away"));
  CHECK(contains(refusal(options, ErrorCode::io), "class_1' of the plan no longer exists"));
  fs::create_directory(f.tree.root + "/class_1");  // 40 files gone at once
  const std::string text = refusal(options, ErrorCode::io);
  CHECK(contains(text, "no longer exist: is all of it mounted?"));
  CHECK(contains(text, "--max-bad 40`"));
  fs::remove(f.tree.root + "/class_1");
  fs::rename(f.dir.path("away"), f.tree.root + "/class_1");
  CHECK(run(options).samples == 120);
  CHECK(f.tars("out") == f.good_tars());

  fs::rename(f.tree.root + "/class_1", f.dir.path("away"));
  run(f.skipping("scanned"));
  fs::rename(f.dir.path("away"), f.tree.root + "/class_1");
  CHECK(contains(refusal(f.skipping("scanned"), ErrorCode::conflict), "class_1"));
  scanning.target = f.dir.path("scanned2");
  run(scanning);
  fs::rename(f.tree.root + "/class_1", f.dir.path("away"));
  CHECK(contains(refusal(scanning, ErrorCode::io), "class folder 'class_1' of the plan no longer exists"));
}

TEST_CASE("one file that is gone is a bad file, which only --on-bad skip leaves out") {
  const Fixture f;
  f.correct();
  ConvertOptions options = f.planned("out");
  fs::remove(f.path(0));
  for (int repetition = 0; repetition < 2; ++repetition) refusal(options, ErrorCode::not_found);
  options.sharding.on_bad = OnBad::skip;
  CHECK(run(options).samples == 119);
  write_file(f.path(0), f.good.at(f.bad[0]));
  CHECK(run(options).samples == 120);
}

TEST_CASE("the first bytes of every field with an image's extension are looked at, and nothing else by default") {
  const TempDir dir;
  ConvertOptions options;
  options.source = dir.path("src");
  const auto convert_with = [&](const std::string& name, const std::string& content, Validate validate, bool strict) {
    fs::remove_all(dir.path("src"));
    fs::remove_all(dir.path("out"));
    write_file(dir.path("src/a/1.jpg"), make_jpeg());
    write_file(dir.path("src/a/0.jpg"), make_jpeg());
    write_file(dir.path("src/a/0_mask.png"), kPng);  // a side-car that no image has is an error
    write_file(dir.path("src/a/" + name), content);
    options.target = dir.path("out");
    options.sharding.validate = validate;
    options.sharding.strict = strict;
    options.sharding.sidecars = {"_mask.png"};
    const ConvertResult result = tried(options);
    if (result.failure) return std::string("bad");
    return result.accepted.empty() ? std::string("good") : result.accepted.front().code;
  };
  using enum Validate;
  for (const std::string& none : {std::string(), kHtml, std::string("some text"), std::string("\0\0\0", 3)}) {
    for (const char* name : {"2.jpg", "2.PNG", "2.webp", "1_mask.png"}) {
      CAPTURE(name);
      CHECK(convert_with(name, none, magic, false) == "bad");
      CHECK(convert_with(name, none, Validate::none, false) == "good");
    }
    CHECK(convert_with("1.txt", none, decode, true) == "good");
  }
  const std::string jpeg = make_jpeg();
  const std::string endless = jpeg.substr(0, jpeg.size() - 2);
  for (const Validate validate : {magic, header, decode}) {
    CHECK(convert_with("2.jpg", jpeg, validate, true) == "good");
    CHECK(convert_with("2.JPEG", kPng, validate, false) == "image_other_format");
    CHECK(convert_with("2.JPEG", kPng, validate, true) == "bad");
    CHECK(convert_with("2.jpg", endless, validate, false) == "bad");
    for (const auto& [content, code] :
         {std::pair{endless + "\xFF\xD0", "image_damaged"}, {jpeg + "more", "image_data_after_end"}}) {
      CAPTURE(code);
      CHECK(convert_with("2.jpg", content, validate, false) == code);
      CHECK(convert_with("2.jpg", content, validate, true) == "bad");
      CHECK(convert_with("2.jpg", content, Validate::none, true) == "good");
    }
    for (const std::string& cut : {jpeg.substr(0, jpeg.size() / 2), kPng.substr(0, 29)}) {
      CHECK(convert_with("2.jpg", cut, validate, false) == "bad");
      CHECK(convert_with("2.jpg", cut, Validate::none, false) == "good");
      CHECK(convert_with("1_mask.png", cut, validate, false) == "bad");
    }
  }
}

TEST_CASE("with --identity size a copy with other times is converted by one plan; with mtime it is refused") {
  const Fixture f;
  f.correct();
  fs::copy(f.tree.root, f.dir.path("copy"), fs::copy_options::recursive);
  ConvertOptions first = f.options("out");
  first.part = "0/2";
  run(first);
  ConvertOptions second = first;
  second.source = f.dir.path("copy");
  second.part = "1/2";
  CHECK(contains(refusal(second, ErrorCode::conflict), "was modified since"));
  second.identity = FileIdentity::size;
  run(second);
  Context context;
  CHECK(merge({f.dir.path("out"), false}, context).samples == 120);
  CHECK(f.tars("out") == f.good_tars());
  write_file(f.dir.path("copy/class_0/img_000.jpg"), fake_jpeg("longer"));
  fs::remove(f.dir.path("out/shard-000014.tar"));
  run(second);  // the lost shard has none of the image that changed
  CHECK(f.tars("out") == f.good_tars());
}
