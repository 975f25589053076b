#include "formats/plan_file.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_header.hpp"
#include "support/files.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

PlanHead head() {
  return {"train", {{"shuffle", "0"}}, {{"cats", 0, 2}, {"dogs", 11, 1}}, {{"cats/broken.jpg", "gone"}}};
}

std::vector<std::vector<PlannedSample>> samples() {
  return {{{0, KeyMark::none, "a", {{100, 5}, "JPEG"}, {{{20, 6}, "json"}}},
           {1, KeyMark::hash, "sub/b\tc", {{0, -1}, "png"}, {}}},
          {{0, KeyMark::none, "z", {{512, 7}, "jpg"}, {}}}};
}

std::string written(std::int64_t mtime_shift = 0, Hash128* hash = nullptr) {
  StringSink sink;
  PlanWriter writer(sink, head());
  for (const auto& shard : samples()) {
    writer.begin_shard();
    for (PlannedSample sample : shard) {
      sample.image.mtime_ns += mtime_shift;
      writer.add(sample);
    }
  }
  const Hash128 identity = writer.finish();
  if (hash) *hash = identity;
  return sink.text();
}

/// That each of a shard's lines is an error to its reader.
void check_damaged(const PlanHead& head, const std::vector<const char*>& lines) {
  StringSink sink;
  PlanWriter writer(sink, head);
  writer.begin_shard();
  for (const char* line : lines) writer.add_line(line, "", 1024);
  writer.finish();
  MemorySource source(as_bytes(sink.text()));
  const PlanReader plan(source, "p");
  auto reader = plan.read_shard(0);
  PlannedSample sample;
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK_THROWS_AS(reader.next(sample), Error);
}

}  // namespace

TEST_CASE("a plan is read back shard by shard, in any order") {
  Hash128 hash;
  const std::string text = written(0, &hash);
  MemorySource source(as_bytes(text));
  const PlanReader plan(source, "p");
  CHECK(plan.head() == head());
  CHECK(plan.hash() == hash);
  CHECK(plan.shards()[0].samples == 2);
  CHECK(plan.shard_name(1) == "train-000001.tar");
  for (const std::size_t shard : {1, 0}) {
    auto reader = plan.read_shard(shard);
    std::vector<PlannedSample> read;
    PlannedSample sample;
    while (reader.next(sample)) read.push_back(sample);
    CHECK(read == samples()[shard]);
  }
}

TEST_CASE("the planned size of a shard is that of its tar") {
  const std::string text = written();
  MemorySource source(as_bytes(text));
  // Header and padded content of the image, the label and the side-car; two blocks end the archive.
  CHECK(PlanReader(source, "p").shards()[0].bytes == (1024 + 1024 + 1024) + (512 + 1024) + 1024);
  CHECK(PlanReader(source, "p").shards()[1].bytes == 1024 + 1024 + 1024);
}

TEST_CASE("the hash ignores times, so that a copy of the tree has the same plan") {
  Hash128 one;
  Hash128 other;
  const std::string a = written(0, &one);
  const std::string b = written(1000, &other);
  CHECK(a != b);
  CHECK(one == other);
}

TEST_CASE("keys and paths come from class and stem") {
  const PlanHead h = head();
  CHECK(image_path(h, samples()[0][1]) == "dogs/sub/b\tc.png");
  CHECK(sample_key(h, samples()[0][0]) == "cats/a");
  const std::string marked = sample_key(h, samples()[0][1]);
  CHECK(marked.starts_with("dogs/sub/b~09c-"));
  CHECK(marked.size() == std::string("dogs/sub/b~09c-12345678").size());
}

TEST_CASE("a long key leaves space for the longest extension of its sample, whichever comes first") {
  PlannedSample sample = samples()[0][0];
  sample.stem = std::string(150, 'n');
  sample.sidecars = {{{}, "abcdefghijklmnopqrs.png"}, {{}, "txt"}};
  const std::string key = sample_key(head(), sample);
  CHECK(key.size() + std::string(".abcdefghijklmnopqrs.png").size() <= kTarNameLimit);
  std::swap(sample.sidecars[0], sample.sidecars[1]);
  CHECK(sample_key(head(), sample) == key);
}

