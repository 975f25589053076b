#include "dataset/convert/convert.hpp"

#include <filesystem>
#include <functional>
#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "dataset/extract/extract.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/plan/plan.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "support/files.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::io;
namespace fs = std::filesystem;

namespace {

/// A source tree and what converting it takes.
struct Fixture {
  TempDir dir;
  ImageTree tree{dir.path("src")};

  Fixture() { tree.make(); }

  ConvertOptions options(const std::string& target) const {
    ConvertOptions options;
    options.source = tree.root;
    options.target = dir.path(target);
    options.sharding.samples = 25;
    options.threads = 2;
    return options;
  }
  std::map<std::string, std::string> content(const std::string& target) const { return tree_content(dir.path(target)); }
};

/// The stages that the progress line announces are those that a convert has.
ConvertResult run(const ConvertOptions& options) {
  Context context;
  ConvertResult result = convert(options, context);
  CHECK(context.progress().stage == context.progress().stages);
  return result;
}

Error failure(const ConvertOptions& options) {
  try {
    run(options);
  } catch (const Error& error) {
    return error;
  }
  FAIL("converted as if nothing were wrong");
  return {ErrorCode::usage, ""};
}

bool says(const Error& error, const char* text) { return std::string(error.what()).find(text) != std::string::npos; }

}  // namespace

TEST_CASE("every sample of the source is in the shards, byte for byte, where the index says") {
  const Fixture f;
  const ConvertResult result = run(f.options("out"));
  CHECK(result.samples == 120);
  CHECK(result.shards == 5);
  std::size_t found = 0;
  for (const auto& [name, text] : f.content("out")) {
    if (!name.ends_with(".index")) continue;
    FileSource index(f.dir.path("out/" + name));
    ShardIndexVisitor visitor;
    std::string tar;
    visitor.sample = [&](IndexSample&& sample) {
      if (tar.empty()) tar = read_file(f.dir.path("out/" + name.substr(name.rfind('/') + 1, name.size() - 16)));
      const IndexMember& label = sample.members.at(0);
      const IndexMember& image = sample.members.at(1);
      CHECK(label.extension == "cls");
      CHECK(tar.substr(label.offset, label.size) == sample.path.substr(6, 1));
      CHECK(image.extension == "jpg");
      CHECK(tar.substr(image.offset, image.size) == read_file(f.tree.root + "/" + sample.path));
      CHECK(image.xxh3 == xxh3_64(as_bytes(tar.substr(image.offset, image.size))));
      CHECK(tar.substr(image.offset - 512).starts_with(sample.key + ".jpg"));
      ++found;
    };
    const ShardSummary summary = read_shard_index(index, name, visitor);
    CHECK(summary.xxh3_128 == xxh3_128(as_bytes(tar)));
    CHECK(summary.bytes == tar.size());
  }
  CHECK(found == 120);
}

TEST_CASE("the manifest names every shard with its checksum, and every class with its count") {
  const Fixture f;
  run(f.options("out"));
  const std::string path = f.dir.path("out/manifest.json");
  const Manifest manifest = read_manifest(read_file(path), path);
  CHECK(manifest.samples == 120);
  CHECK(manifest.shards.size() == 5);
  for (const ManifestShard& shard : manifest.shards) {
    CHECK(shard.xxh3_128 == xxh3_128(as_bytes(read_file(f.dir.path("out/" + shard.name)))));
  }
  CHECK(manifest.classes == std::vector<ManifestClass>{{"class_0", 0, 40}, {"class_1", 1, 40}, {"class_2", 2, 40}});
}

