#include "bench/input/input_files.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/input/jpeg_store.hpp"
#include "bench/input/sample_listing.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

InputSet find(const std::string& operand) {
  Context context;
  return find_input({operand}, context);
}

/// What was found, relative to `folder`; shards end in '*'.
std::vector<std::string> names(const InputSet& input, const ShardFolder& folder) {
  std::vector<std::string> names;
  for (const InputFile& file : input.files) {
    names.push_back(file.path.substr(folder.path().size() + 1) + (file.is_shard ? "*" : ""));
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("shards below a folder are its data, whatever lies beside them") {
  const ShardFolder folder;
  folder.write("set/train/a.tar", image_shard(2, "a"));
  folder.write("set/train/manifest.json", "{}");
  std::filesystem::create_directories(folder.path("set/old.tar"));
  folder.write("set/val/b.tar", image_shard(1, "b"));
  CHECK(names(find(folder.path("set")), folder) == Names{"set/train/a.tar*", "set/val/b.tar*"});
  CHECK(names(find(folder.path("set/val")), folder) == Names{"set/val/b.tar*"});
}

TEST_CASE("a folder without shards is its files, by name, with their sizes") {
  const ShardFolder folder;
  folder.write("set/n2/x.jpg", "12345");
  folder.write("set/n1/y.jpg", "123");
  folder.write("set/n1/.cache", "no");
  const InputSet input = find(folder.path("set"));
  CHECK(names(input, folder) == Names{"set/n1/y.jpg", "set/n2/x.jpg"});
  CHECK(input.files.front().bytes == 3);
  CHECK(input.bytes == 8);
}

TEST_CASE("linked class folders are followed, a link that leads back is not") {
  const ShardFolder folder;
  folder.write("elsewhere/x.jpg", "12345");
  folder.write("set/n1/y.jpg", "123");
  std::filesystem::create_directory_symlink(folder.path("elsewhere"), folder.path("set/n2"));
  std::filesystem::create_directory_symlink(folder.path("set"), folder.path("set/n1/again"));
  std::filesystem::create_symlink(folder.path("nothing"), folder.path("set/n1/dangling.jpg"));
  CHECK(names(find(folder.path("set")), folder) == Names{"set/n1/y.jpg", "set/n2/x.jpg"});
}

TEST_CASE("what an operand is decides its own name, not that of a folder above it") {
  const ShardFolder folder;
  folder.write("old.tar.d/tensor.bin", "12345");
  CHECK(names(find(folder.path("old.tar.d/tensor.bin")), folder) == Names{"old.tar.d/tensor.bin"});
}

TEST_CASE("a .txt or .json is a list of shards only when it reads as one") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(2, "a"));
  folder.write("list.txt", "a.tar\n");
  folder.write("wids.json", R"({"wids_version":1,"shardlist":[{"url":"a.tar","nsamples":2}]})");
  folder.write("caption.txt", "a cat on a mat\n");
  folder.write("labels.json", R"({"cat":1})");
  folder.write("broken.json", "{");
  CHECK(names(find(folder.path("list.txt")), folder) == Names{"a.tar*"});
  CHECK(names(find(folder.path("wids.json")), folder) == Names{"a.tar*"});
  for (const char* name : {"caption.txt", "labels.json", "broken.json"}) {
    CHECK(names(find(folder.path(name)), folder) == Names{name});
  }
}

