#include "bench/start/common_start.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace shardkit::bench {
namespace {

using Names = std::vector<std::string>;

CommonStartOptions barrier(const TempDir& folder, std::uint64_t world) {
  CommonStartOptions options;
  options.barrier = folder.path();
  options.world = world;
  return options;
}

TEST_CASE("a short name is the FQDN that it begins, unless two nodes would be one") {
  struct Row {
    Names scheduler, others;
    std::string name, is;
  };
  for (const Row& row : {Row{{"n1", "n2"}, {"n1.a", "n2.a"}, "n1.a", "n1"},
                         {{"n1.a"}, {"n1"}, "n1", "n1.a"},
                         {{}, {"n1.a", "n1"}, "n1.a", "n1"},
                         {{}, {"n1.a"}, "n1.a", "n1.a"},
                         {{"n1"}, {"n1.a", "n1.b"}, "n1.a", "n1.a"},
                         {{"n1"}, {"n10.a"}, "n10.a", "n10.a"},
                         {{"10.0.0.1", "10.0.0.2"}, {}, "10.0.0.1", "10.0.0.1"}}) {
    CAPTURE(row.name);
    CHECK(NodeNames(row.scheduler, row.others).of(row.name) == row.is);
  }
}

TEST_CASE("names of nodes are written like Slurm writes them") {
  CHECK(expand_hosts("node[001-003,007],gpu1") == Names{"node001", "node002", "node003", "node007", "gpu1"});
  CHECK(expand_hosts("a,b") == Names{"a", "b"});
  CHECK(expand_hosts("r[1-2]-x") == Names{"r1-x", "r2-x"});
  CHECK(expand_hosts("r[1-2]-n[08-09],a") == Names{"r1-n08", "r1-n09", "r2-n08", "r2-n09", "a"});
  CHECK(expand_hosts("").empty());
  CHECK(expand_hosts(",a,,b,") == Names{"a", "b"});
  for (const char* list :
       {"r[1-2]n[1-", "n[01-07", "n[07-01]", "n[a-b]", "n[]", "n[01-06],q[1", "n1]", "n[1-99999999]", "n[1-]"})
    CHECK(shardkit_test::failure_of([&] { expand_hosts(list); }) == ErrorCode::usage);
}

TEST_CASE("times to start are dates or seconds") {
  CHECK(parse_start("2026-11-26T12:00:00Z") == 1795694400);
  CHECK(parse_start("@1764158400") == 1764158400);
  CHECK(parse_start("1764158400") == 1764158400);
  CHECK_THROWS_AS(parse_start("soon"), Error);
}

/// Waits on `count` threads as that many nodes, and returns how each started; empty where it failed.
std::vector<CommonStart> start_together(const CommonStartOptions& options, std::size_t count) {
  std::vector<CommonStart> starts(count);
  std::vector<std::jthread> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.emplace_back([&, i] {
      Context context;
      try {
        starts[i] = wait_for_start(options, "node" + std::to_string(i), context, system::Seconds(5));
      } catch (const Error&) {  // its start stays empty
      }
    });
  }
  nodes.clear();
  return starts;
}

TEST_CASE("all nodes of a barrier start at the same time, in a folder that is made and can be used again") {
  TempDir folder;
  CommonStartOptions options = barrier(folder, 3);
  *options.barrier += "/made/here";
  std::vector<std::string> ids;
  for (int round = 0; round < 2; ++round) {
    const std::vector<CommonStart> starts = start_together(options, 3);
    ids.push_back(starts[0].id);
    for (const CommonStart& start : starts) {
      CHECK_FALSE(start.id.empty());
      CHECK(start.id == starts[0].id);
      CHECK(start.started_at - start.late == doctest::Approx(starts[0].started_at - starts[0].late).epsilon(1e-11));
      CHECK(start.clock_offset);
    }
  }
  CHECK(ids[0] != ids[1]);
}

TEST_CASE("a node does not start with those of an earlier start, nor with one that was killed") {
  TempDir folder;
  start_together(barrier(folder, 2), 2);
  write_file(folder.path() + "/node9.0123456789ab.arrived", "waiting\n");
  CHECK(start_together(barrier(folder, 2), 1)[0].id.empty());
}

TEST_CASE("more nodes than --world are refused, all of them, and so is a name of two nodes") {
  TempDir folder;
  std::size_t started = 0;
  for (const CommonStart& start : start_together(barrier(folder, 2), 5)) started += start.id.empty() ? 0 : 1;
  CHECK(started <= 2);
}

TEST_CASE("nodes that come before the time of a start without them are refused, and do not start among themselves") {
  TempDir folder;
  write_file(folder.path() + "/1.start", "99999999999.000\nnode7.0123456789ab.arrived\nnode8.0123456789ab.arrived");
  for (const CommonStart& surplus : start_together(barrier(folder, 2), 2)) CHECK(surplus.id.empty());
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/2.start"));
}

TEST_CASE("the number of a start follows the last one also if nobody needs that any more") {
  TempDir folder;
  for (const char* name : {"/8.start", "/9.start"}) {
    write_file(folder.path() + name, "1000.000\nnode0.0123456789ab.arrived");
    std::filesystem::last_write_time(folder.path() + name,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  }
  CHECK_FALSE(start_together(barrier(folder, 1), 1)[0].id.empty());
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/8.start"));
  CHECK(std::filesystem::exists(folder.path() + "/10.start"));
}

TEST_CASE("a barrier that does not fill names the missing nodes if the scheduler lists them, else counts them") {
  for (const auto& [list, missing] : {std::pair{"node[1-3]", "missing: node1, node3;"}, {"", "missing: 2 nodes;"}}) {
    const TempDir folder;
    const shardkit_test::Environment nodes("SLURM_JOB_NODELIST", list);
    Context context;
    const auto failure =
        shardkit_test::failure_of([&] { wait_for_start(barrier(folder, 3), "node2", context, system::Seconds(0.01)); });
    CHECK(failure == ErrorCode::io);  // exit 1: a retry may help
    CHECK(failure.says("only 1 of 3 nodes came"));
    CHECK(failure.says(missing));
  }
}

TEST_CASE("options that do not fit are refused") {
  TempDir folder;
  Context context;
  CommonStartOptions no_world = barrier(folder, 1);
  no_world.world.reset();
  CHECK_THROWS_AS(wait_for_start(no_world, "n", context), Error);
  CommonStartOptions both = barrier(folder, 1);
  both.start_at = "@1";
  CHECK_THROWS_AS(wait_for_start(both, "n", context), Error);
  CHECK_THROWS_AS(wait_for_start(barrier(folder, 1), "../n", context), Error);
}

TEST_CASE("without options nothing waits") {
  Context context;
  const CommonStart start = wait_for_start({}, "n", context);
  CHECK(start.node == "n");
  CHECK_FALSE(start.clock_offset);
}

}  // namespace
}  // namespace shardkit::bench
