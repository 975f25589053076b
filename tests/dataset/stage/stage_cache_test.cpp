#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "dataset/stage/stage.hpp"
#include "io/file_system.hpp"
#include "staging/lease.hpp"
#include "staging/staged_folder.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/staged_folder.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::io;
using namespace shardkit::staging;
using namespace shardkit::system;
using namespace std::chrono_literals;
using shardkit_test::failure_of;

namespace {

/// Sources of 1000 bytes each, and a cache to stage them to.
struct Node {
  Node() {
    for (const char* name : {"a", "b", "c"}) write_file(dir.path(std::string("src/") + name + "/1.bin"), text(1000));
  }

  static std::string text(std::size_t bytes) { return std::string(bytes, 'x'); }

  StageOptions of(const std::string& name, const std::string& owner = "me") const {
    StageOptions options;
    options.sources = {dir.path("src/" + name)};
    options.target = dir.path("cache/" + name);
    options.manifest = "none";
    options.share.lease_id = owner;
    return options;
  }
  StageOptions limited(const std::string& name, std::uint64_t limit, double lease = 0) const {
    StageOptions options = of(name);
    options.share.cache = dir.path("cache");
    options.share.limit = limit;
    options.share.lease = lease;
    return options;
  }

  bool holds(const std::string& name) const { return std::filesystem::exists(dir.path("cache/" + name + "/1.bin")); }
  std::vector<LeaseFile> leases(const std::string& name) const { return read_leases(dir.path("cache/" + name)); }

  TempDir dir;
};

StageResult run(const StageOptions& options) {
  Context context;
  return stage(options, context);
}

}  // namespace

TEST_CASE("a stage leaves a lease in its owner's name, and the next stage of the same set renews it") {
  const Node node;
  StageOptions options = node.of("a");
  options.share.lease = 3600;
  const WallTime before = system_clock().now();
  run(options);
  REQUIRE(node.leases("a").size() == 1);
  const Lease first = node.leases("a")[0].lease.value();
  CHECK(first.owner == "me");
  CHECK(first.expires_at >= before + 3599s);
  options.share.lease = 7200;
  CHECK(run(options).bytes_fetched == 0);
  REQUIRE(node.leases("a").size() == 1);
  CHECK(node.leases("a")[0].lease->expires_at >= before + 7199s);
  options.share.lease_id = "another";
  run(options);
  CHECK(node.leases("a").size() == 2);
}

TEST_CASE("--lease 0 takes none and needs no folder that it may write to") {
  const Node node;
  StageOptions options = node.of("a");
  options.share.lease = 0;
  run(options);
  CHECK(node.leases("a").empty());
  FolderLock lock(options.target + "/.shardkit/stage.lock");
  REQUIRE(lock.try_take(LockMode::exclusive));
  CHECK(run(options).bytes_fetched == 0);
}

TEST_CASE("a stage that finds all in place makes its set the one used last") {
  const Node node;
  const StageOptions options = node.of("a");
  run(options);
  const StagedSample staged{options.target, {}};
  staged.touch(kStagedMarkerPath, WallTime(1s));
  run(options);
  CHECK(look_at_staged(options.target)->last_used > WallTime(1s));
}

TEST_CASE("sets used least recently make room for one more") {
  const Node node;
  run(node.limited("a", 2000));
  run(node.limited("b", 2000));
  StagedSample{node.dir.path("cache/b"), {}}.touch(kStagedMarkerPath, WallTime(1s));
  Context context;
  stage(node.limited("c", 2000), context);
  CHECK(node.holds("a"));
  CHECK_FALSE(node.holds("b"));
  CHECK(node.holds("c"));
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].code == "evicted");
  CHECK(context.warnings()[0].text.find("cache/b") != std::string::npos);
}

