#include "dataset/verify/verify.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "dataset/checks/whole_set.hpp"
#include "dataset/stage/stage.hpp"
#include "dataset/verify/verify_support.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::test;
namespace fs = std::filesystem;

namespace {

/// Two good shards with manifest and indexes.
struct IndexedFolder : ShardFolder {
  IndexedFolder() {
    write("a.tar", good_samples(3, "a"));
    write("b.tar", good_samples(2, "b"));
    index_folder(*this);
  }

  void change_manifest(void (*change)(Manifest&)) const {
    Manifest manifest = read_manifest(read(kManifestName), kManifestName);
    change(manifest);
    write(kManifestName, write_manifest(manifest));
  }
};

}  // namespace

TEST_CASE("good shards without a manifest are checked in structure, and the result says so") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3));
  const auto result = verify_path(folder.path());
  CHECK(result.depth == VerifyDepth::structure);
  CHECK(result.shards == 1);
  CHECK(result.samples == 3);
  CHECK(result.members == 6);
  CHECK(result.bytes == folder.read("a.tar").size());
  CHECK(result.problems_total == 0);
  CHECK_FALSE(result.has_findings());
  CHECK(result.checked.back().find("no content") != std::string::npos);
}

TEST_CASE("good shards with a manifest are checked to the last byte") {
  const IndexedFolder folder;
  const auto result = verify_path(folder.path());
  CHECK(result.depth == VerifyDepth::checksum);
  CHECK(result.samples == 5);
  CHECK(codes(result) == Codes{});
  CHECK(result.checked.at(result.checked.size() - 2) == "every byte of 2 shards by XXH3-128");
  CHECK(result.checked.back() == "first and last bytes of 5 images");
}

TEST_CASE("checksums without anything to compare with are refused with the way to make them") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(1));
  CHECK_THROWS_WITH_AS(verify_path(folder.path(), {.shards = {}, .depth = VerifyDepth::checksum, .threads = {}}),
                       doctest::Contains("`shardctl index "), Error);
}

TEST_CASE("indexes alone serve as checksums") {
  const IndexedFolder folder;
  fs::remove(folder.path(kManifestName));
  CHECK(verify_path(folder.path()).depth == VerifyDepth::checksum);
  folder.flip("a.tar", 514);
  CHECK(codes(verify_path(folder.path())) == Codes{"sample_checksum"});
}

TEST_CASE("a changed byte in a sample names the shard, the sample and the member") {
  const IndexedFolder folder;
  folder.flip("a.tar", 2048 + 512 + 3);
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"sample_checksum"});
  const Problem& sample = problem(result, "sample_checksum");
  CHECK(sample.where.path == "a.tar");
  CHECK(sample.key == "a1");
  CHECK(sample.where.offset == 2560U);
  CHECK(sample.text.find("a1.jpg") != std::string::npos);
  CHECK(result.has_findings());
}

TEST_CASE("a damaged header loses no sample that the index finds, and those with changed bytes are named") {
  const IndexedFolder folder;
  folder.flip("a.tar", 3);
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"bad_header_checksum"});
  CHECK_FALSE(problem(result, "bad_header_checksum").lost_samples);
  CHECK(problem(result, "bad_header_checksum").text.find("by the shard's index") != std::string::npos);
  REQUIRE(result.remedies.size() == 1);
  CHECK(result.remedies[0].find("writes the intact samples") != std::string::npos);
  folder.flip("a.tar", 2048 + 512 + 3);
  const auto changed = verify_path(folder.path());
  CHECK(codes(changed) == Codes{"bad_header_checksum", "sample_checksum"});
  CHECK(changed.remedies[0].find(fmt::format("the {} intact of {}", result.samples - 1, result.samples)) !=
        std::string::npos);
  fs::remove_all(folder.path(kStateFolder));
  CHECK(problem(verify_path(folder.path()), "bad_header_checksum").lost_samples);
}

TEST_CASE("shards of one name in two folders are distinguished by their paths") {
  ShardFolder a;
  ShardFolder b;
  a.write("s.tar", good_samples(2));
  b.write("s.tar", good_samples(2));
  Context context;
  const auto result = verify({.shards = {a.path(), b.path()}, .threads = {}}, context);
  const Problem& found = problem(result, "duplicate_key");
  CHECK(found.where.path == b.path("s.tar"));
  CHECK(found.text.find(a.path("s.tar")) != std::string::npos);
}

