// Stages that break off, and what the next one makes of what they left.

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dataset/stage/stage_support.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "support/forgetful_file_system.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::io;
using namespace shardkit::staging;
using namespace shardkit_test;

namespace {

/// Writes what a power cut left of `target` into `folder`, and returns that.
std::string rebuilt(const std::map<std::string, std::string>& left, const std::string& target,
                    const std::string& folder) {
  for (const auto& [path, content] : left) write_file(folder + path.substr(target.size()), content);
  return folder;
}

bool is_marked(const std::string& target) { return std::filesystem::exists(target + "/.shardkit/staged.json"); }

/// What is staged, without parts: of a rename a power cut may leave both names.
std::map<std::string, std::string> without_partials(const std::string& target) {
  auto staged = staged_content(target);
  std::erase_if(staged, [](const auto& item) { return item.first.starts_with(".shardkit/staging/"); });
  return staged;
}

std::vector<std::string> names_in(const std::map<std::string, std::string>& content) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : content) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("a folder that lost or shortened a file after it was staged is made whole, fetching that file alone") {
  const Shards shards;
  FakeSource source = shards.fake();
  const std::string out = shards.dir.path("out");
  run(source, into(out));
  const std::string name = "shard-000001.tar";
  SUBCASE("lost") { std::filesystem::remove(out + "/" + name); }
  SUBCASE("shortened") { std::filesystem::resize_file(out + "/" + name, 100); }
  const StageResult result = run(source, into(out));
  CHECK(staged_content(out) == shards.content);
  CHECK(result.bytes_fetched == shards.content.at(name).size() + shards.content.at("manifest.json").size());
}

TEST_CASE("a stage that broke inside a file goes on there") {
  FakeSource source;
  source.content["big.bin"] = noise(5 * kPart + 17, 1);
  source.content["small.bin"] = noise(100, 2);
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  source.break_at("big.bin", 3 * kPart + 5);
  CHECK(failure(source, options).code() == ErrorCode::io);
  CHECK_FALSE(std::filesystem::exists(dir.path("out/big.bin")));
  CHECK_FALSE(std::filesystem::exists(dir.path("out/.shardkit/staged.json")));
  source.repair();
  const std::uint64_t small = source.content["small.bin"].size();  // was staged by the first command
  SUBCASE("with the bytes that were durable") {
    source.bytes_read = 0;
    const StageResult result = run(source, options);
    CHECK(result.bytes_reused == 3 * kPart + small);
    CHECK(source.bytes_read == 2 * kPart + 17);
    CHECK(result.verified == staging::Verified::size);
  }
  SUBCASE("but not with bytes of another version of the file") {
    source.content["big.bin"][0] ^= 1;
    CHECK(run(source, options).bytes_reused == small);
  }
  SUBCASE("but not where the partial file got shorter than the journal says") {
    std::filesystem::resize_file(partial_in(dir.path("out")), kPart);
    CHECK(run(source, options).bytes_reused == small);
  }
  CHECK(staged_content(dir.path("out")) == source.content);
}

TEST_CASE("a partial file that rotted is noticed by its checksum and fetched anew") {
  Shards shards;
  Manifest manifest = read_manifest(shards.content.at("manifest.json"), "manifest.json");
  const std::string big = noise(3 * kPart, 3);
  manifest.shards = {{"big.tar", 1, big.size(), xxh3_128(as_bytes(big))}};
  manifest.samples = 1;
  manifest.bytes = big.size();
  StringSink index;
  ShardIndexWriter writer(index, "big.tar", "");
  writer.add(IndexSample{"a", {}, "", {{"jpg", 512, 1, 0}}});
  writer.finish(big.size(), manifest.shards[0].xxh3_128);
  FakeSource source;
  source.content = {
      {"big.tar", big}, {".shardkit/big.tar.index", index.text()}, {"manifest.json", write_manifest(manifest)}};

  const StageOptions options = into(shards.dir.path("out"));
  source.break_at("big.tar", 2 * kPart);
  CHECK(failure(source, options).code() == ErrorCode::io);
  source.repair();
  const std::uint64_t small = index.text().size();  // was staged by the first command
  const std::string partial = partial_in(options.target);
  std::string rotten = read_file(partial);
  SUBCASE("rotten") {
    rotten[12345] ^= 1;
    write_file(partial, rotten);
    const StageResult result = run(source, options);
    CHECK(result.retries == 1);
    CHECK(result.bytes_reused == small);
  }
  SUBCASE("sound") {
    const StageResult result = run(source, options);
    CHECK(result.retries == 0);
    CHECK(result.bytes_reused == 2 * kPart + small);
  }
  CHECK(staged_content(options.target) == source.content);
}

