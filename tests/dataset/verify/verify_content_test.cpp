// What verify finds in the content of members, and in a set as a whole.

#include <filesystem>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/image_samples.hpp"
#include "dataset/index/index.hpp"
#include "dataset/verify/verify_support.hpp"
#include "support/fake_image.hpp"
#include "support/image_tree.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

VerifyResult decode(const ShardFolder& folder, std::optional<std::uint64_t> threads = {}) {
  return verify_path(folder.path(), {.shards = {}, .depth = VerifyDepth::decode, .threads = threads});
}

/// A source tree and its shards.
struct Converted {
  TempDir dir;
  ImageTree tree{dir.path("src"), 3, 10, 5000};

  Converted() {
    tree.make();
    write_file(tree.root + "/class_1/img_003.json", "{}");
    ConvertOptions options;
    options.source = tree.root;
    options.target = dir.path("out");
    options.sharding.samples = 8;
    Context context;
    convert(options, context);
  }
  VerifyResult against() const {
    return verify_path(dir.path("out"), {.shards = {}, .against = tree.root, .threads = {}});
  }
};

}  // namespace

TEST_CASE("every image is decoded, whatever the number of threads and shards") {
  ShardFolder folder;
  for (const char* name : {"a", "b"}) {
    TarBuilder tar;
    for (int i = 0; i < 20; ++i) tar.sample(name + std::to_string(i), make_jpeg(), "0");
    folder.write(std::string(name) + ".tar", tar.end());
  }
  for (const std::uint64_t threads : {1, 5}) {
    const auto result = decode(folder, threads);
    CHECK(codes(result) == Codes{});
    CHECK(result.images == 40U);
    CHECK(result.depth == VerifyDepth::decode);
    CHECK(result.checked.back() == "40 images by decoding");
  }
}

TEST_CASE("images that fail are distinguished, with shard, position and name, in the shard's order") {
  const std::string good = make_jpeg();
  ShardFolder folder;
  folder.write("s.tar", TarBuilder()
                            .sample("ok", good, "0")
                            .sample("cut", good.substr(0, good.size() / 2), "0")
                            .sample("png", kPng, "0")
                            .sample("text", "this is no image at all", "0")
                            .sample("tables", without_tables(good), "0")
                            .end());
  for (const std::uint64_t threads : {1, 4}) {
    const auto result = decode(folder, threads);
    CAPTURE(threads);
    CAPTURE(fmt::format("{}", fmt::join(codes(result), " ")));
    CHECK(codes(result) == Codes{"image_truncated", "image_other_format", "image_not_an_image", "image_corrupt"});
    CHECK(problem(result, "image_truncated").key == "cut.jpg");
    CHECK(problem(result, "image_truncated").where.offset == 512 + (good.size() + 511) / 512 * 512 + 1024 + 512);
    CHECK(problem(result, "image_other_format").severity == Severity::warning);
    CHECK(result.images == 5U);
    CHECK(result.has_findings());
  }
}

TEST_CASE("what is not decoded is counted") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder()
                            .file("a.png", kPng)
                            .file("b.png", with_damaged_pixels(kPng))
                            .file("c.tif", fake_tiff())
                            .file("d.bmp", fake_bmp())
                            .end());
  const auto result = decode(folder);
  CHECK(problem(result, "image_corrupt").key == "b.png");
  CHECK(result.images == 4U);
  CHECK(result.images_not_decoded == 1U);
  CHECK(result.checked.back() == "3 images by decoding; 1 not decoded (TIFF 1)");
}

TEST_CASE("members that are no images by name are not decoded") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().sample("a", make_jpeg(), "0").file("a.npy", "numbers").end());
  const auto result = decode(folder);
  CHECK(codes(result) == Codes{});
  CHECK(result.images == 1U);
}

TEST_CASE("shards are as their source has them") {
  const Converted converted;
  const auto result = converted.against();
  CHECK(codes(result) == Codes{"differing_members"});
  CHECK(result.checked.back().find("30 images") != std::string::npos);
}

TEST_CASE("what differs from the source is named: bytes, sizes, images that came or went") {
  const Converted converted;
  const ImageTree& tree = converted.tree;
  std::string changed = read_file(tree.path(0, 1));
  changed.back() = static_cast<char>(changed.back() ^ 1);
  write_file(tree.path(0, 1), changed);
  write_file(tree.path(2, 2), read_file(tree.path(2, 2)) + "more");
  fs::remove(tree.path(1, 7));
  write_file(tree.root + "/class_1/new.jpg", "x");
  const auto result = converted.against();
  std::vector<std::string> found;
  for (const Problem& item : result.problems) found.push_back(item.code + " " + item.key);
  std::sort(found.begin(), found.end());
  CHECK(found ==
        std::vector<std::string>{"differing_members class_1/img_003", "differs_from_source class_0/img_001.jpg",
                                 "differs_from_source class_2/img_002.jpg", "missing_from_shards class_1/new.jpg",
                                 "not_in_source class_1/img_007.cls", "not_in_source class_1/img_007.jpg"});
  CHECK(result.has_findings());
}