TEST_CASE("a plan cut anywhere is refused or found damaged when its samples are read") {
  const std::string text = written();
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    MemorySource source(as_bytes(cut));
    CAPTURE(length);
    CHECK_THROWS_AS(PlanReader(source, "p"), Error);
  }
}

TEST_CASE("a sample line that is not one is named by its byte") {
  StringSink sink;
  PlanWriter writer(sink, head());
  writer.begin_shard();
  writer.add_line("+\tno sample", "", 1024);
  writer.finish();
  MemorySource source(as_bytes(sink.text()));
  const PlanReader plan(source, "p");
  auto reader = plan.read_shard(0);
  PlannedSample sample;
  try {
    reader.next(sample);
    FAIL("was read");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::corrupt);
    CHECK(error.offset() == sink.text().find("+\tno sample"));
  }
}

TEST_CASE("a changed byte is found before it is used: of a shard's lines by its readers, any other by all") {
  const std::string text = written();
  MemorySource whole(as_bytes(text));
  const PlanReader plan(whole, "p");
  CHECK_NOTHROW(plan.check_bytes());
  const std::uint64_t second = plan.shards()[1].offset;
  const std::size_t table = text.find("shard\t");
  for (std::size_t at = 0; at < text.size(); ++at) {
    CAPTURE(at);
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    MemorySource source(as_bytes(changed));
    const bool is_line = at >= plan.shards()[0].offset && at < table;
    if (!is_line) {
      CHECK_THROWS_AS(PlanReader(source, "p"), Error);
      continue;
    }
    const PlanReader damaged(source, "p");
    CHECK_THROWS_AS(damaged.check_bytes(), Error);
    CHECK_THROWS_AS(damaged.read_shard(at < second ? 0 : 1), Error);
    PlannedSample sample;
    CHECK(damaged.read_shard(at < second ? 1 : 0).next(sample));
  }
}

TEST_CASE("a sample keeps its group, which is part of the hash") {
  const auto hash_with = [](std::uint64_t group) {
    PlanHead grouped = head();
    grouped.grouped = true;
    StringSink sink;
    PlanWriter writer(sink, grouped);
    writer.begin_shard();
    PlannedSample sample = samples()[0][0];
    sample.group = group;
    writer.add(sample);
    const Hash128 hash = writer.finish();
    MemorySource source(as_bytes(sink.text()));
    PlannedSample read;
    CHECK(PlanReader(source, "p").read_shard(0).next(read));
    CHECK(read == sample);
    return hash;
  };
  CHECK_FALSE(hash_with(1) == hash_with(~0ULL));
}

TEST_CASE("a reshard's plan names its inputs, and its hash does not depend on where they came from") {
  const MovedSample moved{{"k", 7, "cats/a.jpg", {{"jpg", 512, 3, 5}}}, 0, "k"};
  const auto written_from = [&](const PlanInput& input, Hash128& hash) {
    StringSink sink;
    PlanHead with_input = head();
    with_input.inputs = {input};
    PlanWriter writer(sink, with_input);
    writer.begin_shard();
    writer.add(moved);
    hash = writer.finish();
    return sink.text();
  };
  Hash128 hash;
  Hash128 other_hash;
  const std::string text = written_from({"a\tb.tar", 4096, -5}, hash);
  written_from({"c.tar", 1, 2}, other_hash);
  CHECK(hash == other_hash);
  MemorySource source(as_bytes(text));
  const PlanReader plan(source, "p");
  CHECK(plan.head().inputs == std::vector<PlanInput>{{"a\tb.tar", 4096, -5}});
  CHECK(plan.shards()[0].bytes == 1024 + 1024);
  auto reader = plan.read_shard(0);
  MovedSample read;
  REQUIRE(reader.next(read));
  CHECK(read == moved);
  CHECK_FALSE(reader.next(read));
}