TEST_CASE(
    "after a copy that broke anywhere, a dry run counts the bytes that the next stage fetches, not reserved space") {
  const std::string big = noise(3 * kPart, 4);
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{1}, kPart, 2 * kPart + 5, 3 * kPart - 1}) {
    CAPTURE(at);
    const TempDir dir;
    FakeSource source;
    source.content = {{"a.bin", "small"}, {"big.bin", big}};
    source.break_at("big.bin", at);
    StageOptions options = into(dir.path("out"));
    options.manifest = "none";
    CHECK(failure(source, options).code() == ErrorCode::io);
    source.repair();
    options.dry_run = true;
    const StageResult planned = run(source, options);
    REQUIRE(planned.dry_run);
    options.dry_run = false;
    const StageResult done = run(source, options);
    CHECK(planned.dry_run->files == 1);
    CHECK(planned.dry_run->bytes == done.bytes_fetched);
    CHECK(planned.bytes_reused == done.bytes_reused);
    CHECK(done.bytes_fetched >= big.size() - at);
  }
}

TEST_CASE("a stop keeps what is resumable") {
  FakeSource source;
  source.content["big.bin"] = noise(6 * kPart, 1);
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  std::stop_source stop;
  source.at_byte(2 * kPart + 1, [&] { stop.request_stop(); });
  Context context(stop.get_token());
  CHECK_THROWS_AS(stage_whole(*posix_file_system(), source, wanted(options), options, context, steps()), Error);
  CHECK_FALSE(std::filesystem::exists(dir.path("out/big.bin")));
  CHECK(run(source, options).bytes_reused >= 2 * kPart);
  CHECK(staged_content(dir.path("out")) == source.content);
}

TEST_CASE("what came is saved also within one long range, for who comes after a kill") {
  FakeSource source;
  source.content["big.bin"] = noise(6 * kPart, 1);
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  bool is_saved = false;
  source.at_byte(4 * kPart, [&] {
    const std::string partial = partial_in(options.target);
    is_saved = is_saved || std::filesystem::exists(std::filesystem::path(partial).replace_extension(".parts"));
  });
  run(source, options);
  CHECK(is_saved);
  CHECK(staged_content(dir.path("out")) == source.content);
}

TEST_CASE("a failure at any moment of a set without hashes leaves nothing that the next stage takes for a stranger's") {
  FakeSource source;
  for (const char* name : {"a.bin", "sub/b.bin", "sub/below/c.bin"}) source.content[name] = noise(1000, 1);
  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    const TempDir dir;
    StageOptions options = into(dir.path("out"));
    options.manifest = "none";
    ForgetfulFileSystem files;
    files.fail_at(moment, ErrorCode::io);
    Context context;
    try {
      const auto result = stage_on(files, source, wanted(options), options, context, steps());
      CHECK_FALSE(result.failure);  // a fault of the own disk is none of a file
    } catch (const Error&) {
    }
    const auto cuts = files.after_power_cuts();
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      CAPTURE(i);
      StageOptions after = options;
      after.target = rebuilt(cuts[i], options.target, dir.path(fmt::format("after-{}", i)));
      if (is_marked(after.target)) CHECK(names_in(without_partials(after.target)) == names_in(source.content));
      run(source, after);
      CHECK(without_partials(after.target) == source.content);
    }
    run(source, options);
    CHECK(staged_content(options.target) == source.content);
    if (!files.failed()) break;
  }
}