TEST_CASE("what is leased stays, and what then does not fit fails before it is begun") {
  const Node node;
  run(node.limited("a", 2000, 3600));
  run(node.limited("b", 2000, 3600));
  const auto failure = failure_of([&] { run(node.limited("c", 2000)); });
  CHECK(failure == ErrorCode::no_space);
  CHECK(failure.says("leased by me until"));
  CHECK_FALSE(std::filesystem::exists(node.dir.path("cache/c")));
  CHECK(node.holds("a"));
  run(node.limited("a", 2000));
}

TEST_CASE("a limit below the set itself evicts nothing") {
  const Node node;
  run(node.limited("a", 1000));
  write_file(node.dir.path("src/b/2.bin"), Node::text(1000));
  CHECK(failure_of([&] { run(node.limited("b", 1999)); }) == ErrorCode::no_space);
  CHECK(node.holds("a"));
}

TEST_CASE("what the target holds of the set already counts against the limit") {
  const Node node;
  run(node.limited("a", 1000));
  std::filesystem::remove(node.dir.path("cache/a/1.bin"));
  run(node.limited("a", 1000));
  CHECK(node.holds("a"));
}

TEST_CASE("the target has to lie in the cache, where it is found again") {
  const Node node;
  for (const char* target : {"elsewhere", "cache/1/2/3/4/5", "cache/.hidden", "cache/../other"}) {
    CAPTURE(target);
    StageOptions options = node.limited("a", 5000);
    options.target = node.dir.path(target);
    CHECK(failure_of([&] { run(options); }) == ErrorCode::usage);
  }
  StageOptions options = node.limited("a", 5000);
  options.target = node.dir.path("cache/1/2/3/4");
  run(options);
  options = node.limited("a", 5000);
  options.share.lease = -1;
  CHECK(failure_of([&] { run(options); }) == ErrorCode::usage);
}

TEST_CASE("another finished set is replaced with --limit alone, and never while another owner leases it") {
  const Node node;
  write_file(node.dir.path("src/b/1.bin"), Node::text(900));  // another set also if both are written at one moment
  StageOptions first = node.of("a", "first");
  run(first);
  StageOptions second = node.of("b", "second");
  second.target = first.target;
  const auto replace = [&] { return failure_of([&] { run(second); }); };
  SUBCASE("without a limit it is a conflict that says how to go on") {
    second.share.lease_id = "first";
    CHECK(replace() == ErrorCode::conflict);
    CHECK(replace().says("evict "));
  }
  SUBCASE("a lease of another is in the way") {
    second.share.limit = 5000;
    CHECK(replace() == ErrorCode::no_space);
    CHECK(replace().says("leased by first until"));
    CHECK(replace().says("`shardctl cache release "));
    CHECK(node.holds("a"));
    remove_leases(*posix_file_system(), first.target, [](const auto&) { return true; });
    CHECK_FALSE(replace().failed);
  }
  SUBCASE("one's own is not, and the result names the set that is gone") {
    second.share.limit = 5000;
    second.share.lease_id = "first";
    const StageResult result = run(second);
    REQUIRE(result.evicted.size() == 1);
    CHECK(result.evicted[0].starts_with("'" + first.target + "' ("));
    CHECK(result.evicted[0].find("/src/a'") != std::string::npos);
    CHECK(run(second).evicted.empty());
  }
  SUBCASE("nor are newer files brought while another leases the older ones") {
    write_file(node.dir.path("src/a/1.bin"), Node::text(2000));
    second = node.of("a", "second");
    CHECK(replace() == ErrorCode::no_space);
    second.share.lease_id = "first";
    CHECK_FALSE(replace().failed);
  }
}

TEST_CASE("a set that is evicted while its stage looks at it is brought again") {
  const Node node;
  StageOptions options = node.of("a");
  run(options);
  FolderLock evicting(options.target + "/.shardkit/stage.lock");
  REQUIRE(evicting.try_take(LockMode::exclusive));
  std::jthread end([&] {
    std::this_thread::sleep_for(200ms);
    std::filesystem::remove(options.target + "/.shardkit/staged.json");
    std::filesystem::remove(options.target + "/1.bin");
    evicting.release();
  });
  CHECK(run(options).bytes_fetched == 1000);
  end.join();
  CHECK(node.holds("a"));
}

