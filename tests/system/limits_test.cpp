#include "system/limits.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "core/error.hpp"
#include "support/recorded_tree.hpp"

using namespace shardkit;
using namespace shardkit::system;

namespace {

constexpr const char* kVersion2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr const char* kVersion1 =
    "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

/// A machine with 96 processors and 256 GB.
void big_machine(RecordedTree& tree) {
  tree.add("proc/self/status", "Name:\tiobench\nCpus_allowed:\tffffffff\nCpus_allowed_list:\t0-95\n");
  tree.add("proc/meminfo", "MemTotal:       268435456 kB\nMemFree:        1000 kB\n");
}

}  // namespace

TEST_CASE("memory that a group still allows: its limit less what is used, except for the page cache of files") {
  RecordedTree tree;
  CHECK_FALSE(free_group_memory(tree));
  tree.add("proc/self/cgroup", "0::/a/b\n");
  tree.add("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.add("sys/fs/cgroup/a/b/memory.max", "max").add("sys/fs/cgroup/a/b/memory.current", "900");
  CHECK_FALSE(free_group_memory(tree));
  tree.add("sys/fs/cgroup/a/memory.max", "1000").add("sys/fs/cgroup/a/memory.current", "950");
  tree.add("sys/fs/cgroup/a/memory.stat", "anon 300\nshmem 400\ninactive_file 100\nactive_file 150\n");
  CHECK(free_group_memory(tree) == 300);
}

TEST_CASE("a machine without control groups may use all it has") {
  RecordedTree tree;
  big_machine(tree);
  CHECK(usable_threads(tree) == 96);
  CHECK(usable_memory(tree) == 268435456ULL * 1024);
}

TEST_CASE("the affinity list counts ranges and single processors") {
  RecordedTree tree;
  tree.add("proc/self/status", "Cpus_allowed_list:\t0-3,8,10-11\n");
  CHECK(usable_threads(tree) == 7);
}

TEST_CASE("a cgroup v2 quota of 7.65 processors leaves 7 threads") {
  RecordedTree tree;
  big_machine(tree);
  tree.add("proc/self/cgroup", "0::/kubepods/pod1\n").add("proc/self/mountinfo", kVersion2);
  tree.add("sys/fs/cgroup/kubepods/pod1/cpu.max", "765000 100000\n");
  tree.add("sys/fs/cgroup/kubepods/pod1/memory.max", "34359738368\n");
  tree.add("sys/fs/cgroup/kubepods/pod1/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_usec 99\n");
  CHECK(usable_threads(tree) == 7);
  CHECK(usable_memory(tree) == 34359738368ULL);
  CHECK(read_cgroup_use(tree).cpu_limit == doctest::Approx(7.65));
  CHECK(read_cgroup_use(tree).throttled_periods == 4);
}

TEST_CASE("a parent's smaller limit counts, max means none") {
  RecordedTree tree;
  big_machine(tree);
  tree.add("proc/self/cgroup", "0::/slice/job\n").add("proc/self/mountinfo", kVersion2);
  tree.add("sys/fs/cgroup/slice/cpu.max", "400000 100000\n").add("sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  tree.add("sys/fs/cgroup/slice/memory.max", "max\n").add("sys/fs/cgroup/slice/job/memory.max", "max\n");
  CHECK(usable_threads(tree) == 4);
  CHECK(usable_memory(tree) == 268435456ULL * 1024);
}

TEST_CASE("less than one processor is still one thread") {
  RecordedTree tree;
  big_machine(tree);
  tree.add("proc/self/cgroup", "0::/\n").add("proc/self/mountinfo", kVersion2);
  tree.add("sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(usable_threads(tree) == 1);
}

TEST_CASE("cgroup v1 quotas and limits are read from their own hierarchies") {
  RecordedTree tree;
  big_machine(tree);
  tree.add("proc/self/cgroup", "5:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/\n");
  tree.add("proc/self/mountinfo", kVersion1);
  tree.add("sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "250000\n");
  tree.add("sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
  tree.add("sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "1073741824\n");
  CHECK(usable_threads(tree) == 2);
  CHECK(usable_memory(tree) == 1073741824ULL);
}

TEST_CASE("cgroup v1 without limits says -1 and a number near 2^63") {
  RecordedTree tree;
  big_machine(tree);
  tree.add("proc/self/cgroup", "5:memory:/\n4:cpu,cpuacct:/\n").add("proc/self/mountinfo", kVersion1);
  tree.add("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  tree.add("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  tree.add("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(usable_threads(tree) == 96);
  CHECK(usable_memory(tree) == 268435456ULL * 1024);
}

TEST_CASE("a container that sees its own group as the mount's root finds its limits there") {
  RecordedTree tree;
  big_machine(tree);
  tree.add("proc/self/cgroup", "4:cpu:/docker/a\n");
  tree.add("proc/self/mountinfo", "31 23 0:27 /docker/a /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  tree.add("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n").add("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(usable_threads(tree) == 3);
}

TEST_CASE("a group outside of what is mounted falls back on the mount point") {
  RecordedTree tree;
  big_machine(tree);
  tree.add("proc/self/cgroup", "0::/../../other\n").add("proc/self/mountinfo", kVersion2);
  tree.add("sys/fs/cgroup/cpu.max", "200000 100000\n");
  CHECK(usable_threads(tree) == 2);
}

TEST_CASE("this machine allows at least one thread and some memory") {
  CHECK(usable_threads() >= 1);
  CHECK(usable_memory() > (1U << 20U));
}

TEST_CASE("descriptors for bulk work follow the soft limit, which can be raised to the hard one") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit low = before;
  low.rlim_cur = 256;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  CHECK(usable_descriptors() == 256 - 96);
  CHECK(most_reads_in_flight(2) == 40);
  CHECK(most_reads_in_flight(100) == 8);
  raise_descriptor_limit();
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  CHECK(after.rlim_cur == before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("a number of threads asked for is taken, within reason") {
  CHECK(thread_count(3) == 3);
  CHECK(thread_count({}) == usable_threads());
}