TEST_CASE("lists, patterns and manifests name images and shards as they do in a store") {
  const ShardFolder folder;
  folder.write("c/x.jpg", "123");
  folder.write("c/y.jpg", "12345");
  folder.write("a.tar", image_shard(2, "a"));
  folder.write("images.txt", "c/y.jpg\nc/x.jpg\n");
  folder.write("both.txt", "a.tar\nc/x.jpg\n");
  folder.write("other.txt", "c/\n");
  folder.write("p/b.tar", image_shard(1, "b"));
  folder.write("p/manifest.json", R"({"format": "shardkit-manifest"})");
  folder.write("q/manifest.json", R"({"foo": 1})");
  CHECK(names(find(folder.path("images.txt")), folder) == Names{"c/y.jpg", "c/x.jpg"});
  CHECK(names(find(folder.path("both.txt")), folder) == Names{"a.tar*", "c/x.jpg"});
  CHECK(names(find(folder.path("other.txt")), folder) == Names{"c/x.jpg", "c/y.jpg"});
  CHECK(names(find(folder.path("c/*.jpg")), folder) == Names{"c/x.jpg", "c/y.jpg"});
  CHECK(names(find(folder.path("c/{y,x}.jpg")), folder) == Names{"c/y.jpg", "c/x.jpg"});
  CHECK(names(find(folder.path("{c,p}/*")), folder) == Names{"c/x.jpg", "c/y.jpg", "p/b.tar*", "p/manifest.json"});
  CHECK(names(find(folder.path("p/manifest.json")), folder) == Names{"p/b.tar*"});
  CHECK(names(find(folder.path("q/manifest.json")), folder) == Names{"q/manifest.json"});
}

TEST_CASE("a text that names no files is measured itself, and a warning says so") {
  const ShardFolder folder;
  for (const char* name : {"caption.txt", "rows.csv", "rows.tsv"}) {
    folder.write(name, "a cat on a mat\n");
    Context context;
    CHECK(find_input({folder.path(name)}, context).files.size() == 1);
    REQUIRE(context.warnings().size() == 1);
    CHECK(context.warnings().front().code == "no_list");
  }
}

TEST_CASE("a file that is named beside its folder is taken once") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(2, "a"));
  Context context;
  CHECK(find_input({folder.path("a.tar"), folder.path(), folder.path("./a.tar")}, context).files.size() == 1);
}

TEST_CASE("files that the kernel makes up are no data, under any name and below any folder") {
  const ShardFolder folder;
  folder.write("set/n1/y.jpg", "123");
  std::filesystem::create_directory_symlink("/proc/self", folder.path("set/n2"));
  for (const std::string& path : {std::string("/proc"), std::string("/sys"), folder.path("set")}) {
    CHECK(error_code_of([&] { find(path); }) == ErrorCode::unsupported);
  }
}

TEST_CASE("a stop ends the listing") {
  const ShardFolder folder;
  folder.write("set/n1/y.jpg", "123");
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK(error_code_of([&] { find_input({folder.path("set")}, context); }) == ErrorCode::cancelled);
}

TEST_CASE("the sample that a shard's end cuts is not listed, and the damage is warned of") {
  const ShardFolder folder;
  const std::string whole = image_shard(4, "k").bytes();
  folder.write("cut.tar", whole.substr(0, whole.size() / 2));
  Context context;
  const InputSet input = find(folder.path("cut.tar"));
  const auto samples = list_samples(input, 1, context);
  REQUIRE(samples.size() == 2);
  CHECK(samples.back().offset + samples.back().bytes <= input.bytes);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings().front().code == "damaged_shard");
}

TEST_CASE("messages name what the user gave, not a file found in it") {
  const ShardFolder folder;
  folder.write("docs/a.md", "text");
  folder.write("docs/b.md", "text");
  Context context;
  const std::string docs = folder.path("docs");
  CHECK(named_text(find(docs)) == "'" + docs + "'");
  CHECK(named_text(find_input({docs, docs + "/a.md"}, context)) == "'" + docs + "' and the other paths");
  CHECK(first_named(spread(find(docs))) == docs);
}

TEST_CASE("a part of a set that names nothing is named by its first file") {
  const InputSet part{{{"x/a.jpg", 1, false, 1}, {"x/b.jpg", 1, false, 1}}, 2};
  CHECK(named_text(part) == "'x/a.jpg' and the other paths");
}

