#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"
#include "system/limits.hpp"

using namespace shardkit;
using namespace shardkit::system;

namespace {

RecordedTree version2() {
  RecordedTree tree;
  tree.add("proc/self/cgroup", "0::/user/shell").add("proc/10/cgroup", "0::/pods/pod1/c1");
  tree.add("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  const std::string pod = "sys/fs/cgroup/pods/pod1";
  tree.add(pod + "/cpu.max", "400000 100000");
  tree.add(pod + "/cpu.stat", "usage_usec 9000000\nnr_periods 100\nnr_throttled 40\nthrottled_usec 5000000\n");
  tree.add(pod + "/c1/cpu.max", "max 100000");
  tree.add(pod + "/c1/cpu.stat", "usage_usec 8500000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  tree.add(pod + "/c1/memory.current", "1000000");
  tree.add(pod + "/memory.max", "5000000").add(pod + "/c1/memory.max", "max");
  tree.add(pod + "/c1/io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0 total=1000000");
  return tree;
}

}  // namespace

TEST_CASE("throttling is that of the group with the limit, use that of the process's own group") {
  const CgroupUse use = read_cgroup_use(version2(), "10");
  CHECK(use.cpu_limit == 4);
  CHECK(use.periods == 100);
  CHECK(use.throttled_periods == 40);
  CHECK(use.cpu_seconds == doctest::Approx(8.5));
  CHECK(use.memory == 1000000);
  CHECK(use.memory_limit == 5000000);
  REQUIRE(use.pressure.io);
  CHECK(use.pressure.io->some_seconds == doctest::Approx(2));
  CHECK_FALSE(use.pressure.memory);
}

TEST_CASE("a group without a limit is not throttled, and says nothing of it") {
  const CgroupUse use = read_cgroup_use(version2(), "self");
  CHECK_FALSE(use.cpu_limit);
  CHECK_FALSE(use.throttled_periods);
}

TEST_CASE("a group outside of what this container sees is unknown; one that is its own is not") {
  RecordedTree tree = version2();
  tree.add("proc/10/cgroup", "0::/../other");
  CHECK_FALSE(read_cgroup_use(tree, "10").cpu_seconds);
  RecordedTree pod = RecordedTree::machine("pod");
  pod.add("proc/7/cgroup", "0::/");
  const CgroupUse use = read_cgroup_use(pod, "7");
  CHECK(use.cpu_limit == doctest::Approx(7.65));
  CHECK(use.throttled_periods == 3400);
  CHECK(use.memory_limit == 68719476736);
}

TEST_CASE("version 1 has a group for each controller") {
  RecordedTree tree;
  tree.add("proc/10/cgroup", "3:memory:/job\n2:cpu,cpuacct:/job\n");
  tree.add("proc/self/mountinfo",
           "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
           "32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  tree.add("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000").add("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000");
  tree.add("sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 99\n");
  tree.add("sys/fs/cgroup/cpu/job/cpuacct.usage", "3000000000");
  tree.add("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "77");
  tree.add("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712");
  const CgroupUse use = read_cgroup_use(tree, "10");
  CHECK(use.cpu_limit == 2);
  CHECK(use.throttled_periods == 4);
  CHECK(use.cpu_seconds == doctest::Approx(3));
  CHECK(use.memory == 77);
  CHECK_FALSE(use.memory_limit);
  CHECK_FALSE(use.pressure.io);
}

TEST_CASE("without control groups all of it is unknown") {
  const CgroupUse use = read_cgroup_use(RecordedTree(), "10");
  CHECK_FALSE(use.cpu_limit);
  CHECK_FALSE(use.cpu_seconds);
  CHECK_FALSE(use.memory);
}
