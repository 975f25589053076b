#include <filesystem>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "io/file_system.hpp"
#include "staging/node_cache.hpp"
#include "support/errors.hpp"
#include "support/forgetful_file_system.hpp"
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

using Content = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("what a stage brought goes, its lock and what others put there stay") {
  const TempDir dir;
  const auto files = posix_file_system();
  StagedSample{dir.path(), {{"1.tar", "one"}, {".shardkit/1.tar.index", "i"}, {"a/b/2", "two"}, {"c/3", "x"}}}.make();
  write_file(dir.path("c/mine"), "mine");
  write_file(dir.path("mine.tar"), "mine");
  write_file(dir.path(".shardkit/staging/x.partial"), "part");
  write_file(dir.path(".shardkit/staged.lock"), "");
  take_lease(*files, dir.path(), {"ended", kNow - 2h, kNow - 1h});
  CHECK(evict(*files, dir.path(), kNow, {}));
  CHECK(tree_content(dir.path()) == Content{{".shardkit/stage.lock", ""}, {"c/mine", "mine"}, {"mine.tar", "mine"}});
  CHECK_FALSE(std::filesystem::exists(dir.path("a")));
  CHECK(evict(*files, dir.path(), kNow, {}));
}

TEST_CASE("a folder that is leased or at work stays as it is") {
  const TempDir dir;
  const auto files = posix_file_system();
  StagedSample{dir.path(), {{"1.tar", "one"}}}.make();
  const Content before = tree_content(dir.path());
  SUBCASE("at work") {
    FolderLock lock(dir.path(".shardkit/stage.lock"));
    REQUIRE(lock.try_take(LockMode::shared));
    CHECK_FALSE(evict(*files, dir.path(), kNow, {}));
    CHECK(tree_content(dir.path()) == before);
  }
  SUBCASE("leased") {
    take_lease(*files, dir.path(), {"a", kNow, kNow + 1s});
    CHECK_FALSE(evict(*files, dir.path(), kNow, {}));
    CHECK(read_file(dir.path("1.tar")) == "one");
    CHECK(evict(*files, dir.path(), kNow + 1s, {}));
  }
}

TEST_CASE("names in a journal that lead out of the folder, and links, lead nowhere") {
  const TempDir dir;
  const auto files = posix_file_system();
  write_file(dir.path("outside/file"), "kept");
  const std::string folder = dir.path("cache");
  StagedSample{folder, {{"1.tar", "one"}, {"sub/file", "gone"}}}.make();
  StageJournal::State journal = StageJournal::read(folder + "/.shardkit/stage.journal");
  for (const char* name : {"../outside/file", "/etc/hostname", "", "a//b", "link/file", "one-link", "a-folder"}) {
    journal.files[name] = {4, "", {}};
  }
  journal.files[dir.path("outside/file")] = {4, "", {}};
  StageJournal::rewrite(*files, folder + "/.shardkit/stage.journal", journal);
  std::filesystem::create_directory_symlink(dir.path("outside"), folder + "/link");
  std::filesystem::create_symlink(dir.path("outside/file"), folder + "/one-link");
  write_file(folder + "/a-folder/file", "kept");
  CHECK(evict(*files, folder, kNow, {}));
  CHECK(read_file(dir.path("outside/file")) == "kept");
  CHECK(std::filesystem::is_symlink(folder + "/one-link"));
  CHECK(read_file(folder + "/a-folder/file") == "kept");
  CHECK_FALSE(std::filesystem::exists(folder + "/1.tar"));
  CHECK_FALSE(std::filesystem::exists(folder + "/sub"));
}

TEST_CASE("a state folder that is a link is refused") {
  const TempDir dir;
  const auto files = posix_file_system();
  StagedSample{dir.path("real"), {{"1.tar", "one"}}}.make();
  std::filesystem::create_directories(dir.path("fake"));
  std::filesystem::create_directory_symlink(dir.path("real/.shardkit"), dir.path("fake/.shardkit"));
  CHECK(failure_of([&] { evict(*files, dir.path("fake"), kNow, {}); }) == ErrorCode::conflict);
  CHECK(read_file(dir.path("real/1.tar")) == "one");
}