TEST_CASE("the bytes are the same for 1, 2 and 7 threads and for 1 and 3 parts") {
  const Fixture f;
  ConvertOptions options = f.options("t1");
  options.threads = 1;
  run(options);
  const auto expected = f.content("t1");
  for (const std::uint64_t threads : {2, 7}) {
    options = f.options("t" + std::to_string(threads));
    options.threads = threads;
    run(options);
    CHECK(f.content("t" + std::to_string(threads)) == expected);
  }
  for (const char* part : {"2/3", "0/3", "1/3"}) {
    options = f.options("parts");
    options.part = part;
    run(options);
  }
  Context context;
  CHECK(merge({f.dir.path("parts"), false}, context).parts == 3);
  CHECK(f.content("parts") == expected);
}

TEST_CASE("a plan whose reasons for files left out are worded otherwise is continued") {
  const Fixture f;
  ConvertOptions options = f.options("out");
  options.sharding.on_bad = OnBad::skip;
  run(options);
  REQUIRE(::mkfifo((f.tree.root + "/class_0/pipe.jpg").c_str(), 0600) == 0);
  const std::string path = f.dir.path("out/.shardkit/plan");
  FileSource source(path);
  const PlanReader plan(source, path);
  PlanHead head = plan.head();
  head.skipped.push_back({"class_0/pipe.jpg", {}});
  const auto write_other = [&](const std::string& target) {
    fs::create_directories(f.dir.path(target + "/.shardkit"));
    const auto files = posix_file_system();
    AtomicFile file(*files, f.dir.path(target + "/.shardkit/plan"));
    PlanWriter writer(file, head);
    for (std::size_t shard = 0; shard < plan.shards().size(); ++shard) {
      writer.begin_shard();
      PlanReader::ShardReader samples = plan.read_shard(shard);
      for (PlannedSample sample; samples.next(sample);) writer.add(sample);
    }
    writer.finish();
    file.commit();
    ConvertOptions again = f.options(target);
    again.sharding.on_bad = OnBad::skip;
    return again;
  };
  head.skipped.front().reason = "'/elsewhere/class_0/pipe.jpg' is not a regular file";
  CHECK(run(write_other("worded")).skipped_files.at(0).reason == head.skipped.front().reason);
  head.skipped.front().path = "class_0/another.jpg";
  // Another plan, of which no shard was written, gives way.
  CHECK(run(write_other("another")).skipped_files.at(0).path == "class_0/pipe.jpg");
}

TEST_CASE("a skipped file shortens its own shard and no other, in any number of threads and parts") {
  const Fixture f;
  fs::resize_file(f.tree.path(1, 7), 0);
  ConvertOptions options = f.options("whole");
  options.sharding.validate = Validate::none;
  run(options);
  const auto whole = f.content("whole");

  const auto skipping = [&](const std::string& target, std::uint64_t threads) {
    ConvertOptions skip = f.options(target);
    skip.sharding.validate = Validate::header;  // refuses all of these random files but by --on-bad skip
    skip.sharding.on_bad = OnBad::skip;
    skip.sharding.max_bad = "100%";
    skip.threads = threads;
    return skip;
  };
  // Real validation is exercised below; here one file vanishes between plan and read.
  PlanOptions planning;
  planning.source = f.tree.root;
  planning.output = f.dir.path("plan");
  planning.sharding.samples = 25;
  planning.sharding.on_bad = OnBad::skip;
  Context context;
  plan(planning, context);
  fs::remove(f.tree.path(1, 7));
  std::map<std::string, std::string> expected;
  for (const std::uint64_t threads : {1, 2, 7}) {
    ConvertOptions planned;
    planned.source = f.tree.root;
    planned.target = f.dir.path("skip" + std::to_string(threads));
    planned.plan = planning.output;
    planned.threads = threads;
    const ConvertResult result = run(planned);
    CHECK(result.skipped == 1);
    CHECK(result.samples == 119);
    CHECK(result.skipped_files.at(0).path == "class_1/img_007.jpg");
    const auto content = f.content("skip" + std::to_string(threads));
    if (expected.empty()) expected = content;
    CHECK(content == expected);
  }
  int different = 0;
  for (const auto& [name, bytes] : whole) {
    if (name.ends_with(".tar") && expected.at(name) != bytes) ++different;
  }
  CHECK(different == 1);
  CHECK(says(failure(skipping("none", 2)), "all 119 files are bad"));
}