TEST_CASE("without a known job each stage has a lease of its own, under an id that its result names") {
  const Node node;
  const StageOptions options = node.of("a", "");
  if (!job_lease_id(process_environment()).empty()) {
    MESSAGE("SKIPPED: these tests run in a job");
    return;
  }
  const auto first = run(options).lease_id;
  const auto second = run(options).lease_id;
  REQUIRE(first);
  REQUIRE(second);
  CHECK(*first != *second);
  CHECK(node.leases("a").size() == 2);
  CHECK(release_lease(*posix_file_system(), options.target, *first).ended == 1);
  CHECK(node.leases("a")[0].lease->owner == *second);
}

TEST_CASE("a set that does not fit leaves no lease and no announcement that keep others out") {
  const Node node;
  StageOptions large = node.of("a");
  large.share.cache = node.dir.path("cache");
  write_file(node.dir.path("src/a/2.bin"), "");
  std::filesystem::resize_file(node.dir.path("src/a/2.bin"), std::uint64_t{1} << 43U);
  CHECK(failure_of([&] { run(large); }) == ErrorCode::no_space);
  CHECK(node.leases("a").empty());
  run(node.limited("b", 1000));
  CHECK(node.holds("b"));
}

TEST_CASE("with --wait a stage waits until leases end, and fails as before when they do not") {
  const Node node;
  run(node.limited("a", 1000, 3600));
  StageOptions options = node.limited("b", 1000);
  options.share.wait = 0.1;
  CHECK(failure_of([&] { run(options); }).says("leased by me until"));
  options.share.wait = 60;
  Context context;
  {
    const std::jthread release([&] {
      while (context.warnings().empty()) std::this_thread::sleep_for(1ms);  // until it waits
      release_lease(*posix_file_system(), node.dir.path("cache/a"), "me");
    });
    CHECK(stage(options, context).bytes_fetched == 1000);
  }
  REQUIRE(context.warnings().size() == 2);
  CHECK(context.warnings()[0].code == "waited_for_space");
  CHECK(context.warnings()[1].code == "evicted");
  CHECK_FALSE(node.holds("a"));
}

TEST_CASE("a limit below the set is not waited for") {
  const Node node;
  StageOptions options = node.limited("a", 999);
  options.share.wait = 3600;
  CHECK(failure_of([&] { run(options); }) == ErrorCode::no_space);
}

TEST_CASE("a second call counts a hit and fetches a file again whose bytes were changed in place") {
  const Node node;
  const StageOptions options = node.of("a");
  run(options);
  CHECK(look_at_staged(options.target)->hits == 0);
  CHECK(run(options).bytes_fetched == 0);
  CHECK(look_at_staged(options.target)->hits == 1);
  const std::string path = options.target + "/1.bin";
  const auto staged_at = std::filesystem::last_write_time(path);
  SUBCASE("touched, with its bytes") {
    std::filesystem::last_write_time(path, staged_at + 5s);
    CHECK(run(options).bytes_fetched == 0);
    CHECK(look_at_staged(options.target)->hits == 1);  // it was read
  }
  SUBCASE("written") {
    write_file(path, std::string(1000, 'y'));
    std::filesystem::last_write_time(path, staged_at + 5s);
    CHECK(run(options).bytes_fetched == 1000);
  }
  SUBCASE("replaced by a copy with the same time") {
    std::filesystem::copy(path, path + "2");
    std::filesystem::rename(path + "2", path);
    std::filesystem::last_write_time(path, staged_at);
    CHECK(run(options).bytes_fetched == 0);
  }
  SUBCASE("a pipe in its place") {
    std::filesystem::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
    CHECK(run(options).bytes_fetched == 1000);
  }
  CHECK(read_file(path) == Node::text(1000));
  CHECK(run(options).bytes_fetched == 0);
  CHECK(look_at_staged(options.target)->state == StagedState::complete);
}
