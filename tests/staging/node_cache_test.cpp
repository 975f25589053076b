#include "staging/node_cache.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/errors.hpp"
#include "support/staged_folder.hpp"
#include "support/temp_dir.hpp"
#include "system/storage.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::staging;
using namespace shardkit::system;
using namespace std::chrono_literals;
using shardkit_test::failure_of;

namespace {

const WallTime kNow(1'767'225'600s);

/// A cache of three folders of 100 bytes each, of which "old" was used first and "new" last.
struct Cache {
  Cache() {
    const std::string text(100, 'x');
    StagedSample{dir.path("new"), {{"1.tar", text}}, true, "/src", 0, kNow - 1h}.make();
    StagedSample{dir.path("old"), {{"1.tar", text}}, true, "/src", 0, kNow - 3h}.make();
    StagedSample{dir.path("sub/middle"), {{"1.tar", text}}, true, "/src", 0, kNow - 2h}.make();
  }

  SpaceWanted wanted(std::uint64_t bytes, std::uint64_t limit) const { return {dir.path("dst"), bytes, limit}; }

  /// Names of the folders that went.
  std::vector<std::string> evict_for_bytes(const SpaceWanted& room) const {
    const FolderLock lock = lock_cache(*files, dir.path(), {});
    std::vector<std::string> names;
    evict_for(*files, dir.path(), room, kNow, {}, [&](const StagedFolder& folder) {
      CHECK_FALSE(std::filesystem::exists(folder.path + "/1.tar"));  // reported when it has happened
      names.push_back(std::filesystem::relative(folder.path, dir.path()));
    });
    return names;
  }

  void lease(const std::string& name, WallTime until) const {
    take_lease(*files, dir.path(name), {"job-7", kNow - 9h, until});
  }
  bool holds(const std::string& name) const { return std::filesystem::exists(dir.path(name + "/1.tar")); }

  std::unique_ptr<FileSystem> files = posix_file_system();
  TempDir dir;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("files that were there before they were staged are not counted as freed, and stay in the cache's size") {
  const Cache cache;
  const std::string journal = cache.dir.path("old/.shardkit/stage.journal");
  write_file(cache.dir.path("old/2.tar"), std::string(50, 'y'));
  StageJournal::State state = StageJournal::read(journal);
  state.files["2.tar"] = {50, "pin", {}, true, seen_at(cache.dir.path("old/2.tar"))};
  StageJournal::rewrite(*cache.files, journal, state);
  CHECK(look_at_staged(cache.dir.path("old"))->removable_bytes() == 100);

  SUBCASE("another set goes when the rest of the oldest is not enough") {
    CHECK(cache.evict_for_bytes(cache.wanted(100, 250)) == Names{"old", "sub/middle"});
    CHECK(std::filesystem::exists(cache.dir.path("old/2.tar")));
    CHECK(held_bytes(staged_folders(cache.dir.path(), {}), kNow) == 150);
  }
  SUBCASE("what stays is refused as space, and described") {
    const auto failure = failure_of([&] { cache.evict_for_bytes(cache.wanted(100, 140)); });
    CHECK(failure.says("100 B are needed"));
    CHECK(failure.says("of which others need 50 B"));
    CHECK(failure.says("old' (150 B) has 50 B of files that were there before it was staged: they stay"));
    cache.evict_for_bytes(cache.wanted(1, 51));
    CHECK_THROWS_WITH(cache.evict_for_bytes(cache.wanted(2, 51)), doctest::Contains("they stay"));
  }
}

TEST_CASE("nothing is evicted when all fits") {
  const Cache cache;
  CHECK(cache.evict_for_bytes(cache.wanted(100, 400)).empty());
}

TEST_CASE("those used least recently go first, and no more than have to") {
  const Cache cache;
  CHECK(cache.evict_for_bytes(cache.wanted(100, 399)) == Names{"old"});
  CHECK(cache.evict_for_bytes(cache.wanted(200, 200)) == Names{"sub/middle", "new"});
  CHECK(staged_folders(cache.dir.path(), {}).empty());
}

TEST_CASE("a leased folder stays and the next goes, until the lease has ended") {
  const Cache cache;
  cache.lease("old", kNow + 1s);
  CHECK(cache.evict_for_bytes(cache.wanted(100, 300)) == Names{"sub/middle"});
  CHECK(cache.holds("old"));
  cache.lease("old", kNow);
  CHECK(cache.evict_for_bytes(cache.wanted(200, 300)) == Names{"old"});
}

TEST_CASE("what cannot fit is an error that names who holds what until when, and nothing is evicted") {
  const Cache cache;
  cache.lease("old", kNow + 1h);
  take_lease(*cache.files, cache.dir.path("new"), {"job-8", kNow, kNow + 2h});
  take_lease(*cache.files, cache.dir.path("new"), {"job-9", kNow, kNow + 1h});
  FolderLock at_work(cache.dir.path("new/.shardkit/stage.lock"));
  REQUIRE(at_work.try_take(LockMode::shared));
  for (const bool only_look : {true, false}) {
    const auto failure = failure_of([&] {
      only_look ? check_space(cache.dir.path(), cache.wanted(101, 300), kNow, {})
                : static_cast<void>(cache.evict_for_bytes(cache.wanted(101, 300)));
    });
    CHECK(failure == ErrorCode::no_space);
    CHECK(failure.says("101 B are needed"));
    CHECK(failure.says("--limit allows 300"));
    CHECK(failure.says("old' (100 B) is leased by job-7 until 2026-01-01T01:00:00Z"));
    CHECK(failure.says(
        "new' (100 B) is in use by another command, leased by job-8 until 2026-01-01T02:00:00Z and by 1 more"));
    CHECK(failure.says("`shardctl cache release "));
  }
  for (const char* name : {"old", "new", "sub/middle"}) CHECK(cache.holds(name));
  check_space(cache.dir.path(), cache.wanted(100, 300), kNow, {});
  CHECK(cache.holds("sub/middle"));
}

TEST_CASE("the folder that room is made for is not evicted, and counts with what it will hold") {
  const Cache cache;
  const SpaceWanted more{cache.dir.path("sub/../old/"), 150, 300};
  CHECK(cache.evict_for_bytes(more) == Names{"sub/middle"});
  CHECK(cache.holds("old"));
}

TEST_CASE("a folder that no source is known of stays, and so does one whose files nobody knows") {
  const Cache cache;
  StagedSample{cache.dir.path("old"), {{"1.tar", std::string(100, 'x')}}, true, "", 0, kNow - 3h}.make();
  std::filesystem::remove(cache.dir.path("sub/middle/.shardkit/stage.journal"));
  write_file(cache.dir.path("sub/middle/mine"), "mine");
  CHECK(cache.evict_for_bytes(cache.wanted(100, 300)) == Names{"new"});
}

TEST_CASE("a folder that lost its journal is evicted by its marker") {
  const Cache cache;
  std::filesystem::remove(cache.dir.path("old/.shardkit/stage.journal"));
  CHECK(cache.evict_for_bytes(cache.wanted(100, 300)) == Names{"old"});
}

TEST_CASE("a partial copy that nobody leases goes, with its parts") {
  const Cache cache;
  StagedSample{cache.dir.path("part"), {{"1.tar", "x"}}, false, "/src", 0, kNow - 9h}.make();
  write_file(cache.dir.path("part/.shardkit/staging/x.partial"), std::string(50'000, 'x'));
  CHECK(cache.evict_for_bytes(cache.wanted(100, 400)) == Names{"part"});
  CHECK(std::filesystem::exists(cache.dir.path("part/.shardkit/stage.lock")));
  CHECK_FALSE(std::filesystem::exists(cache.dir.path("part/.shardkit/staging")));
}

TEST_CASE("a stage under way counts with what it announced") {
  const Cache cache;
  StagedSample{cache.dir.path("coming"), {}, false, "/src", 1000, kNow}.make();
  FolderLock at_work(cache.dir.path("coming/.shardkit/stage.lock"));
  REQUIRE(at_work.try_take(LockMode::shared));
  CHECK(cache.evict_for_bytes(cache.wanted(100, 1400)).empty());
  CHECK(cache.evict_for_bytes(cache.wanted(100, 1399)) == Names{"old"});
  CHECK(failure_of([&] { cache.evict_for_bytes(cache.wanted(100, 1099)); }) == ErrorCode::no_space);
}

TEST_CASE("without a limit the file system is what bounds") {
  const Cache cache;
  CHECK(cache.evict_for_bytes({cache.dir.path("dst"), 100, {}}).empty());
  const std::uint64_t never = std::uint64_t{1} << 60U;
  const auto failure = failure_of([&] { cache.evict_for_bytes({cache.dir.path("dst"), never, {}}); });
  CHECK(failure == ErrorCode::no_space);
  CHECK(failure.says("has space for"));
  CHECK(cache.holds("old"));
}

TEST_CASE("files that the disk has no inodes for do not fit, and nothing is evicted for them") {
  const Cache cache;
  SpaceWanted many = cache.wanted(100, 1000);
  if (system::free_space(cache.dir.path()).files == UINT64_MAX) return;  // btrfs and others make them as they need them
  many.new_files = std::uint64_t{1} << 60U;
  const auto failure = failure_of([&] { cache.evict_for_bytes(many); });
  CHECK(failure == ErrorCode::no_space);
  CHECK(failure.says("inodes"));
  CHECK(cache.holds("old"));
}

TEST_CASE("a cache that is not there has room") {
  const TempDir dir;
  check_space(dir.path("absent"), {dir.path("absent/dst"), 100, 100}, kNow, {});
  CHECK_FALSE(std::filesystem::exists(dir.path("absent")));
}

TEST_CASE("one process at a time makes room in a cache, and its lock is no shard") {
  const TempDir dir;
  const auto files = posix_file_system();
  const FolderLock lock = lock_cache(*files, dir.path("cache"), {});
  std::stop_source stop;
  stop.request_stop();
  CHECK(failure_of([&] { lock_cache(*files, dir.path("cache"), stop.get_token()); }) == ErrorCode::cancelled);
  CHECK(std::filesystem::exists(dir.path("cache/.shardkit-cache.lock")));
}

TEST_CASE("a set below another set counts, and the eviction of that one leaves it as it is") {
  const TempDir dir;
  const auto files = posix_file_system();
  const std::string text(100, 'x');
  StagedSample{dir.path("a"), {{"1.tar", text}, {"b/of-a.tar", text}}, true, "/src", 0, kNow - 2h}.make();
  StagedSample{dir.path("a/b"), {{"1.tar", text}}, true, "/src", 0, kNow - 1h}.make();
  CHECK(failure_of([&] { check_space(dir.path(), {dir.path("dst"), 301, 300}, kNow, {}); }) == ErrorCode::no_space);
  std::vector<std::string> gone;
  const auto evicted = [&](const StagedFolder& folder) { gone.push_back(folder.path); };
  evict_for(*files, dir.path(), {dir.path("dst"), 100, 300}, kNow, {}, evicted);
  CHECK(gone == std::vector<std::string>{dir.path("a")});
  CHECK(look_at_staged(dir.path("a/b"))->state == StagedState::complete);
  CHECK(read_file(dir.path("a/b/1.tar")) == text);
  CHECK_FALSE(std::filesystem::exists(dir.path("a/b/of-a.tar")));
  evict_for(*files, dir.path(), {dir.path("dst"), 300, 300}, kNow, {}, evicted);
  CHECK(gone.size() == 2);
  CHECK(evictions(dir.path()) == 2);
}

TEST_CASE("the cache's lock in a staged folder lies where readers do not look") {
  const TempDir dir;
  StagedSample{dir.path("a"), {{"1.tar", "x"}}}.make();
  const FolderLock lock = lock_cache(*posix_file_system(), dir.path("a"), {});
  CHECK_FALSE(std::filesystem::exists(dir.path("a/.shardkit-cache.lock")));
  CHECK(std::filesystem::exists(dir.path("a/.shardkit/.shardkit-cache.lock")));
}

TEST_CASE(
    "a folder that went while it was to be evicted is gone, and one that refuses is distinguished from one in use") {
  const TempDir dir;
  StagedFolder folder;
  folder.path = dir.path("absent");
  CHECK(try_evict(*posix_file_system(), dir.path(), folder, kNow, {}));
  folder.path = "/cache/a";
  folder.source = "/data";
  folder.files = folder.bytes = 1;
  std::vector<StagedFolder> folders{folder};
  const auto refuse = [](StagedFolder& refusing) {
    refusing.state = StagedState::unreadable;
    refusing.fault = "no";
    return false;
  };
  CHECK(evict_to(folders, 0, kNow, refuse).empty());
  CHECK_FALSE(is_evictable(folders.front(), kNow));
  CHECK(describe_use(folders.front(), kNow).find("is not accessible to this user (no)") != std::string::npos);
  folders = {folder};
  CHECK(evict_to(folders, 0, kNow, [](StagedFolder&) { return false; }).empty());
  CHECK(folders.front().at_work);
}

TEST_CASE("the advice about a lease ends only this one, which a set below the folder may not lose") {
  const Cache cache;
  cache.lease("old", kNow + 1h);
  const auto advice = [&] { return release_advice({*look_at_staged(cache.dir.path("old"))}, kNow); };
  CHECK(advice() == "; if that lease is no longer needed, run `shardctl cache release " + cache.dir.path("old") +
                        " --lease-id job-7`");
  SUBCASE("one that a process held which was killed can be released") {
    take_lease(*cache.files, cache.dir.path("old"), {"job-8", kNow, kNow + 2h, "holder"});
    CHECK(advice() == "; if that lease is no longer needed, run `shardctl cache release " + cache.dir.path("old") +
                          " --lease-id job-8`");
  }
  SUBCASE("one that cannot be read has no id") {
    write_file(cache.dir.path("old/.shardkit/leases/x.json"), "?");
    CHECK(advice().ends_with("run `shardctl cache release " + cache.dir.path("old") + " --all`"));
  }
  SUBCASE("one that is over is not named") {
    take_lease(*cache.files, cache.dir.path("old"), {"job-8", kNow - 9h, kNow - 1h});
    CHECK(advice().ends_with(" --lease-id job-7`"));
  }
}