TEST_CASE("the order is a function of names and seed alone") {
  const Fixture f;
  const auto order = [&](const std::string& target, std::optional<std::uint64_t> seed, bool sorted) {
    ConvertOptions options = f.options(target);
    options.sharding.shuffle = seed;
    options.sharding.no_shuffle = sorted;
    run(options);
    return f.content(target).at("shard-000000.tar");
  };
  CHECK(order("a", 1, false) == order("b", 1, false));
  CHECK(order("c", 2, false) != order("a2", 1, false));
  CHECK(order("d", std::nullopt, false) == order("e", 0, false));
  CHECK(order("f", std::nullopt, true).starts_with("class_0/img_000.cls"));
}

TEST_CASE("a second call finds everything finished, and repairs what is not") {
  const Fixture f;
  run(f.options("out"));
  const auto expected = f.content("out");
  CHECK(run(f.options("out")).shards_written == 0);
  fs::remove(f.dir.path("out/shard-000002.tar"));
  fs::resize_file(f.dir.path("out/shard-000003.tar"), 1000);
  write_file(f.dir.path("out/.shardkit/shard-000004.tar.index"), "damaged");
  CHECK(run(f.options("out")).shards_written == 3);
  CHECK(f.content("out") == expected);
}

TEST_CASE("--recheck finds a changed byte that size does not show") {
  const Fixture f;
  run(f.options("out"));
  const auto expected = f.content("out");
  std::string tar = expected.at("shard-000001.tar");
  tar[700] = static_cast<char>(tar[700] ^ 1);
  write_file(f.dir.path("out/shard-000001.tar"), tar);
  CHECK(run(f.options("out")).shards_written == 0);
  ConvertOptions options = f.options("out");
  options.recheck = true;
  CHECK(run(options).shards_written == 1);
  CHECK(f.content("out") == expected);
}

TEST_CASE("a changed option or source is refused with what changed, and nothing is touched") {
  const Fixture f;
  run(f.options("out"));
  const auto before = f.content("out");
  ConvertOptions options = f.options("out");
  options.sharding.samples = 30;
  CHECK(says(failure(options), "the earlier run used --samples 25, but this one asks for --samples 30;"));
  options.sharding.samples = {};  // as --size alone lifts the default of --samples
  options.sharding.size = 64'000'000;
  options.sharding.no_shuffle = true;
  CHECK(says(failure(options),
             "the earlier run used --samples 25 and --shuffle 0 and no --size, but this one asks for no --samples and "
             "--no-shuffle and --size 64MB;"));

  write_file(f.tree.path(2, 3), "other");
  CHECK(failure(f.options("out")).code() == ErrorCode::conflict);
  CHECK(says(failure(f.options("out")), "class_2/img_003.jpg"));
  write_file(f.tree.root + "/class_2/new.jpg", "x");
  CHECK(says(failure(f.options("out")), "class 'class_2' had 40 images, has 41"));
  write_file(f.tree.root + "/class_9/new.jpg", "x");
  CHECK(says(failure(f.options("out")), "class"));
  CHECK(f.content("out") == before);
}

TEST_CASE("files of others in a target are left alone, and names that the plan needs are refused before a write") {
  const Fixture f;
  write_file(f.dir.path("out/thesis.doc"), "precious");
  for (const char* name : {"shard-000001.idx", "manifest.json"}) {
    CAPTURE(name);
    const std::string path = f.dir.path(std::string("out/") + name);
    write_file(path, "{}");
    const auto before = f.content("out");
    for (const bool dry_run : {true, false}) {
      ConvertOptions options = f.options("out");
      options.dry_run = dry_run;
      const Error refused = failure(options);
      CHECK(refused.code() == ErrorCode::conflict);
      CHECK(says(refused, name));
    }
    CHECK(f.content("out") == before);
    CHECK_FALSE(fs::exists(f.dir.path("out/.shardkit/plan")));
    fs::remove(path);
  }
  run(f.options("out"));
  run(f.options("alone"));
  auto content = f.content("out");
  CHECK(content.at("thesis.doc") == "precious");
  content.erase("thesis.doc");
  CHECK(content == f.content("alone"));
}