TEST_CASE("sets in one folder are verified each by itself; images in both are counted, and no advice joins them") {
  ShardFolder folder;
  folder.write("train/s.tar", good_samples(3));
  folder.write("val/s.tar", good_samples(2));
  Context context;
  for (const char* set : {"train", "val"})
    shardkit::dataset::index({.shards = {folder.path(set)}, .threads = std::nullopt}, context);
  const auto sound = verify_path(folder.path());
  CHECK(codes(sound) == Codes{"image_in_sets"});
  CHECK(sound.problems[0].text.find("2 images in more than one of") != std::string::npos);
  CHECK(sound.samples == 5);
  CHECK(sound.verdict.starts_with("sound: 2 sets, 2 shards, 5 samples"));
  CHECK(verify_path(folder.path(), {.shards = {}, .strict = true, .threads = {}}).has_findings());
  folder.write("val/s.tar", TarBuilder().file("a/._b.jpg", "1").file("k0.jpg", fake_jpeg("i")).end());
  shardkit::dataset::index({.shards = {folder.path("val")}, .threads = std::nullopt}, context);
  const auto result = verify({.shards = {folder.path("train"), folder.path("val")}, .threads = {}}, context);
  CHECK(problem(result, "apple_double").where.path == folder.path("val/s.tar"));
  REQUIRE_MESSAGE(result.remedies.size() == 1, result.remedies.front());
  CHECK(result.remedies[0].find(folder.path("train")) == std::string::npos);
}

TEST_CASE("structure does not read what only checksums can tell") {
  const IndexedFolder folder;
  folder.flip("a.tar", 514);
  const auto result = verify_path(folder.path(), {.shards = {}, .depth = VerifyDepth::structure, .threads = {}});
  CHECK(result.depth == VerifyDepth::structure);
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("damage in padding is distinguished from damage in samples") {
  const IndexedFolder folder;
  folder.flip("a.tar", 512 + 100);
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"checksum"});
  CHECK(result.problems[0].text.find("padding") != std::string::npos);
}

TEST_CASE("without an index the whole shard's checksum still tells") {
  const IndexedFolder folder;
  fs::remove_all(folder.path(kStateFolder));
  folder.flip("b.tar", 600);
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"checksum"});
  CHECK(result.problems[0].where.path == "b.tar");
}

TEST_CASE("a shard that was cut after it was indexed is one finding, which says how much is left") {
  const std::string whole = good_samples(3, "a").bytes();
  for (const bool by_manifest : {true, false}) {
    for (std::size_t length = 0; length <= whole.size() - 1024; length += 256) {
      CAPTURE(length);
      const IndexedFolder folder;
      if (!by_manifest) fs::remove(folder.path(kManifestName));
      fs::resize_file(folder.path("a.tar"), length);
      const auto result = verify_path(folder.path(), {.shards = {}, .depth = VerifyDepth::decode, .threads = {}});
      std::uint64_t of_shard = 0;
      for (const Problem& item : result.problems) {
        if (item.where.path != "a.tar" || item.code.starts_with("image_")) continue;
        ++of_shard;
        // Whether the first is whole nothing tells before the second starts.
        const std::uint64_t samples = length < 2048 + 512 ? 0 : (length + 500) / 2048;  // padding may be cut
        CHECK(item.lost_samples == 3 - samples);
      }
      CHECK(of_shard == 1);
      CHECK(result.verdict.starts_with("not sound: "));
    }
  }
}

TEST_CASE("a shard that was replaced, or to which bytes were added, is one finding") {
  const IndexedFolder folder;
  const std::string good = folder.read("a.tar");
  folder.write("a.tar", good_samples(7, "other"));
  CHECK(codes(verify_path(folder.path())) == Codes{"shard_size"});
  CHECK(problem(verify_path(folder.path()), "shard_size").text.find("7 samples, expected 3") != std::string::npos);
  folder.write("a.tar", good + good);
  CHECK(codes(verify_path(folder.path())) == Codes{"data_after_end"});
}

