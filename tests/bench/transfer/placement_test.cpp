#include "bench/machine/placement.hpp"

#include <doctest/doctest.h>

#include "support/errors.hpp"
#include "support/recorded_tree.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit_test;

namespace {

RecordedTree two_nodes() {
  RecordedTree tree;
  for (const char* node : {"0", "1"}) {
    const std::string folder = std::string("sys/devices/system/node/node") + node;
    tree.add(folder + "/cpulist", node).add(folder + "/meminfo", std::string("Node ") + node + " MemTotal: 1000 kB\n");
  }
  return tree.add("sys/devices/system/node/node0/distance", "10 21")
      .add("sys/devices/system/node/node1/distance", "21 10");
}

std::vector<NumaLocation> kinds(const std::vector<Placement>& placements) {
  std::vector<NumaLocation> all;
  for (const Placement& placement : placements) all.push_back(placement.location);
  return all;
}

}  // namespace

TEST_CASE("memory comes from the GPU's node, the farthest one, or each in turn") {
  Context context;
  const RecordedTree tree = two_nodes();
  const auto of = [&](NumaChoice choice) { return placements(choice, 1, tree, context); };
  CHECK(kinds(of(NumaChoice::automatic)) == std::vector{NumaLocation::local});
  CHECK(of(NumaChoice::local).front().node == 1);
  CHECK(of(NumaChoice::remote).front().node == 0);
  CHECK(kinds(of(NumaChoice::both)) == std::vector{NumaLocation::local, NumaLocation::remote});
  CHECK(context.warnings().empty());
}

TEST_CASE("where the GPU's node is unknown, asking for it is not supported") {
  Context context;
  const RecordedTree tree = two_nodes();
  CHECK(kinds(placements(NumaChoice::automatic, {}, tree, context)) == std::vector{NumaLocation::unbound});
  for (const NumaChoice choice : {NumaChoice::local, NumaChoice::remote, NumaChoice::both}) {
    CHECK(failure_of([&] { placements(choice, {}, tree, context); }) == ErrorCode::unsupported);
  }
}

TEST_CASE("a machine of one node has nothing remote") {
  Context context;
  RecordedTree tree;
  tree.add("sys/devices/system/node/node0/cpulist", "0")
      .add("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1000 kB\n");
  CHECK(failure_of([&] { placements(NumaChoice::remote, 0, tree, context); }) == ErrorCode::unsupported);
  CHECK(context.warnings().empty());
  CHECK(kinds(placements(NumaChoice::both, 0, tree, context)) == std::vector{NumaLocation::local});
  CHECK(context.warnings().front().code == "no_remote_node");
}

TEST_CASE("a node that this process may not run on is refused when asked for by name, else warned of") {
  Context context;
  RecordedTree tree;  // with a node of no processor that is here
  tree.add("sys/devices/system/node/node7/cpulist", "60000");
  Placement placement{NumaLocation::local, 7};
  CHECK(failure_of([&] { bind(placement, NumaChoice::local, tree, context); }) == ErrorCode::unsupported);
  CHECK(bind(placement, NumaChoice::automatic, tree, context) == nullptr);
  CHECK(placement.location == NumaLocation::unbound);
  CHECK_FALSE(placement.node);
  CHECK(context.warnings().front().code == "numa_not_bound");
}