TEST_CASE("a tar of others under the name of a shard is not replaced; one with the shard's bytes is taken") {
  const Fixture f;
  ConvertOptions part = f.options("out");
  part.part = "0/3";
  run(part);
  run(f.options("whole"));
  const auto expected = f.content("whole");
  const std::string tar = f.dir.path("out/shard-000004.tar");
  write_file(tar, "of somebody else");
  const Error refused = failure(f.options("out"));
  CHECK(refused.code() == ErrorCode::conflict);
  CHECK(refused.path() == tar);
  CHECK(read_file(tar) == "of somebody else");
  CHECK_FALSE(fs::exists(f.dir.path("out/manifest.json")));
  write_file(tar, expected.at("shard-000004.tar"));
  run(f.options("out"));
  for (const auto& [name, content] : expected) CHECK(read_file(f.dir.path("out/" + name)) == content);
}

TEST_CASE("a manifest that is lost, damaged or of another set is written again, by convert and by merge") {
  const Fixture f;
  run(f.options("out"));
  ConvertOptions other = f.options("other");
  other.sharding.samples = 30;
  run(other);
  const auto expected = f.content("out");
  const std::string manifest = f.dir.path("out/manifest.json");
  const auto by_merge = [&] {
    Context context;
    CHECK(merge({f.dir.path("out"), false}, context).samples == 120);
  };
  const auto by_convert = [&] { CHECK(run(f.options("out")).shards_written == 0); };
  const auto by_append = [&] {
    ConvertOptions appending = f.options("out");
    appending.append = true;
    const ConvertResult result = run(appending);
    CHECK(result.samples + result.samples_before == 120);
  };
  const std::string good = expected.at("manifest.json");
  const std::string of_other = read_file(f.dir.path("other/manifest.json"));
  for (const std::string& text : {std::string(), good.substr(0, good.size() / 2), of_other}) {
    CAPTURE(text.size());
    for (const auto& repair : std::vector<std::function<void()>>{by_merge, by_convert, by_append}) {
      fs::remove(manifest);
      if (!text.empty()) write_file(manifest, text);
      repair();
      CHECK(f.content("out") == expected);
    }
  }
}

TEST_CASE("a target inside the source is refused") {
  const Fixture f;
  ConvertOptions options = f.options("src/class_0/out");
  CHECK(failure(options).code() == ErrorCode::usage);
  options.target = f.tree.root;
  CHECK(failure(options).code() == ErrorCode::usage);
}

TEST_CASE("two converts of one plan into one target at once end with the same bytes") {
  const Fixture f;
  run(f.options("alone"));
  {
    const std::jthread other([&] { run(f.options("both")); });
    run(f.options("both"));
  }
  CHECK(f.content("both") == f.content("alone"));
}

TEST_CASE("a file that changes between plan and convert stops it and is named") {
  const Fixture f;
  PlanOptions planning;
  planning.source = f.tree.root;
  planning.output = f.dir.path("plan");
  Context context;
  plan(planning, context);
  fs::resize_file(f.tree.path(0, 1), 1);
  ConvertOptions options;
  options.source = f.tree.root;
  options.target = f.dir.path("out");
  options.plan = planning.output;
  const Error error = failure(options);
  CHECK(error.code() == ErrorCode::conflict);
  CHECK(error.path() == f.tree.path(0, 1));
  CHECK_FALSE(fs::exists(f.dir.path("out/manifest.json")));
}