TEST_CASE("labels and side-cars of the source have to be in the shards") {
  ShardFolder folder;
  for (const char* name : {"cat/a.jpg", "cat/b.jpg", "dog/c.jpg", "dog/c.txt", "dog/c.json"}) {
    const bool is_image = std::string_view(name).ends_with(".jpg");
    write_file(folder.path(fmt::format("src/{}", name)), is_image ? fake_jpeg(name) : name);
  }
  const auto against = [&] {
    return verify_path(folder.path(), {.shards = {}, .against = folder.path("src"), .threads = {}});
  };
  const auto image = [](const char* key) { return std::string(key) + ".jpg"; };
  TarBuilder none;
  for (const char* key : {"cat/a", "cat/b", "dog/c"}) none.file(image(key), fake_jpeg(image(key)));
  folder.write("s.tar", none.end());
  const auto unlabeled = against();
  CHECK(codes(unlabeled) == Codes{"missing_label", "missing_label", "missing_label", "missing_field", "missing_field"});
  CHECK(unlabeled.has_findings());

  TarBuilder some;
  some.sample("cat/a", fake_jpeg("cat/a.jpg"), "0").file("cat/b.jpg", fake_jpeg("cat/b.jpg"));
  some.file("dog/c.cls", "1").file("dog/c.jpg", fake_jpeg("dog/c.jpg")).file("dog/c.txt", "dog/c.txt");
  folder.write("s.tar", some.end());
  const auto partly = against();
  CHECK(problem(partly, "missing_label").key == "cat/b");
  CHECK(problem(partly, "missing_field").key == "dog/c");
  CHECK(problem(partly, "missing_field").text.find("'dog/c.json'") != std::string::npos);
  CHECK(partly.errors == 2);
}

TEST_CASE("labels are held against the source's classes") {
  ShardFolder folder;
  write_file(folder.path("src/cat/a.jpg"), fake_jpeg("cat"));
  write_file(folder.path("src/dog/b.jpg"), fake_jpeg("dog"));
  folder.write("s.tar",
               TarBuilder().sample("cat/a", fake_jpeg("cat"), "0").sample("dog/b", fake_jpeg("dog"), "0").end());
  const auto result = verify_path(folder.path(), {.shards = {}, .against = folder.path("src"), .threads = {}});
  CHECK(codes(result) == Codes{"label_not_of_source"});
  CHECK(problem(result, "label_not_of_source").key == "dog/b.cls");
  CHECK(problem(result, "label_not_of_source").text.find("expected 1 for class 'dog'") != std::string::npos);
}

TEST_CASE("label_gap: also of a set with a manifest, but not for classes that it names") {
  ShardFolder folder;
  for (const char* path : {"a/1.jpg", "b/2.jpg", "c/3.jpg"}) {
    write_file(folder.path(fmt::format("src/{}", path)), fake_jpeg());
  }
  write_file(folder.path("map.json"), R"({"a": 0, "b": 3, "c": 5})");
  ConvertOptions options;
  options.source = folder.path("src");
  options.target = folder.path("out");
  options.sharding.class_map = folder.path("map.json");
  Context context;
  convert(options, context);
  const auto result = verify_path(folder.path("out"));
  CHECK(codes(result) == Codes{"label_gap"});
  CHECK(result.problems[0].text.find("3 of the labels 0 to 5 have none, the first is 1") != std::string::npos);
}

TEST_CASE("label_gap: warned about where no manifest explains it") {
  ShardFolder folder;
  folder.write("s.tar", TarBuilder().sample("a", "i", "0").sample("b", "i", "5").end());
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"label_gap"});
  CHECK(result.problems[0].text.find("4 of the labels 0 to 5 have none, the first is 1") != std::string::npos);
  CHECK_FALSE(result.has_findings());
  CHECK(result.classes->count == 2);
  CHECK(result.classes->largest_label == 5);
}

TEST_CASE("differing_members: warned about with how many samples of the shard are unlike most") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3, "a"));
  folder.write("b.tar", TarBuilder().sample("x", "i", "0").file("x.json", "{}").sample("y", "i", "1").end());
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"differing_members"});
  CHECK(result.problems[0].where.path == "b.tar");
  CHECK(result.problems[0].key == "x");
  CHECK(result.problems[0].text.find("jpg json; most have jpg") != std::string::npos);
}

TEST_CASE("samples of texts alone are sound; labels alone get no command that would leave nothing") {
  TarBuilder texts;
  for (int i = 0; i < 20; ++i) texts.file(std::to_string(i) + ".json", "{}");
  CHECK(codes(verify_tar(texts.end())).empty());
  const TarBuilder images = TarBuilder().sample("a", fake_jpeg("1"), "0").sample("b", fake_jpeg("2"), "0");
  CHECK(problem(verify_tar(TarBuilder(images).file("text.json", "{}").end()), "orphan_member").key == "text");
  const auto labels = verify_tar(TarBuilder().file("a.cls", "0").file("b.cls", "1").end());
  CHECK(labels.errors == 2);
  CHECK(labels.remedies.at(0).starts_with("#"));
}