TEST_CASE("a power cut at any moment leaves no marker over less than the whole, and the next stage ends the same") {
  const Shards shards;
  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    FakeSource source = shards.fake();
    const TempDir attempt;
    ForgetfulFileSystem files;
    files.fail_at(moment, ErrorCode::io);
    Context context;
    try {
      const StageOptions options = into(attempt.path("out"));
      stage_whole(files, source, wanted(options), options, context, steps(64 * 1024));
    } catch (const Error&) {
    }
    rebuilt(files.after_power_cut(), attempt.path("out"), attempt.path("after"));
    if (is_marked(attempt.path("after"))) {
      const StageResult result = run(source, into(attempt.path("after")));  // of other inodes: they are read again
      CHECK(result.bytes_fetched == source.content.at("manifest.json").size());
    }
    run(source, into(attempt.path("after")));
    auto staged = without_partials(attempt.path("after"));
    std::erase_if(staged, [](const auto& item) { return item.first.ends_with(".tmp"); });
    CHECK(staged == shards.content);
    if (!files.failed()) {
      CHECK(moment > 30);
      break;
    }
  }
}

TEST_CASE("a power cut while another set takes the folder leaves no marker over files that are gone") {
  FakeSource first;
  for (const char* name : {"a.bin", "both.bin", "sub/b.bin"}) first.content[name] = noise(1000, 1);
  FakeSource second;
  second.content = {{"both.bin", noise(1000, 1)}, {"c.bin", noise(1000, 3)}, {"sub/d.bin", noise(1000, 4)}};
  std::uint64_t marked = 0;
  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    const TempDir dir;
    StageOptions options = into(dir.path("out"));
    options.manifest = "none";
    options.share.lease = 0;
    ForgetfulFileSystem files;
    Context context;
    stage_whole(files, first, wanted(options), options, context, steps());
    const std::string first_marker = read_file(dir.path("out/.shardkit/staged.json"));
    options.share.limit = 1U << 20U;  // makes one set give way to another
    files.fail_at(moment, ErrorCode::io);
    try {
      stage_whole(files, second, wanted(options), options, context, steps());
    } catch (const Error&) {
    }
    const auto cuts = files.after_power_cuts();
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      CAPTURE(i);
      const std::string after = rebuilt(cuts[i], options.target, dir.path(fmt::format("after-{}", i)));
      if (!is_marked(after)) continue;
      ++marked;
      const bool is_first = read_file(after + "/.shardkit/staged.json") == first_marker;
      const auto staged = without_partials(after);
      for (const auto& [name, bytes] : (is_first ? first : second).content) {
        CAPTURE(name);
        REQUIRE(staged.contains(name));
        CHECK(staged.at(name) == bytes);
      }
    }
    if (!files.failed()) break;
  }
  CHECK(marked > 5);
}

TEST_CASE(
    "a power cut leaves no marker over less than the whole also with several requests at a time, whose ranges of one "
    "file come in any order") {
  const Shards shards;
  FakeSource source = shards.fake();
  const CopyLimits limits{3, 3, 16 * 1024, {32 * 1024}};
  std::uint64_t reused = 0;
  for (std::uint64_t moment = 1;; moment += 2) {
    CAPTURE(moment);
    const TempDir attempt;
    ForgetfulFileSystem files;
    files.fail_at(moment, ErrorCode::io);
    const StageOptions options = into(attempt.path("out"));
    Context context;
    try {
      stage_whole(files, source, wanted(options), options, context, limits);
    } catch (const Error&) {
    }
    // A disk may write names before contents.
    const auto left = moment % 4 == 1 ? files.after_power_cut() : files.after_power_cut_names_first();
    const StageOptions after = into(rebuilt(left, options.target, attempt.path("after")));
    const bool has_marker = is_marked(after.target) && moment % 4 == 1;
    const StageResult result = stage_whole(*posix_file_system(), source, wanted(after), after, context, limits);
    // The files have other inodes: they are read again, and the manifest is published again.
    if (has_marker) CHECK(result.bytes_fetched == source.content.at("manifest.json").size());
    reused += result.bytes_reused;
    auto staged = without_partials(after.target);
    std::erase_if(staged, [](const auto& item) { return item.first.ends_with(".tmp"); });
    REQUIRE((staged == shards.content));
    if (!files.failed()) {
      CHECK(moment > 60);
      break;
    }
  }
  CHECK(reused > 0);
}