TEST_CASE("a plan and options that it fixes contradict each other") {
  const Fixture f;
  ConvertOptions options = f.options("out");
  options.plan = f.dir.path("plan");
  CHECK(failure(options).code() == ErrorCode::usage);
}

TEST_CASE("merge says in each state of a folder what to do, and has nothing to do in a set") {
  const Fixture f;
  Context context;
  const auto refusal = [&](const char* folder) -> std::string {
    try {
      merge({f.dir.path(folder), false}, context);
    } catch (const Error& error) {
      return error.what();
    }
    return "merged";
  };
  const auto says_of = [&](const char* folder, const char* text) {
    const std::string said = refusal(folder);
    CHECK_MESSAGE(said.find(text) != std::string::npos, said);
  };
  says_of("nowhere", "is empty");
  run(f.options("out"));
  const auto whole = f.content("out");
  CHECK(refusal("out") == "merged");
  fs::remove(f.dir.path("out/shard-000001.tar"));
  says_of("out", "shard-000001.tar");
  fs::remove(f.dir.path("out/manifest.json"));
  says_of("out", "run the same convert again");
  run(f.options("out"));
  CHECK(f.content("out") == whole);
  fs::remove_all(f.dir.path("out/.shardkit"));
  CHECK(refusal("out") == "merged");
  fs::remove(f.dir.path("out/manifest.json"));
  says_of("out", "`shardctl index ");
  ConvertOptions divided = f.options("sets");
  divided.split = {"train=0.5", "val=0.5"};
  run(divided);
  const auto sets = f.content("sets");
  for (const char* set : {"train", "val"}) fs::remove(f.dir.path(fmt::format("sets/{}/manifest.json", set)));
  CHECK(refusal("sets") == "merged");
  CHECK(f.content("sets") == sets);
}

TEST_CASE("a run that goes on says what it kept") {
  const Fixture f;
  ConvertOptions options = f.options("out");
  const ConvertResult first = run(options);
  CHECK_FALSE(first.resumed);
  fs::remove(f.dir.path("out/shard-000001.tar"));
  CHECK(run(options).resumed == fmt::format("{} of {} shards kept", first.shards - 1, first.shards));
  CHECK(run(options).resumed == fmt::format("{0} of {0} shards kept", first.shards));
}

TEST_CASE("merge needs all parts of one division and all shards, and may be repeated") {
  const Fixture f;
  Context context;
  const MergeOptions merging{f.dir.path("out"), false};
  CHECK_THROWS_AS(merge(merging, context), Error);
  ConvertOptions options = f.options("out");
  options.part = "0/3";
  run(options);
  options.part = "2/3";
  run(options);
  CHECK_THROWS_WITH_AS(merge(merging, context), doctest::Contains("part 1 of"), Error);
  options.part = "1/2";
  run(options);
  CHECK_THROWS_WITH_AS(merge(merging, context), doctest::Contains("parts"), Error);
  options.part = "1/3";
  run(options);
  const std::string last_part = f.dir.path("out/.shardkit/part-00002-of-00003.json");
  const std::string left_over = read_file(last_part);
  CHECK(merge(merging, context).samples == 120);
  CHECK(merge(merging, context).parts == 0);
  write_file(last_part, left_over);  // as when merge was killed while it removed the parts
  CHECK(merge(merging, context).samples == 120);
  CHECK_FALSE(fs::exists(last_part));
  fs::remove(f.dir.path("out/shard-000000.tar"));
  CHECK_THROWS_WITH_AS(merge(merging, context), doctest::Contains("shard-000000.tar"), Error);
}

TEST_CASE("more parts than shards leave some parts with nothing to do") {
  const Fixture f;
  ConvertOptions options = f.options("out");
  options.part = "7/9";
  CHECK(run(options).shards == 0);
}