TEST_CASE("an eviction that is stopped leaves a partial copy without a marker, and is done by the next") {
  const TempDir dir;
  const auto files = posix_file_system();
  StagedSample{dir.path(), {{"1.tar", "one"}, {"2.tar", "two"}}}.make();
  std::stop_source stop;
  stop.request_stop();
  CHECK(failure_of([&] { evict(*files, dir.path(), kNow, stop.get_token()); }) == ErrorCode::cancelled);
  CHECK_FALSE(std::filesystem::exists(dir.path(".shardkit/staged.json")));
  CHECK(std::filesystem::exists(dir.path(".shardkit/stage.journal")));
  CHECK(evict(*files, dir.path(), kNow, {}));
  CHECK(tree_content(dir.path()) == Content{{".shardkit/stage.lock", ""}});
}

TEST_CASE("a damaged file is discarded with the marker, so that a stage fetches it again") {
  const TempDir dir;
  const auto files = posix_file_system();
  StagedSample{dir.path(), {{"1.tar", "one"}, {"2.tar", "two"}}}.make();
  write_file(dir.path("mine"), "mine");
  take_lease(*files, dir.path(), {"a", kNow, kNow + 1s});
  FolderLock lock(dir.path(".shardkit/stage.lock"));
  REQUIRE(lock.try_take(LockMode::shared));
  CHECK_FALSE(discard(*files, dir.path(), {"2.tar"}, kNow));
  lock.release();
  CHECK(discard(*files, dir.path(), {"2.tar"}, kNow));  // leased: a stage replaces it, so readers never miss it
  CHECK(read_file(dir.path("2.tar")) == "two");
  CHECK_FALSE(std::filesystem::exists(dir.path(".shardkit/staged.json")));
  CHECK(StageJournal::read(dir.path(".shardkit/stage.journal")).files.at("2.tar").is_damaged());
  CHECK(look_at_staged(dir.path())->damaged == 1);
  CHECK(discard(*files, dir.path(), {"2.tar", "mine"}, kNow + 1s));
  CHECK_FALSE(std::filesystem::exists(dir.path("2.tar")));
  CHECK_FALSE(std::filesystem::exists(dir.path(".shardkit/staged.json")));
  CHECK(read_file(dir.path("1.tar")) == "one");
  CHECK(read_file(dir.path("mine")) == "mine");
}

TEST_CASE("leftovers are ended leases and parts that nobody will go on with") {
  const TempDir dir;
  const auto files = posix_file_system();
  StagedSample{dir.path(), {{"1.tar", "one"}}}.make();
  write_file(dir.path(".shardkit/staging/x.partial"), std::string(10'000, 'x'));
  write_file(dir.path(".shardkit/staging/x.parts"), "log");
  take_lease(*files, dir.path(), {"ended", kNow - 2h, kNow - 1h});
  SUBCASE("they are counted, and removed when asked to") {
    const Leftovers seen = sweep_leftovers(*files, dir.path(), kNow, false);
    CHECK(seen.files == 3);
    CHECK(seen.bytes >= 10'000);
    CHECK(read_leases(dir.path()).size() == 1);
    CHECK(sweep_leftovers(*files, dir.path(), kNow, true).files == 3);
    CHECK(sweep_leftovers(*files, dir.path(), kNow, true).files == 0);
    CHECK(read_file(dir.path("1.tar")) == "one");
  }
  SUBCASE("who leases the folder may come back for the parts") {
    take_lease(*files, dir.path(), {"alive", kNow, kNow + 1h});
    CHECK(sweep_leftovers(*files, dir.path(), kNow, true).files == 1);
    CHECK(std::filesystem::exists(dir.path(".shardkit/staging/x.partial")));
    CHECK(read_leases(dir.path()).size() == 1);
  }
  SUBCASE("nothing is touched while somebody is at work") {
    FolderLock lock(dir.path(".shardkit/stage.lock"));
    REQUIRE(lock.try_take(LockMode::shared));
    CHECK(sweep_leftovers(*files, dir.path(), kNow, true).files == 0);
    CHECK(read_leases(dir.path()).size() == 1);
  }
}

TEST_CASE("no file goes before it is durable that the marker is gone") {
  const TempDir dir;
  ForgetfulFileSystem files;
  StagedSample{dir.path(), {{"1.tar", "one"}}}.make();
  files.fail_at(1, ErrorCode::io);  // the sync behind the marker's removal
  CHECK(failure_of([&] { evict(files, dir.path(), kNow, {}); }) == ErrorCode::io);
  CHECK_FALSE(std::filesystem::exists(dir.path(".shardkit/staged.json")));
  CHECK(read_file(dir.path("1.tar")) == "one");
}