TEST_CASE("compressed tars are shards; of a folder they are used if it has no plain ones") {
  const ShardFolder folder;
  folder.write("one/a.tar.gz", "\x1f\x8b...");
  folder.write("mixed/a.tgz", "\x1f\x8b...");
  folder.write("mixed/b.tar", image_shard(3, "b"));
  Context context;
  for (const std::string& operand : {folder.path("one"), folder.path("one/a.tar.gz"), folder.path("mixed/a.tgz")}) {
    CAPTURE(operand);
    const InputSet input = find_input({operand}, context);
    REQUIRE(input.files.size() == 1);
    CHECK(is_compressed(input.files.front()));
    CHECK_FALSE(input.files.front().samples);
    const auto error = shardkit_test::failure_of([&] { refuse_compressed(input, "backwards"); });
    CHECK(error == ErrorCode::unsupported);
    CHECK(error.says("cannot be read backwards"));
    CHECK(error.says("`shardctl reshard " + operand));
  }
  const InputSet mixed = find_input({folder.path("mixed")}, context);
  REQUIRE(mixed.files.size() == 1);
  CHECK_FALSE(has_compressed(mixed.files));
  refuse_compressed(mixed, "backwards");
}

TEST_CASE("listing that its time ends returns what it found, spread over all, and says so") {
  const ShardFolder folder;
  for (int i = 0; i < 200; ++i) folder.write("set/" + std::to_string(1000 + i) + ".jpg", "123");
  Context context;
  const InputSet some = find_input({folder.path("set")}, context, {}, moment_in(0));
  CHECK(some.files.size() >= 8);
  CHECK(some.files.size() < 200);
  CHECK(some.bytes == some.files.size() * 3);
  CHECK_FALSE(std::ranges::is_sorted(some.files, {}, &InputFile::path));
  CHECK(has_warning(context, "listing_cut"));
  Context patient;
  CHECK(find_input({folder.path("set")}, patient, {}, moment_in(60)).files.size() == 200);
  CHECK_FALSE(has_warning(patient, "listing_cut"));
}

TEST_CASE("of shards without an index, the samples that there is time for are listed and loaded") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(40, "a"));
  Context context;
  const InputSet input = find(folder.path("a.tar"));
  const Deadline past = std::chrono::steady_clock::now();
  const JpegStore store(input, 40, 1U << 30U, context, past);
  CHECK(store.size() == 1);
  CHECK(store.choice().chosen == 1);
  CHECK(store.mix().jpeg == 1);
  CHECK(store.bytes() == store.image(0).size());
  CHECK(JpegStore(input, 40, 1U << 30U, context, moment_in(60)).size() == 40);
}

TEST_CASE("without time for one image, the remedy is an index") {
  const ShardFolder folder;
  folder.write("a.tar", TarBuilder().sample("a", "", "1").sample("b", small_jpeg(), "1").end().bytes());
  Context context;
  InputSet input = find(folder.path("a.tar"));
  folder.write("a.tar", TarBuilder().member({.name = "a.txt"}, "x").member({.name = "b.txt"}, "x").end().bytes());
  CHECK(error_code_of([&] { list_samples(input, 1, context, std::chrono::steady_clock::now()); }) == ErrorCode::usage);
  CHECK(error_code_of([&] { JpegStore(input, 9, 1U << 30U, context); }) == ErrorCode::not_found);
}

TEST_CASE("the first part of a spread order is spread over all") {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 10U, 64U, 1000U, 1999U}) {
    CAPTURE(count);
    const std::vector<std::size_t> order = spread_order(count);
    CHECK(std::set(order.begin(), order.end()).size() == count);
    if (count == 0) continue;
    CHECK(*std::ranges::max_element(order) == count - 1);
    if (count < 64) continue;
    const std::set first(order.begin(), order.begin() + 16);
    std::size_t gap = 0;
    std::size_t last = 0;
    for (const std::size_t i : first) gap = std::max(gap, i - std::exchange(last, i));
    CHECK(gap < count / 6);
  }
}