TEST_CASE("side-cars and labels of a class map are in the shard") {
  const Fixture f;
  write_file(f.tree.root + "/class_1/img_000.json", "{\"a\":1}");
  write_file(f.dir.path("map.json"), R"({"class_0": 7, "class_1": 100, "class_2": 9})");
  ConvertOptions options = f.options("out");
  options.sharding.class_map = f.dir.path("map.json");
  options.sharding.no_shuffle = true;
  run(options);
  const std::string tar = f.content("out").at("shard-000001.tar");
  const std::size_t at = tar.find("class_1/img_000.cls");
  REQUIRE(at != std::string::npos);
  CHECK(tar.substr(at + 512, 3) == "100");
  CHECK(tar.find("class_1/img_000.json") != std::string::npos);
  CHECK(tar.find("{\"a\":1}") != std::string::npos);
}

std::vector<formats::ManifestClass> classes_of(const std::string& target) {
  const std::string path = target + "/manifest.json";
  return formats::read_manifest(read_file(path), path).classes;
}

TEST_CASE("a class map in UTF-16 is refused by the name of its encoding") {
  const Fixture f;
  for (const std::string& text : {std::string("\xFF\xFE"
                                              "a\0\n\0",
                                              6),
                                  std::string("\xFE\xFF"
                                              "\0a\0\n",
                                              6),
                                  std::string("a\0\n\0", 4), std::string("\0[\0]", 4)}) {
    write_file(f.dir.path("map"), text);
    ConvertOptions options = f.options("refused");
    options.sharding.class_map = f.dir.path("map");
    CHECK_THROWS_WITH_AS(run(options), doctest::Contains("UTF-16"), Error);
  }
}

TEST_CASE(
    "a class map may start with a byte order mark, and may be a JSON array of names in the order of their labels") {
  const Fixture f;
  const auto labels_by = [&](const std::string& text) {
    write_file(f.dir.path("map"), text);
    ConvertOptions options = f.options(fmt::format("out-{}", xxh3_64(as_bytes(text))));
    options.sharding.class_map = f.dir.path("map");
    run(options);
    std::map<std::string, std::uint64_t> labels;
    for (const auto& item : classes_of(options.target)) labels[item.name] = item.label;
    return labels;
  };
  const std::map<std::string, std::uint64_t> expected = {{"class_0", 2}, {"class_1", 0}, {"class_2", 1}};
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string& text :
       {std::string("class_1\nclass_2\nclass_0\n"), std::string(R"(["class_1", "class_2", "class_0"])"),
        std::string(R"({"class_0": 2, "class_1": 0, "class_2": 1})")}) {
    CHECK(labels_by(text) == expected);
    CHECK(labels_by(mark + text) == expected);
  }
  for (const char* bad :
       {R"(["class_0", 1, "class_2"])", R"(["class_0", "class_0"])", R"(["class_0", ""])", "[]", "\"class_0\""}) {
    write_file(f.dir.path("map"), bad);
    ConvertOptions options = f.options("refused");
    options.sharding.class_map = f.dir.path("map");
    CHECK_THROWS_AS(run(options), Error);
  }
}

TEST_CASE("folders that systems make are no classes, in any case of letters") {
  const Fixture f;
  for (const char* folder : {"$Recycle.Bin", "System Volume Information", "#recycle", "@Recycle", "RECYCLER",
                             "recycled", "#snapshot", "@tmp", "@eaDir", ".Trash-1000", "lost+found", "__MACOSX"})
    write_file(fmt::format("{}/{}/1.jpg", f.tree.root, folder), fake_jpeg());
  run(f.options("out"));
  CHECK(classes_of(f.dir.path("out")).size() == 3);
}

TEST_CASE("a file that is too large for a tar is a bad one, also as a field of a sample") {
  const Fixture f;
  write_file(f.tree.path(0, 0), "");
  std::filesystem::resize_file(f.tree.path(0, 0), std::uint64_t{8} << 30U);
  ConvertOptions options = f.options("out");
  CHECK(says(failure(options), "smaller than 8 GiB"));
  options.sharding.on_bad = OnBad::skip;
  const ConvertResult left = run(options);
  CHECK(left.skipped == 1);
  std::filesystem::rename(f.tree.path(0, 0), f.tree.root + "/class_0/img_001.mask");
  options = f.options("masks");
  options.sharding.on_bad = OnBad::skip;
  options.sharding.fields = {"mask?={dir}/{stem}.mask"};
  const ConvertResult without = run(options);
  CHECK(without.skipped == 1);
}