TEST_CASE("the rows of an index are compared with the tar") {
  struct Change {
    const char* what;
    void (*change)(IndexSample&);
    bool shows_in_structure = true;
  };
  const Change changes[] = {
      {"offset", [](IndexSample& row) { row.members[0].offset += 512; }},
      {"size", [](IndexSample& row) { row.members[0].size -= 1; }},
      {"key", [](IndexSample& row) { row.key += "x"; }},
      {"label", [](IndexSample& row) { row.label = 17; }},
      {"no label", [](IndexSample& row) { row.label.reset(); }},
      {"extension", [](IndexSample& row) { row.members[0].extension = "png"; }},
      {"hash", [](IndexSample& row) { *row.members[0].xxh3 ^= 1; }, false},
  };
  for (const Change& change : changes) {
    CAPTURE(change.what);
    const IndexedFolder folder;
    const std::string path = folder.path(".shardkit/a.tar.index");
    io::FileSource old(path);
    StringSink sink;
    ShardIndexWriter writer(sink, "a.tar", "");
    ShardIndexVisitor visitor;
    visitor.sample = [&](IndexSample&& row) {
      if (row.key == "a1") change.change(row);
      writer.add(row);
    };
    const ShardSummary summary = read_shard_index(old, path, visitor);
    writer.finish(summary.bytes, summary.xxh3_128);
    write_file(path, sink.text());
    const auto result = verify_path(folder.path());
    CHECK(codes(result) == Codes{"index_mismatch"});
    CHECK(problem(result, "index_mismatch").key.starts_with("a1"));
    const auto structure = verify_path(folder.path(), {.shards = {}, .depth = VerifyDepth::structure, .threads = {}});
    CHECK(codes(structure) == (change.shows_in_structure ? Codes{"index_mismatch"} : Codes{}));
  }
}

TEST_CASE("a folder that holds the shards of some ranks is sound, and says so") {
  ShardFolder folder;
  for (int i = 0; i < 8; ++i) {
    folder.write(fmt::format("src/s-{}.tar", i), good_samples(2, fmt::format("k{}", i)));
  }
  Context context;
  shardkit::dataset::index({.shards = {folder.path("src")}, .threads = {}}, context);
  StageOptions options;
  options.sources = {folder.path("src")};
  options.target = folder.path("node");
  options.rank = "2-3";
  options.world = 8;
  stage(options, context);
  const auto result = verify_path(folder.path("node"));
  CHECK(codes(result) == Codes{});
  CHECK(result.shards == 2);
  CHECK(result.staged_parts == std::vector<std::string>{"ranks 2-3 of 8 by webdataset"});
  CHECK(fmt::format("{}", fmt::join(result.checked, "\n")).find("2 shards of the 8 of the set") != std::string::npos);
  fs::remove(folder.path("node/s-3.tar"));
  const auto missing = verify_path(folder.path("node"));
  CHECK(codes(missing) == Codes{"missing_shard"});
  CHECK(missing.problems[0].where.path == "s-3.tar");
  fs::remove(folder.path("node/.shardkit/staged.json"));
  const auto unfinished = verify_path(folder.path("node"));
  CHECK(codes(unfinished) == Codes{"set_unfinished"});
  CHECK(unfinished.problems[0].text.find("the stage into") != std::string::npos);
}

TEST_CASE("each set below a root that was staged by rank is sound by itself, and unfinished with its root") {
  ShardFolder folder;
  for (const char* set : {"train", "val"}) {
    for (int i = 0; i < 4; ++i)
      folder.write(fmt::format("src/{}/s-{}.tar", set, i), good_samples(2, fmt::format("{}{}", set, i)));
  }
  Context context;
  for (const char* set : {"src/train", "src/val"})
    shardkit::dataset::index({.shards = {folder.path(set)}, .threads = {}}, context);
  StageOptions options;
  options.sources = {folder.path("src")};
  options.target = folder.path("node");
  options.rank = "1";
  options.world = 4;
  stage(options, context);
  for (const char* set : {"node/train", "node/val"}) {
    const auto result = verify_path(folder.path(set));
    CHECK(codes(result) == Codes{});
    CHECK(result.shards == 1);
    CHECK(result.staged_parts == std::vector<std::string>{"ranks 1-1 of 4 by webdataset"});
  }
  fs::remove(folder.path("node/.shardkit/staged.json"));
  CHECK(codes(verify_path(folder.path("node/val"))) == Codes{"set_unfinished"});
}

TEST_CASE("the verdict says in one line whether the shards are sound") {
  const IndexedFolder folder;
  CHECK(verify_path(folder.path()).verdict ==
        "sound: 2 shards, 5 samples, 12.0 KiB; images not decoded, see --depth decode");
  folder.flip("a.tar", 514);
  CHECK(verify_path(folder.path()).verdict == "not sound: 1 of 2 shards with errors, 1 error in total");
  fs::remove(folder.path("b.tar"));
  CHECK(verify_path(folder.path()).verdict == "not sound: 2 of 2 shards with errors, 2 errors in total");
}

TEST_CASE("missing and extra shards are errors when the folder is named, a subset by name is fine") {
  const IndexedFolder folder;
  CHECK(codes(verify_path(folder.path("a.tar"))) == Codes{});
  fs::rename(folder.path("b.tar"), folder.path("c.tar"));
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"missing_shard", "extra_shard"});
  CHECK(result.problems[0].where.path == "b.tar");
  CHECK(result.problems[1].where.path == "c.tar");
  CHECK(result.has_findings());
}

