#include "bench/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/command_text.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"
#include "system/limits.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::io;

namespace {

constexpr std::uint64_t kBytes = 3U << 20U;

CheckpointOptions options_for(const TempDir& dir) {
  CheckpointOptions options;
  options.directory = dir.path();
  options.bytes = kBytes;
  options.threads = 3;
  return options;
}

CheckpointResult run(const CheckpointOptions& options) {
  Context context;
  return checkpoint(options, context);
}

Error failure(const CheckpointOptions& options) {
  try {
    run(options);
  } catch (const Error& error) {
    return error;
  }
  FAIL("it did not fail");
  return Error(ErrorCode::usage, "");
}

/// One checkpoint that stays as long as this does.
struct WrittenFolder {
  explicit WrittenFolder(std::uint64_t repetition = 1) {
    const CheckpointTimes times =
        write_checkpoint(folder, plan, {CheckpointMode::sync, 8192, false, {}}, repetition, context);
    checkpoint.rank_bytes = times.rank_bytes;
    checkpoint.repetition = repetition;
  }
  TempDir dir;
  Context context;
  std::unique_ptr<FileSystem> files = posix_file_system();
  CheckpointFolder folder{*files, dir.path()};
  CheckpointPlan plan{2, 20'480};
  WrittenCheckpoint checkpoint{folder, 0, {}, 8192};
};

}  // namespace

TEST_CASE("both modes are written by all ranks, timed in order, and gone afterwards") {
  const TempDir dir;
  const CheckpointResult result = run(options_for(dir));
  REQUIRE(result.rows.size() == 2);
  for (const CheckpointRow& row : result.rows) {
    CHECK(row.repetitions == 3);
    CHECK(row.bytes == kBytes);
    CHECK(row.snapshot_seconds <= row.write_seconds);
    CHECK(row.write_seconds <= row.slowest_rank_seconds);
    CHECK(row.fastest_rank_seconds <= row.slowest_rank_seconds);
    CHECK(row.slowest_rank_seconds <= row.durable_seconds);
    CHECK(row.durable_interval.low <= row.durable_interval.high);
    CHECK_FALSE(row.share_ratio);
  }
  CHECK(result.rows[0].block_seconds == result.rows[0].durable_seconds);
  CHECK(result.rows[1].block_seconds == result.rows[1].snapshot_seconds);
  CHECK(result.block_seconds == result.rows[0].block_seconds);
  CHECK_FALSE(result.has_findings());
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("a drain and the checkpoint itself are read back and compared") {
  const TempDir dir;
  const TempDir slow;
  CheckpointOptions options = options_for(dir);
  options.drain_to = slow.path();
  options.recheck = true;
  const CheckpointResult result = run(options);
  REQUIRE(result.drain);
  CHECK(result.drain->directory == slow.path());
  REQUIRE(result.read_back.size() == 2);
  CHECK(result.read_back[0].directory == slow.path());
  CHECK(result.read_back[1].directory == dir.path());
  for (const CheckpointRestore& restore : result.read_back) CHECK(restore.bytes == kBytes);
  CHECK(std::filesystem::is_empty(slow.path()));
}

TEST_CASE("with a step time and an interval the share of training and the room between checkpoints are reported") {
  const TempDir dir;
  CheckpointOptions options = options_for(dir);
  options.step_time = 100;
  options.checkpoint_every = 1000;
  const CheckpointResult easy = run(options);
  const CheckpointRow& sync = easy.rows[0];
  CHECK(*sync.share_ratio == doctest::Approx(sync.block_seconds / (100'000 + sync.block_seconds)));
  CHECK_FALSE(sync.headroom_ratio);  // training that waits cannot be overtaken
  CHECK(*easy.rows[1].headroom_ratio == doctest::Approx(100'000 / easy.rows[1].durable_seconds));
  CHECK_FALSE(easy.has_findings());
  options.step_time = 1e-9;
  options.checkpoint_every = 1;
  CHECK(run(options).has_findings());
}

TEST_CASE("damage is found by the block that has it") {
  const auto damage = [](WrittenFolder& written, std::uint64_t offset, std::string_view bytes) {
    const std::string path = written.folder.whole(1);
    std::string content = read_file(path);
    content.replace(offset, bytes.size(), bytes);
    write_file(path, content);
    try {
      read_back_checkpoint(written.checkpoint, written.context);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::corrupt);
      CHECK(error.path() == path);
      return error.offset().value_or(0);
    }
    FAIL("not found");
    return std::uint64_t{0};
  };
  WrittenFolder written;
  CHECK(read_back_checkpoint(written.checkpoint, written.context).seconds > 0);
  SUBCASE("a byte that flipped") { CHECK(damage(written, 12'345, "\x01\x02\x03") / 4096 == 3); }
  SUBCASE("a block in the place of another") {
    const std::string block = read_file(written.folder.whole(1)).substr(0, 4096);
    CHECK(damage(written, 8192, block) / 4096 == 2);
  }
  SUBCASE("a block of an earlier repetition") {
    WrittenFolder earlier(9);
    const std::string block = read_file(earlier.folder.whole(1)).substr(4096, 4096);
    CHECK(damage(written, 4096, block) / 4096 == 1);
  }
  SUBCASE("a file that is too short") {
    std::filesystem::resize_file(written.folder.whole(1), 10'000);
    CHECK_THROWS_AS(read_back_checkpoint(written.checkpoint, written.context), Error);
  }
}

TEST_CASE("bytes are a function of rank, repetition and offset") {
  CheckpointBytes one(3, 7, 8192);
  CheckpointBytes same(3, 7, 8192);
  CheckpointBytes other(4, 7, 8192);
  const auto text = [](Bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
  const std::string first = text(one.at(4096, 8192));
  CHECK(first == text(same.at(4096, 8192)));
  CHECK(first != text(one.at(8192, 8192)));
  CHECK(first != text(other.at(4096, 8192)));
}

TEST_CASE("a budget ends the writing of ranks, and what was written is read back") {
  const TempDir dir;
  CheckpointOptions options = options_for(dir);
  options.bytes = 1ULL << 40U;  // more than can be written in that time
  options.threads = 1;
  options.budget = 0.1;
  options.recheck = true;
  options.mode = CheckpointModes::sync;
  options.step_time = 1;
  options.checkpoint_every = 10;
  Context context;
  const CheckpointResult result = checkpoint(options, context);
  CHECK(result.rows[0].bytes < result.bytes);
  CHECK_FALSE(result.rows[0].share_ratio);  // of a part nobody knows
  const bool warned = std::ranges::any_of(context.warnings(),
                                          [](const shardkit::Finding& w) { return w.code == "part_of_checkpoint"; });
  CHECK(warned);
}

TEST_CASE("a budget in which nothing is written measures nothing") {
  const TempDir dir;
  CheckpointOptions options = options_for(dir);
  options.budget = 1e-9;
  const Error error = failure(options);
  CHECK(error.code() == ErrorCode::usage);
  CHECK(std::string(error.what()).starts_with("--budget: too short"));
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("what cannot be measured is refused before anything is written") {
  const TempDir dir;
  CheckpointOptions options = options_for(dir);
  ErrorCode expected = ErrorCode::usage;
  SUBCASE("no such folder") {
    options.directory = dir.path("absent");
    expected = ErrorCode::not_found;
  }
  SUBCASE("a file") {
    write_file(dir.path("file"), "x");
    options.directory = dir.path("file");
    expected = ErrorCode::not_found;
  }
  SUBCASE("more than the disk holds") {
    options.bytes = 1ULL << 49U;
    expected = ErrorCode::no_space;
  }
  SUBCASE("a copy that memory cannot hold") {
    options.bytes = 1ULL << 49U;
    options.mode = CheckpointModes::background;
    options.budget = 1;  // the room is not looked at then
    expected = ErrorCode::no_space;
  }
  SUBCASE("no repetition") { options.repeat = 0; }
  SUBCASE("no time") { options.budget = 0; }
  SUBCASE("a step without an interval") { options.step_time = 1; }
  SUBCASE("an interval without a step") { options.checkpoint_every = 5; }
  SUBCASE("steps of no time") {
    options.checkpoint_every = 5;
    options.step_time = 0;
  }
  SUBCASE("a drain to nowhere") {
    options.drain_to = dir.path("absent");
    expected = ErrorCode::not_found;
  }
  SUBCASE("a drain to where it is written") { options.drain_to = dir.path("."); }
  CHECK(failure(options).code() == expected);
  if (std::filesystem::exists(dir.path("file"))) std::filesystem::remove(dir.path("file"));
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("a copy in memory may take half of what is free: more is refused by name, else left out with a warning") {
  const TempDir dir;
  CheckpointOptions options = options_for(dir);
  options.budget = 0.01;  // the room on disk is not looked at then
  options.bytes = system::usable_memory() / 4 * 3;
  options.mode = CheckpointModes::background;
  const Error refused = failure(options);
  CHECK(refused.code() == ErrorCode::no_space);
  CHECK(std::string(refused.what()).find("needs more than half of the available memory") != std::string::npos);
  options.mode = CheckpointModes::both;
  Context context;
  try {
    checkpoint(options, context);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
  CHECK(std::ranges::count(context.warnings(), "no_background", &shardkit::Finding::code) == 1);
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("what a killed run left is named") {
  const TempDir dir;
  std::filesystem::create_directory(dir.path(".shardkit-checkpoint-killed"));
  Context context;
  checkpoint(options_for(dir), context);
  const auto warnings = context.warnings();
  const auto found = std::ranges::find(warnings, "other_checkpoint", &shardkit::Finding::code);
  REQUIRE(found != warnings.end());
  CHECK(found->text.find(dir.path(".shardkit-checkpoint-killed")) != std::string::npos);
  CHECK(std::filesystem::exists(dir.path(".shardkit-checkpoint-killed")));
}

TEST_CASE("a stop leaves nothing behind") {
  const TempDir dir;
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  try {
    checkpoint(options_for(dir), context);
    FAIL("it was not stopped");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
  CHECK(std::filesystem::is_empty(dir.path()));
}