TEST_CASE("orphan_member: a label or a text without data is an error") {
  ShardFolder folder;
  folder.write("s.tar", good_samples(2).bytes().substr(0, 4096) + TarBuilder().file("lone.cls", "0").end().bytes());
  const auto result = verify_path(folder.path());
  CHECK(problem(result, "orphan_member").key == "lone");
  CHECK(problem(result, "orphan_member").severity == Severity::error);
}

TEST_CASE("split_sample explains what its pieces lack, but not what other samples lack") {
  ShardFolder folder;
  const auto split = [] { return TarBuilder().file("a.jpg", "i").file("a.cls", "0").file("b.jpg", "i"); };
  folder.write("s.tar", split().file("b.cls", "1").file("a.txt", "late").end());
  CHECK(codes(verify_path(folder.path())) == Codes{"split_sample"});
  folder.write("s.tar", split().file("c.cls", "1").file("e.jpg", "i").file("a.txt", "late").end());
  const auto found = codes(verify_path(folder.path()));
  for (const char* code : {"split_sample", "missing_label", "orphan_member"})
    CHECK(std::ranges::count(found, code) > 0);
}

TEST_CASE("foreign_index: an index of DALI that is not of the shard next to it") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3));
  folder.write("b.tar", good_samples(4, "m"));
  IndexOptions options;
  options.shards = {folder.path()};
  options.readers["dali"] = true;
  Context context;
  index(options, context);
  CHECK(codes(verify_path(folder.path())) == Codes{});
  const std::string good = read_file(folder.path("a.idx"));
  const std::string of_another = read_file(folder.path("b.idx"));
  const std::string short_of_a_word = good.substr(0, good.rfind(' '));
  for (const std::string& wrong :
       {of_another, short_of_a_word, std::string("v1.2 3\n"), std::string("other"), std::string()}) {
    CAPTURE(wrong);
    write_file(folder.path("a.idx"), wrong);
    CHECK(codes(verify_path(folder.path())).at(0) == "foreign_index");
  }
  const std::string without_names = std::regex_replace(good, std::regex(R"((\S+ \d+ \d+) \S+)"), "$1");
  write_file(folder.path("a.idx"), "v1.1" + without_names.substr(4));
  CHECK(problem(verify_path(folder.path()), "foreign_index").text.find("manifest.json lists") != std::string::npos);
  fs::remove(folder.path("manifest.json"));
  fs::remove_all(folder.path(".shardkit"));
  CHECK(codes(verify_path(folder.path())) == Codes{});
}

TEST_CASE("foreign_index: an index whose bytes changed, until it is written again") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3));
  IndexOptions options;
  options.shards = {folder.path()};
  options.readers["energon"] = true;
  Context context;
  index(options, context);
  std::string offsets = read_file(folder.path("a.tar.idx"));
  offsets[9] = static_cast<char>(offsets[9] ^ 1);
  write_file(folder.path("a.tar.idx"), offsets);
  CHECK(codes(verify_path(folder.path())) == Codes{"foreign_index"});
  index(options, context);
  CHECK(codes(verify_path(folder.path())) == Codes{});
}

TEST_CASE("listed_file: a file that index --extra listed, changed or missing") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3));
  write_file(folder.path("classes.txt"), "cat\ndog\n");
  IndexOptions options;
  options.shards = {folder.path()};
  options.extras = {"classes.txt"};
  Context context;
  index(options, context);
  CHECK(codes(verify_path(folder.path())) == Codes{});
  write_file(folder.path("classes.txt"), "dog\ncat\n");
  CHECK(problem(verify_path(folder.path()), "listed_file").text.find("does not have the bytes") != std::string::npos);
  fs::remove(folder.path("classes.txt"));
  CHECK(problem(verify_path(folder.path()), "listed_file").text.find("is missing") != std::string::npos);
  write_file(folder.path("classes.txt"), "dog\ncat\n");
  index(options, context);
  CHECK(codes(verify_path(folder.path())) == Codes{});
}

TEST_CASE("foreign_index: another program's counts are held against the shards") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3));
  folder.write("shardindex.json", R"({"wids_version":1,"shardlist":[{"url":"a.tar","nsamples":4,"filesize":1}]})");
  const auto wids = verify_path(folder.path());
  CHECK(codes(wids) == Codes{"foreign_index", "foreign_index"});
  CHECK(problem(wids, "foreign_index").text.find("says 4 samples, there are 3") != std::string::npos);
  fs::remove(folder.path("shardindex.json"));
  write_file(folder.path(".nv-meta/.info.json"), R"({"shard_counts":{"a.tar":2}})");
  CHECK(problem(verify_path(folder.path()), "foreign_index").text.find("says 2 samples") != std::string::npos);
  write_file(folder.path(".nv-meta/.info.json"), "[1]");
  CHECK(codes(verify_path(folder.path())) == Codes{"foreign_index"});
}
