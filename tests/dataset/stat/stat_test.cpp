#include "dataset/stat/stat.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/convert/convert_support.hpp"
#include "dataset/sharding/planner.hpp"
#include "dataset/verify/verify_support.hpp"
#include "support/image_tree.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::test;

namespace {

struct Stat {
  StatResult result;
  std::vector<Finding> warnings;
};

Stat stat_folder(const std::string& path, std::optional<std::uint64_t> threads = {}) {
  Context context;
  StatResult result = shardkit::dataset::stat({.shards = {path}, .threads = threads}, context);
  return {std::move(result), context.warnings()};
}

/// A shard whose samples "<prefix><i>" have these labels and images of these sizes.
TarBuilder labeled(const std::string& prefix, const std::vector<int>& labels, std::size_t size = 10) {
  TarBuilder builder;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    builder.sample(prefix + std::to_string(i), std::string(size, 'i'), std::to_string(labels[i]));
  }
  return builder.end();
}

}  // namespace

TEST_CASE("stat counts samples, members, sizes and classes from headers") {
  ShardFolder folder;
  folder.write("a.tar", labeled("a", {0, 1, 0, 2}, 99));
  folder.write("b.tar", labeled("b", {1, 0}, 4999));
  const StatResult result = stat_folder(folder.path()).result;
  CHECK(result.shards == 2);
  CHECK(result.shards_by_index == 0);
  CHECK(result.samples == 6);
  CHECK(result.members == 12);
  CHECK(result.bytes == folder.read("a.tar").size() + folder.read("b.tar").size());
  CHECK(result.unlabeled == 0);
  CHECK(result.sample_size.min == 100);
  CHECK(result.sample_size.median == 100);
  CHECK(result.sample_size.max == 5000);
  CHECK(result.shard_samples.min == 2);
  CHECK(result.shard_samples.max == 4);
  REQUIRE(result.class_balance);
  CHECK(result.class_balance->classes == 3);
  CHECK(result.class_balance->smallest == 1);
  CHECK(result.class_balance->largest == 3);
  CHECK(result.class_balance->largest_to_smallest == 3.0);
  REQUIRE(result.classes_per_shard);
  CHECK(result.classes_per_shard->min == 2);
  CHECK(result.classes_per_shard->mean == 2.5);
  CHECK(result.classes_per_shard->max == 3);
  REQUIRE(result.classes.size() == 3);
  CHECK(result.classes[0].samples == 3);
  CHECK(result.classes[0].name.empty());
}

TEST_CASE("the histogram counts every sample once") {
  ShardFolder folder;
  folder.write("a.tar", labeled("a", {0, 1, 0, 2}, 99));
  folder.write("b.tar", labeled("b", {1, 0}, 4999));
  const StatResult result = stat_folder(folder.path()).result;
  CHECK(result.sample_size.histogram.front().from == 64);
  CHECK(result.sample_size.histogram.front().count == 4);
  CHECK(result.sample_size.histogram.back().to == 8191);
  CHECK(result.sample_size.histogram.back().count == 2);
}

TEST_CASE("indexes and headers give the same figures, whatever the threads") {
  ShardFolder folder;
  for (int i = 0; i < 7; ++i) folder.write("s" + std::to_string(i) + ".tar", good_samples(i + 1, std::to_string(i)));
  const StatResult headers = stat_folder(folder.path(), 1).result;
  index_folder(folder);
  const StatResult index = stat_folder(folder.path(), 4).result;
  CHECK(index.shards_by_index == 7);
  CHECK(index.samples == headers.samples);
  CHECK(index.members == headers.members);
  CHECK(index.sample_size.median == headers.sample_size.median);
  CHECK(index.class_balance->largest == headers.class_balance->largest);
  CHECK(index.classes_per_shard->mean == headers.classes_per_shard->mean);
  CHECK(index.shuffle_buffer.samples == headers.shuffle_buffer.samples);
}

TEST_CASE("classes have the manifest's names, and those without a sample are listed with none") {
  const TempDir dir;
  ImageTree{.root = dir.path("src"), .classes = 3, .per_class = 4}.make();
  convert_tree(dir.path("src"), dir.path("out"), 12);
  const StatResult whole = stat_folder(dir.path("out")).result;
  CHECK(whole.shards_by_index == 12);
  REQUIRE(whole.classes.size() == 3);
  CHECK(whole.classes[2].name == "class_2");
  CHECK(whole.classes[2].samples == 4);
  const StatResult one = stat_folder(dir.path("out/shard-000000.tar")).result;
  CHECK(one.samples == 1);
  CHECK(one.classes.size() == 3);
  CHECK(one.class_balance->classes == 1);
  CHECK(one.class_balance->largest_to_smallest == 1.0);
}

