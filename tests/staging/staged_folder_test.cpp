#include "staging/staged_folder.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "io/file_system.hpp"
#include "staging/file_copy.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/staged_folder.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::staging;
using namespace shardkit::system;
using namespace std::chrono_literals;
using shardkit_test::failure_of;

namespace {

const WallTime kNow(1'767'225'600s);

std::vector<std::string> paths_below(const TempDir& dir) {
  std::vector<std::string> paths;
  for (const StagedFolder& folder : staged_folders(dir.path(), {})) {
    paths.push_back(std::filesystem::relative(folder.path, dir.path()));
  }
  return paths;
}

}  // namespace

TEST_CASE("a staged folder tells what it holds, from where, and since when nobody used it") {
  const TempDir dir;
  StagedSample{dir.path("a"), {{"1.tar", "one"}, {"sub/2.tar", "three"}}, true, "s3://bucket/a", 0, kNow}.make();
  const auto folder = look_at_staged(dir.path("a"));
  REQUIRE(folder);
  CHECK(folder->state == StagedState::complete);
  CHECK_FALSE(folder->at_work);
  CHECK(folder->source == "s3://bucket/a");
  CHECK(folder->files == 2);
  CHECK(folder->bytes == 8);
  CHECK(folder->partial_bytes == 0);
  CHECK(folder->last_used == kNow);
  CHECK(folder->leases.empty());
}

TEST_CASE("of incomplete files those bytes have arrived that their logs list") {
  const TempDir dir;
  StagedSample{dir.path("a"), {{"1.tar", "one"}}, false, "/src", 500, kNow}.make();
  const std::string partial = dir.path("a/.shardkit/staging/x.partial");
  const std::string log = dir.path("a/.shardkit/staging/x.parts");
  const auto arrived = [&] { return look_at_staged(dir.path("a"))->arrived_bytes; };
  write_file(partial, std::string(10'000, '\0'));  // reserved
  CHECK(arrived() == 0);
  const auto files = posix_file_system();
  RangeSet durable;
  durable.add({0, 4096});
  PartLog record(*files, log);
  record.record({{"x.tar", 10'000, "v1"}, {}, {}}, durable);
  durable.add({5000, 9000});
  record.record({{"x.tar", 10'000, "v1"}, {}, {}}, durable);
  write_file(log, read_file(log) + "0-96");  // a line that a power cut left half
  CHECK(arrived() == 8096);
  std::filesystem::resize_file(partial, 9000);
  CHECK(arrived() == 8096);
  std::filesystem::resize_file(partial, 8999);
  CHECK(arrived() == 0);
  std::filesystem::remove(partial);
  CHECK(arrived() == 0);
  write_file(partial, std::string(10'000, '\0'));
  write_file(log, "no log");
  CHECK(arrived() == 0);
}

TEST_CASE("without a marker a copy is partial, or in progress while somebody holds the lock") {
  const TempDir dir;
  StagedSample{dir.path("a"), {{"1.tar", "one"}}, false, "/src", 500, kNow}.make();
  write_file(dir.path("a/.shardkit/staging/x.partial"), std::string(10'000, 'x'));
  CHECK(look_at_staged(dir.path("a"))->state == StagedState::partial);
  CHECK(look_at_staged(dir.path("a"))->partial_bytes >= 10'000);
  CHECK(look_at_staged(dir.path("a"))->source == "/src");
  FolderLock lock(dir.path("a/.shardkit/stage.lock"));
  REQUIRE(lock.try_take(LockMode::shared));
  CHECK(look_at_staged(dir.path("a"))->state == StagedState::in_progress);
}

TEST_CASE("a stage under way, or one whose owner will be back, counts with all that it announced") {
  StagedFolder folder;
  folder.bytes = 10;
  folder.partial_bytes = 5;
  folder.announced = 100;
  CHECK(folder.held_bytes(kNow) == 15);
  folder.leases = {{"x", Lease{"a", kNow, kNow + 1h}, {}}};
  CHECK(folder.held_bytes(kNow) == 100);
  CHECK(folder.held_bytes(kNow + 1h) == 15);
  folder.at_work = true;
  CHECK(folder.held_bytes(kNow + 1h) == 100);
  folder.partial_bytes = 4096;  // of a log
  CHECK(folder.held_bytes(kNow) == 100);
  folder.announced = 1;
  CHECK(folder.held_bytes(kNow) == 10);
  folder = {};
  folder.state = StagedState::complete;
  folder.bytes = 10;
  folder.announced = 100;
  CHECK(folder.held_bytes(kNow) == 10);
}

TEST_CASE("a damaged marker counts as none, and one without a journal and files still holds what it says") {
  const TempDir dir;
  StagedSample{dir.path("a"), {{"1.tar", "one"}}}.make();
  write_file(dir.path("a/.shardkit/staged.json"), "{");
  CHECK(look_at_staged(dir.path("a"))->state == StagedState::partial);
  StagedSample{dir.path("b"), {{"1.tar", "one"}}}.make();
  for (const char* name : {"1.tar", ".shardkit/stage.journal"}) std::filesystem::remove(dir.path("b/") + name);
  CHECK(look_at_staged(dir.path("b"))->bytes == 3);
  CHECK(look_at_staged(dir.path("b"))->state == StagedState::partial);
  CHECK(look_at_staged(dir.path("b"))->files == 0);
  CHECK(look_at_staged(dir.path("b"))->lost_files == 1);
}

TEST_CASE("a folder whose journal names less than its marker says is not complete; more is a part that was left") {
  const TempDir dir;
  const StagedSample sample{dir.path("a"), {{"1.tar", "one"}, {"2.tar", "two"}}};
  sample.make();
  const std::string marker = read_file(sample.path(kStagedMarkerPath));
  StagedSample{dir.path("a"), {{"1.tar", "one"}}}.make();
  const std::string less = read_file(sample.path(kStagedMarkerPath));
  write_file(sample.path(kStagedMarkerPath), marker);
  CHECK(look_at_staged(dir.path("a"))->state == StagedState::partial);
  CHECK(look_at_staged(dir.path("a"))->fault.find("marker lists 2 files of 6 B") != std::string::npos);
  sample.make();
  write_file(sample.path(kStagedMarkerPath), less);
  CHECK(look_at_staged(dir.path("a"))->state == StagedState::complete);
  CHECK(look_at_staged(dir.path("a"))->fault.empty());
}

TEST_CASE("staged folders are found up to four folders down, the cache itself included") {
  const TempDir dir;
  for (const char* name : {"b", "a/x", "1/2/3/4", "1/2/3/no/5", "a/x/inside"}) {
    StagedSample{dir.path(name), {{"1.tar", "one"}}}.make();
  }
  CHECK(paths_below(dir) == std::vector<std::string>{"1/2/3/4", "a/x", "a/x/inside", "b"});
  StagedSample{dir.path(), {{"1.tar", "one"}}}.make();
  CHECK(paths_below(dir) == std::vector<std::string>{".", "1/2/3/4", "a/x", "a/x/inside", "b"});
}

TEST_CASE("links, hidden folders, shards that were not staged and evicted folders are not in a cache") {
  const TempDir dir;
  const TempDir elsewhere;
  StagedSample{elsewhere.path("a"), {{"1.tar", "one"}}}.make();
  std::filesystem::create_symlink(elsewhere.path("a"), dir.path("link"));
  StagedSample{dir.path(".hidden"), {{"1.tar", "one"}}}.make();
  write_file(dir.path("shards/.shardkit/1.tar.index"), "index");
  write_file(dir.path("evicted/.shardkit/stage.lock"), "");
  CHECK(paths_below(dir).empty());
}

TEST_CASE("a folder whose journal names no file is none, unless parts of files or a lease wait for their stage") {
  const TempDir dir;
  StagedSample{dir.path("a"), {}, false}.make();
  CHECK_FALSE(look_at_staged(dir.path("a")));
  SUBCASE("parts") { write_file(dir.path("a/.shardkit/staging/x.partial"), std::string(10'000, 'x')); }
  SUBCASE("a lease") { take_lease(*posix_file_system(), dir.path("a"), {"job", kNow, kNow + 1h}); }
  CHECK(look_at_staged(dir.path("a"))->state == StagedState::partial);
}

TEST_CASE("a cache that is not there is an error with its path") {
  const auto failure = failure_of([] { staged_folders("/absent/cache", {}); });
  CHECK(failure == ErrorCode::not_found);
  CHECK(failure.says("/absent/cache"));
}

TEST_CASE("using a folder makes it the one used last, and is fine where there is none") {
  const TempDir dir;
  StagedSample{dir.path("a"), {{"1.tar", "one"}}}.make();
  mark_used(dir.path("a"));
  CHECK(look_at_staged(dir.path("a"))->last_used > kNow);
  mark_used(dir.path("absent"));
}

TEST_CASE("a set was last used by its last stage, renewal or reader") {
  const TempDir dir;
  const auto files = posix_file_system();
  StagedSample{dir.path("a"), {{"1.tar", "one"}}, true, "/src", 0, kNow}.make();
  take_lease(*files, dir.path("a"), {"job", kNow - 1h, kNow + 1h});
  CHECK(look_at_staged(dir.path("a"))->last_used == kNow);
  take_lease(*files, dir.path("a"), {"job", kNow + 1h, kNow + 2h});
  CHECK(look_at_staged(dir.path("a"))->last_used == kNow + 1h);
  const auto set_times = [&](WallTime read, WallTime written) {
    const auto moment = [](WallTime time) { return timespec{WallTime::clock::to_time_t(time), 0}; };
    const timespec times[2] = {moment(read), moment(written)};
    REQUIRE(::utimensat(AT_FDCWD, dir.path("a/1.tar").c_str(), times, 0) == 0);
  };
  set_times(kNow + 3h, kNow);
  CHECK(look_at_staged(dir.path("a"))->last_used == kNow + 3h);
  set_times(kNow + 3h, kNow + 3h);  // written, but not read since
  CHECK(look_at_staged(dir.path("a"))->last_used == kNow + 1h);
}

TEST_CASE("pipes in a cache are named and never waited for") {
  for (const char* name : {kStageJournalPath, kStagedMarkerPath, "1.tar"}) {
    CAPTURE(name);
    const TempDir dir;
    StagedSample{dir.path("a"), {{"1.tar", "one"}}, true, "/src", 0, kNow}.make();
    std::filesystem::remove(dir.path("a/") + name);
    REQUIRE(::mkfifo(dir.path(std::string("a/") + name).c_str(), 0666) == 0);
    const auto folder = look_at_staged(dir.path("a"));
    REQUIRE(folder);
    if (name == std::string(kStageJournalPath)) CHECK(folder->fault.find("is not a regular file") != std::string::npos);
  }
}