TEST_CASE("a link that leads nowhere is called so") {
  const Fixture f;
  std::filesystem::create_symlink("/gone/1.jpg", f.tree.root + "/class_0/link.jpg");
  CHECK(says(failure(f.options("out")), "it is a link to '/gone/1.jpg', which does not exist"));
}

TEST_CASE("a source that changed after its plan was made is refused, also where bad files are skipped") {
  const Fixture f;
  PlanOptions planning;
  planning.source = f.tree.root;
  planning.output = f.dir.path("plan");
  planning.sharding.on_bad = OnBad::skip;
  Context context;
  plan(planning, context);
  write_file(f.tree.path(1, 5), "not what was planned");
  ConvertOptions options = f.options("out");
  options.sharding = {};
  options.plan = planning.output;
  const Error error = failure(options);
  CHECK(error.code() == ErrorCode::conflict);
  CHECK(error.path() == f.tree.path(1, 5));
}

namespace {

/// The system's files, but the stop is asked for when the n-th shard gets its name.
class StoppingFileSystem final : public FileSystem {
 public:
  StoppingFileSystem(std::stop_source stop, int shards) : stop_(std::move(stop)), shards_left_(shards) {}

  std::unique_ptr<PatchFile> create(const std::string& path, const std::string& shown) override {
    return real_->create(path, shown);
  }
  std::unique_ptr<PatchFile> open_patch(const std::string& path) override { return real_->open_patch(path); }
  std::unique_ptr<WritableFile> open_append(const std::string& path) override { return real_->open_append(path); }
  void create_directories(const std::string& path) override { real_->create_directories(path); }
  void rename(const std::string& from, const std::string& to) override {
    real_->rename(from, to);
    if (to.ends_with(".tar") && --shards_left_ == 0) stop_.request_stop();
  }
  bool rename_new(const std::string& from, const std::string& to) override { return real_->rename_new(from, to); }
  void sync_directory(const std::string& path) override { real_->sync_directory(path); }
  void remove(const std::string& path) override { real_->remove(path); }
  std::unique_ptr<WritableFile> create_below(const File& folder, const std::string& name) override {
    return real_->create_below(folder, name);
  }
  bool rename_new_below(const File& from_folder, const std::string& from, const File& to_folder,
                        const std::string& to) override {
    return real_->rename_new_below(from_folder, from, to_folder, to);
  }
  void remove_below(const File& folder, const std::string& name) override { real_->remove_below(folder, name); }
  void sync_all(const File& folder) override { real_->sync_all(folder); }

 private:
  std::unique_ptr<FileSystem> real_ = posix_file_system();
  std::stop_source stop_;
  int shards_left_;
};

}  // namespace

TEST_CASE("a stop in the middle keeps finished shards, leaves nothing half, and the next run goes on") {
  const Fixture f;
  std::stop_source stop;
  StoppingFileSystem files(stop, 2);
  Context stopped(stop.get_token());
  ConvertOptions options = f.options("out");
  options.sharding.samples = 5;  // 24 shards, more than are open at a time
  CHECK_THROWS_AS(convert_on(files, options, stopped), Error);
  for (const auto& [name, content] : f.content("out")) CHECK_MESSAGE(!name.ends_with(".tmp"), name);
  CHECK_FALSE(fs::exists(f.dir.path("out/manifest.json")));
  const ConvertResult second = run(options);
  CHECK(second.samples == 120);
  CHECK(second.shards_reused >= 2);
  CHECK(second.shards_written == 24 - second.shards_reused);
  ConvertOptions whole = options;
  whole.target = f.dir.path("whole");
  run(whole);
  CHECK(f.content("out") == f.content("whole"));
}

