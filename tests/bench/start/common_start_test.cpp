#include "bench/start/common_start.hpp"

#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
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

TEST_CASE("names of nodes are written like Slurm writes them") {
  CHECK(expand_hosts("node[001-003,007],gpu1") == Names{"node001", "node002", "node003", "node007", "gpu1"});
  CHECK(expand_hosts("a,b") == Names{"a", "b"});
  CHECK(expand_hosts("r[1-2]-x") == Names{"r1-x", "r2-x"});
  CHECK(expand_hosts("").empty());
  CHECK(expand_hosts("broken[1-") == Names{});
}

TEST_CASE("times to start are dates or seconds") {
  CHECK(parse_start("2026-11-26T12:00:00Z") == 1795694400);
  CHECK(parse_start("@1764158400") == 1764158400);
  CHECK(parse_start("1764158400") == 1764158400);
  CHECK_THROWS_AS(parse_start("soon"), Error);
}

TEST_CASE("all nodes of a barrier start at the same time") {
  TempDir folder;
  std::vector<CommonStart> starts(3);
  {
    std::vector<std::jthread> nodes;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      nodes.emplace_back([&, i] {
        Context context;
        starts[i] = wait_for_start(barrier(folder, starts.size()), "node" + std::to_string(i), context);
      });
    }
  }
  for (const CommonStart& start : starts) {
    CHECK(start.started_at - start.late == doctest::Approx(starts[0].started_at - starts[0].late).epsilon(1e-12));
    CHECK(start.clock_offset);
  }
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

TEST_CASE("a barrier that was used before is refused") {
  TempDir folder;
  Context context;
  const CommonStartOptions options = barrier(folder, 2);
  CHECK_THROWS_AS(wait_for_start(options, "n", context, system::Seconds(0.01)), Error);
  CHECK_THROWS_WITH_AS(wait_for_start(options, "n", context), doctest::Contains("was used before"), Error);
}

TEST_CASE("without options nothing waits") {
  Context context;
  const CommonStart start = wait_for_start({}, "n", context);
  CHECK(start.node == "n");
  CHECK_FALSE(start.clock_offset);
}

}  // namespace
}  // namespace shardkit::bench