TEST_CASE("labels and class counts are held against the manifest's classes") {
  const IndexedFolder folder;
  folder.change_manifest([](Manifest& manifest) { manifest.classes = {{"cat", 0, 2}, {"dog", 1, 1}}; });
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"label_out_of_range", "class_count"});
  CHECK(result.problems[0].key == "a2");
  CHECK(result.problems[1].text.find("'dog'") != std::string::npos);
  CHECK(codes(verify_path(folder.path("b.tar"))) == Codes{});
}

TEST_CASE("a damaged index and one of another shard are findings") {
  const IndexedFolder folder;
  folder.flip(".shardkit/a.tar.index", 30);
  CHECK(codes(verify_path(folder.path())) == Codes{"index_damaged"});
  fs::copy_file(folder.path(".shardkit/b.tar.index"), folder.path(".shardkit/a.tar.index"),
                fs::copy_options::overwrite_existing);
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"index_mismatch"});
  folder.write(".shardkit/a.tar.index", "");
  CHECK(codes(verify_path(folder.path())) == Codes{"index_damaged"});
}

TEST_CASE("a shard that cannot be read is a finding, and the others are still checked") {
  const IndexedFolder folder;
  fs::remove(folder.path("a.tar"));
  fs::create_symlink("/proc/self/mem", folder.path("a.tar"));  // opens, and answers EIO at offset 0
  const auto result = verify_path(folder.path());
  CHECK(codes(result) == Codes{"unreadable"});
  CHECK(result.problems[0].where.path == "a.tar");
  CHECK(result.samples == 2);
}

TEST_CASE("warnings are findings only when strict") {
  ShardFolder folder;
  folder.write("a.tar", TarBuilder().sample("a b", "i", "0").end());
  CHECK_FALSE(verify_path(folder.path()).has_findings());
  CHECK(verify_path(folder.path(), {.shards = {}, .strict = true, .threads = {}}).has_findings());
}

TEST_CASE("repeated errors are listed twenty times, then counted") {
  TarBuilder builder;
  for (int i = 0; i < 50; ++i) builder.file("noext" + std::to_string(i), "x");
  const auto result = verify_tar(builder.sample("a", "i", "0").end());
  CHECK(result.problems.size() == 20);
  CHECK(result.problems_total == 50);
  CHECK(result.problems.back().count == 31);
  CHECK(result.problems.back().text.find("31 times") != std::string::npos);
}

TEST_CASE("the result does not depend on the number of threads") {
  ShardFolder folder;
  for (int i = 0; i < 12; ++i) {
    folder.write("s" + std::to_string(i) + ".tar",
                 i % 5 == 4 ? TarBuilder().end() : good_samples(3, std::to_string(i % 4)));
  }
  const auto lines = [&](std::uint64_t threads) {
    std::vector<std::string> result;
    for (const Problem& item : verify_path(folder.path(), {.shards = {}, .threads = threads}).problems) {
      result.push_back(item.where.path + " " + item.code + " " + item.key + " " + item.text);
    }
    return result;
  };
  const auto one = lines(1);
  CHECK(one.size() > 10);
  CHECK(lines(2) == one);
  CHECK(lines(7) == one);
}

TEST_CASE("a stopped verify throws and gives no result") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(1));
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK_THROWS_AS(verify({.shards = {folder.path()}, .threads = {}}, context), Error);
}

TEST_CASE("a broken link among the shards is a finding, a folder is not a shard, and the others are checked") {
  const IndexedFolder folder;
  fs::create_symlink("nowhere", folder.path("x.tar"));
  fs::create_directory(folder.path("y.tar"));
  const auto result = verify_path(folder.path());
  CHECK(result.samples == 5);
  CHECK(problem(result, "unreadable").where.path == "x.tar");
  CHECK(std::ranges::count(codes(result), "unreadable") == 1);
}

TEST_CASE("classes that share a label are counted together") {
  const IndexedFolder folder;
  folder.change_manifest([](Manifest& manifest) {
    manifest.classes = {{"cat", 0, 1}, {"kitten", 0, 1}, {"dog", 1, 2}, {"bird", 2, 1}};
  });
  CHECK(codes(verify_path(folder.path())) == Codes{});
}

TEST_CASE("bytes without checksums are not listed as checked") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(2, "a"));
  const auto result = verify_path(folder.path(), {.shards = {}, .depth = VerifyDepth::decode, .threads = {}});
  for (const std::string& line : result.checked) CHECK(line.find("every byte") == std::string::npos);
}
