#include <doctest/doctest.h>
#include <sched.h>

#include "support/errors.hpp"
#include "support/recorded_tree.hpp"
#include "system/memory.hpp"

using namespace shardkit;
using namespace shardkit::system;
using namespace shardkit_test;

namespace {

RecordedTree three_nodes() {
  RecordedTree tree;
  for (const char* node : {"0", "1", "2"}) {
    const std::string folder = std::string("sys/devices/system/node/node") + node;
    tree.add(folder + "/cpulist", node).add(folder + "/meminfo", std::string("Node ") + node + " MemTotal: 1000 kB\n");
  }
  // A GPU whose memory the host sees, and processors without memory.
  tree.add("sys/devices/system/node/node3/cpulist", "")
      .add("sys/devices/system/node/node3/meminfo", "Node 3 MemTotal: 9000 kB\n");
  tree.add("sys/devices/system/node/node4/cpulist", "4")
      .add("sys/devices/system/node/node4/meminfo", "Node 4 MemTotal: 0 kB\n");
  return tree.add("sys/devices/system/node/node0/distance", "10 21 32 80 90");
}

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  return CPU_COUNT(&set);
}

}  // namespace

TEST_CASE("nodes of the host have processors and memory") {
  CHECK(host_nodes(three_nodes()) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(host_nodes(RecordedTree()).empty());
}

TEST_CASE("the farthest node is that of the greatest distance, among the host's") {
  CHECK(farthest_node(0, three_nodes()) == 2);
  CHECK(farthest_node(1, three_nodes()) == 0);  // no distances known: the first other one
  CHECK_FALSE(farthest_node(0, RecordedTree()));
}

TEST_CASE("a thread is bound to a node, and as it was afterwards") {
  const auto nodes = host_nodes();
  const int before = processors();
  for (const std::uint64_t node : nodes) {
    const auto refused = failure_of([&] {
      const NumaBinding binding(node);
      CHECK(processors() <= before);
      CHECK(processors() > 0);
    });
    CHECK((!refused.failed || refused == ErrorCode::unsupported));
    CHECK(processors() == before);
  }
}

TEST_CASE("a node of which this process may use no processor is refused, and nothing is changed") {
  const int before = processors();
  const auto refused = failure_of([] { const NumaBinding binding(5, RecordedTree()); });
  CHECK(refused == ErrorCode::unsupported);
  CHECK(refused.text == "cannot run on NUMA node 5: none of the processors is available to this process");
  CHECK(processors() == before);
}