namespace {

const std::string kMask = fake_png("mask");
const std::string kSegments = fake_png("segments");

}  // namespace

TEST_CASE("texts in capitals are added where they are declared, beside those that always are") {
  TempDir dir;
  write_file(dir.path("src/cat/A.JPG"), fake_jpeg());
  write_file(dir.path("src/cat/A.TXT"), "capital");
  write_file(dir.path("src/cat/b.jpg"), fake_jpeg());
  write_file(dir.path("src/cat/b.txt"), "small");
  ConvertOptions options;
  options.source = dir.path("src");
  options.target = dir.path("out");
  options.sharding.sidecars = {".TXT"};
  run(options);
  const std::string tar = read_file(dir.path("out/shard-000000.tar"));
  for (const char* member : {"cat/A.txt", "cat/b.txt"})
    CHECK(tar.find(std::string(member) + '\0') != std::string::npos);
  ExtractOptions extracting;
  extracting.shards = {dir.path("out")};
  extracting.target = dir.path("back");
  Context context;
  extract(extracting, context);
  CHECK(tree_content(dir.path("back")) == tree_content(dir.path("src")));
  options.sharding.sidecars = {".txt"};
  CHECK(doctest::String(failure(options).what()) == doctest::Contains("there is already a side-car"));
}

TEST_CASE("masks that nothing declares are refused, with and without classes, and taken as samples with --primary") {
  for (const bool unlabeled : {false, true}) {
    TempDir dir;
    for (const std::string stem : {"dune", "pine", "reef"}) {
      write_file(dir.path(unlabeled ? "src/images/" + stem + ".png" : "src/cat/" + stem + ".png"), std::string(50'000, 'x'));
      write_file(dir.path(unlabeled ? "src/masks/" + stem + ".png" : "src/cat/" + stem + "_mask.png"), "x");
    }
    ConvertOptions options;
    options.source = dir.path("src");
    options.target = dir.path("out");
    options.sharding.validate = Validate::none;
    options.sharding.unlabeled = unlabeled;
    CHECK(doctest::String(failure(options).what()) == doctest::Contains("--primary png"));
    CHECK_FALSE(fs::exists(dir.path("out")));
    options.sharding.primary = {"png"};
    CHECK(run(options).samples == 6);
  }
}

TEST_CASE("side-cars that are asked for ride along and are no images of their own") {
  const Fixture f;
  write_file(f.tree.root + "/class_1/img_000_mask.png", kMask);
  write_file(f.tree.root + "/class_1/img_000.seg.PNG", kSegments);
  write_file(f.tree.root + "/class_2/nobodys_mask.png", kMask);
  ConvertOptions options = f.options("out");
  options.sharding.sidecars = {"_mask.png", ".seg.PNG"};
  CHECK(run(options).samples == 120);
  const std::string tar = f.content("out").at("shard-000000.tar") + f.content("out").at("shard-000001.tar") +
                          f.content("out").at("shard-000002.tar") + f.content("out").at("shard-000003.tar") +
                          f.content("out").at("shard-000004.tar");
  for (const auto& [name, content] :
       {std::pair{"class_1/img_000.mask.png", kMask}, {"class_1/img_000.seg.png", kSegments}}) {
    const std::size_t at = tar.find(std::string(name) + '\0');
    REQUIRE(at != std::string::npos);
    CHECK(tar.substr(at + 512).starts_with(content));
  }
  CHECK(tar.find("nobodys") == std::string::npos);
  for (const auto& bad : {std::vector<std::string>{"mask"}, {".cls"}, {".a b"}, {"_m.png", ".m.png"}, {"."}, {""}}) {
    options.sharding.sidecars = bad;
    CHECK(failure(options).code() == ErrorCode::usage);
  }
}