TEST_CASE("shuffled shards need the buffer that plan names, those in name order ten classes") {
  const TempDir dir;
  ImageTree{.root = dir.path("src"), .classes = 30, .per_class = 20, .largest = 50}.make();
  for (const bool shuffled : {true, false}) {
    const std::string target = dir.path(shuffled ? "mixed" : "sorted");
    ShardingOptions sharding;
    sharding.shards = 6;
    sharding.no_shuffle = !shuffled;
    Context context;
    StringSink sink;
    const PlanSummary planned =
        write_plan(scan_source(dir.path("src"), sharding, {}, {}, context), sharding, {}, sink, context);
    convert_tree(dir.path("src"), target, 6, shuffled);
    const StatResult result = stat_folder(target).result;
    CHECK(result.mixed == shuffled);
    CHECK(result.shuffle_buffer.samples == planned.shuffle_buffer.samples);
    CHECK(result.shuffle_buffer.bytes == planned.shuffle_buffer.bytes);
    CHECK(result.classes_per_shard->mean == doctest::Approx(planned.classes_per_shard.mean));
  }
}

TEST_CASE("a single class is no sign of missing shuffle") {
  ShardFolder folder;
  folder.write("a.tar", labeled("a", {3, 3, 3, 3}));
  CHECK(stat_folder(folder.path()).result.mixed);
}

TEST_CASE("without labels there is no class balance") {
  ShardFolder folder;
  folder.write("a.tar", TarBuilder().file("a.jpg", "i").file("b.jpg", "i").end());
  const StatResult result = stat_folder(folder.path()).result;
  CHECK(result.samples == 2);
  CHECK(result.unlabeled == 2);
  CHECK_FALSE(result.class_balance);
  CHECK_FALSE(result.classes_per_shard);
  CHECK(result.shuffle_buffer.samples == 2);
}

TEST_CASE("labels that are no classes are not counted, whatever the threads") {
  ShardFolder folder;
  for (const int half : {0, 1}) {
    TarBuilder builder;
    for (int i = 0; i < 50'001; ++i) {
      builder.file("k" + std::to_string(half) + "_" + std::to_string(i) + ".cls", std::to_string(2 * i + half));
    }
    folder.write("s" + std::to_string(half) + ".tar", builder.end());
  }
  for (const std::uint64_t threads : {1U, 2U}) {
    const Stat found = stat_folder(folder.path(), threads);
    CHECK(found.result.samples == 100'002);
    CHECK(found.result.classes.empty());
    CHECK_FALSE(found.result.class_balance);
    REQUIRE(found.warnings.size() == 1);
    CHECK(found.warnings[0].code == "too_many_labels");
  }
}

TEST_CASE("a damaged shard counts as far as it can be read, with a warning") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3).bytes().substr(0, 2562));
  const Stat found = stat_folder(folder.path());
  CHECK(found.result.samples >= 1);
  REQUIRE(found.warnings.size() == 1);
  CHECK(found.warnings[0].code == "damaged_shard");
}

TEST_CASE("a set of shards that hold nothing has figures of zero") {
  ShardFolder folder;
  folder.write("a.tar", TarBuilder().end());
  const StatResult result = stat_folder(folder.path()).result;
  CHECK(result.samples == 0);
  CHECK(result.sample_size.max == 0);
  CHECK(result.shuffle_buffer.bytes == 0);
}

TEST_CASE("a stop ends it") {
  ShardFolder folder;
  folder.write("a.tar", good_samples(3));
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK_THROWS_AS(shardkit::dataset::stat({.shards = {folder.path()}, .threads = {}}, context), Error);
}

TEST_CASE("sets of a split have the class names of their manifests, and one that lacks a shard is a warning") {
  const TempDir dir;
  std::vector<std::string> sets;
  for (const char* name : {"train", "val"}) {
    ImageTree{.root = dir.path("src"), .classes = 1, .per_class = 6}.make();
    sets.push_back(dir.path(name));
    convert_tree(dir.path("src"), sets.back(), 2);
  }
  Context context;
  const StatResult both = shardkit::dataset::stat({.shards = sets, .threads = {}}, context);
  REQUIRE(both.classes.size() == 1);
  CHECK(both.classes[0].name == "class_0");
  CHECK(both.classes[0].samples == 12);
  CHECK(context.warnings().empty());
  std::filesystem::remove(sets[0] + "/shard-000001.tar");
  const Stat part = stat_folder(sets[0]);
  REQUIRE(part.warnings.size() == 1);
  CHECK(part.warnings[0].code == "shards_missing");
}