TEST_CASE("a list's plan has paths below the source, samples without a class, and .json members of its own") {
  const PlanHead listed{"x", {}, {{"cat", 3, 1}}, {}, {}, true};
  const std::vector<PlannedSample> samples{
      {0, KeyMark::none, "pool/0/a", {{100, 1}, "jpg"}, {{{9, 2}, "_mask.png"}}},
      {std::nullopt, KeyMark::none, "pool/0/b.c", {{5, 1}, "png"}, {}, "{\"t\":\"a\\tb\"}"},
      {std::nullopt, KeyMark::hash, "d", {{5, 1}, "png"}, {}}};
  StringSink sink;
  PlanWriter writer(sink, listed);
  writer.begin_shard();
  for (const PlannedSample& sample : samples) writer.add(sample);
  writer.finish();
  MemorySource source(as_bytes(sink.text()));
  const PlanReader plan(source, "p");
  CHECK(plan.head() == listed);
  auto reader = plan.read_shard(0);
  for (const PlannedSample& expected : samples) {
    PlannedSample sample;
    CHECK(reader.next(sample));
    CHECK(sample == expected);
  }
  CHECK(image_path(listed, samples[0]) == "pool/0/a.jpg");
  CHECK(file_path(listed, samples[0], samples[0].sidecars[0]) == "pool/0/a_mask.png");
  CHECK(sample_key(listed, samples[0]) == "cat/pool/0/a");
  CHECK(sample_key(listed, samples[1]) == "pool/0/b~2Ec");
  CHECK(sample_key(listed, samples[2]).starts_with("d-"));
  // Image, side-car and label; image and .json; image.
  CHECK(plan.shards()[0].bytes == (3 * 1024) + (2 * 1024) + 1024 + 1024);
}

TEST_CASE("a side-car with a path of its own lies there") {
  PlanHead head{"x", {}, {{"cat", 3, 1}}, {}};
  head.paths = true;
  PlannedSample sample;
  sample.stem = "a";
  sample.image.extension = "jpg";
  PlannedFile& mask = sample.sidecars.emplace_back();
  mask.extension = "mask.png";
  mask.path = "../masks/a:b.png";
  sample.sidecars.emplace_back().extension = "txt";
  sample.json = "[{}]";
  StringSink sink;
  PlanWriter writer(sink, head);
  writer.begin_shard();
  writer.add(sample);
  const Hash128 hash = writer.finish();
  MemorySource source(as_bytes(sink.text()));
  const PlanReader plan(source, "p");
  CHECK(plan.head() == head);
  CHECK(plan.hash() == hash);
  PlannedSample read;
  CHECK(plan.read_shard(0).next(read));
  CHECK(read == sample);
  CHECK(file_path(head, read, read.sidecars[0]) == "../masks/a:b.png");
  CHECK(file_path(head, read, read.sidecars[1]) == "cat/a.txt");
}

TEST_CASE("a path that follows no side-car is damage") {
  check_damaged({"x", {}, {{"cat", 0, 1}}, {}}, {"+\t0\t0\ta\tjpg:1:1\t=b"});
}

TEST_CASE("a moved member keeps its path") {
  const MovedSample sample{
      {"k", 7, "cats/a.jpg", {{"jpg", 512, 3, 5}, {"mask.png", 1024, 4, {}, "m/a:b.png"}}}, 1, "k"};
  const std::string line = moved_sample_line(sample);
  std::vector<std::string_view> columns;
  split_columns(line, columns);
  MovedSample read;
  CHECK(parse_moved_sample(columns, read));
  CHECK(read == sample);
}

TEST_CASE("what the .json members say is part of the hash") {
  const auto hash_with = [](const char* json) {
    StringSink sink;
    PlanWriter writer(sink, {"x", {}, {}, {}, {}, true});
    writer.begin_shard();
    writer.add({std::nullopt, KeyMark::none, "a", {{1, 1}, "jpg"}, {}, json});
    return writer.finish();
  };
  CHECK(hash_with("{\"a\":1}") != hash_with("{\"a\":2}"));
}

TEST_CASE("a sample without a class in the plan of a tree is damage, not a crash") {
  check_damaged({"x", {}, {{"cat", 0, 1}}, {}, {}, false}, {"+\t-\t0\ta\tjpg:1:1", "+\t0\t0\ta\t{}"});
}
