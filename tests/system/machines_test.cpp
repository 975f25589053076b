#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"
#include "system/block_device.hpp"
#include "system/cpu.hpp"
#include "system/host.hpp"
#include "system/limits.hpp"
#include "system/memory.hpp"
#include "system/pcie.hpp"

using namespace shardkit;
using namespace shardkit::system;

namespace {

constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;

}  // namespace

TEST_CASE("two sockets with SMT: cores are counted by their sibling threads") {
  const CpuFacts cpu = read_cpu(RecordedTree::machine("two-sockets"));
  CHECK(cpu.model == "INTEL(R) XEON(R) PLATINUM 8568Y+");
  CHECK(cpu.processors == 192);
  CHECK(cpu.affinity == 192);
  CHECK(cpu.sockets == 2);
  CHECK(cpu.cores == 96);
  CHECK(cpu.threads_per_core == 2);
  CHECK(cpu.frequency_driver == "intel_pstate");
  CHECK(cpu.governor == "powersave");
  CHECK(cpu.min_hertz == 800'000'000);
  CHECK(cpu.max_hertz == 4'000'000'000);
}

TEST_CASE("one processor with another governor makes it mixed") {
  RecordedTree tree = RecordedTree::machine("hdd");
  CHECK(read_cpu(tree).governor == "powersave");
  tree.add("/sys/devices/system/cpu/cpu5/cpufreq/scaling_governor", "performance");
  CHECK(read_cpu(tree).governor == "mixed");
}

TEST_CASE("NUMA nodes with their processors and memory") {
  const auto nodes = read_numa_nodes(RecordedTree::machine("two-sockets"));
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[1].node == 1);
  CHECK(nodes[1].cpus == "48-95,144-191");
  CHECK(nodes[1].memory == 1056694272ULL * 1024);
}

TEST_CASE("network cards and RDMA ports; bridges and the loopback are none") {
  const RecordedTree tree = RecordedTree::machine("two-sockets");
  const auto cards = read_network_cards(tree);
  REQUIRE(cards.size() == 1);
  CHECK(cards[0].name == "ibp26s0");
  CHECK(cards[0].driver == "mlx5_core");
  CHECK(cards[0].bytes_per_second == 50e9);
  CHECK(cards[0].pcie->numa_node == 0);
  const auto ports = read_rdma_ports(tree);
  REQUIRE(ports.size() == 1);
  CHECK(ports[0].name == "mlx5_0/1");
  CHECK(ports[0].state == "ACTIVE");
  CHECK(ports[0].bytes_per_second == 50e9);
}

TEST_CASE("a container's only interface is virtual, and counts") {
  const auto cards = read_network_cards(RecordedTree::machine("pod"));
  REQUIRE(cards.size() == 1);
  CHECK(cards[0].bytes_per_second == 1.25e9);
}

TEST_CASE("a pod is known by the folder that the kubelet mounts from, a node by none") {
  const std::string hosts = " rw - ext4 /dev/sda1 rw\n";
  RecordedTree tree;
  tree.add("/proc/self/mountinfo", "2 1 8:1 /var/lib/kubelet/pods/0c5e-11/etc-hosts /etc/hosts" + hosts);
  CHECK(pod_uid(tree) == "0c5e-11");
  tree.add("/proc/self/mountinfo", "2 1 8:1 /kubelet/pods/0c5e-12/containers/a/1f /dev/termination-log" + hosts);
  CHECK(pod_uid(tree) == "0c5e-12");
  tree.add("/proc/self/mountinfo", "2 1 8:1 /kubelet/pods/0c5e-12/volumes/a /var/lib/kubelet/pods/0c5e-12/v" + hosts);
  CHECK(pod_uid(tree).empty());
}

TEST_CASE("7.65 of 96 processors, on cgroup v2 and v1") {
  const CgroupUse two = read_cgroup_use(RecordedTree::machine("pod"));
  CHECK(two.version == "2");
  CHECK(two.cpu_limit == doctest::Approx(7.65));
  CHECK(two.memory_limit == 64 * kGi);
  CHECK(two.memory_high == 32 * kGi);
  CHECK(two.periods == 20000);
  CHECK(two.throttled_periods == 3400);
  const CgroupUse one = read_cgroup_use(RecordedTree::machine("docker-v1"));
  CHECK(one.version == "1");
  CHECK(one.cpu_limit == doctest::Approx(7.65));
  CHECK_FALSE(one.memory_limit);
  CHECK(one.throttled_periods == 10);
  CHECK(usable_threads(RecordedTree::machine("docker-v1")) == 7);
}

TEST_CASE("what kernel, limits and container let a process do") {
  const KernelFacts host = read_kernel(RecordedTree::machine("two-sockets"));
  CHECK(host.io_uring == CallState::works);
  CHECK(host.cachestat == CallState::works);
  CHECK(host.root);
  CHECK(host.may_lock);
  CHECK_FALSE(host.locked_memory);
  CHECK(host.descriptors == 1048576);
  CHECK(host.virtual_machine.empty());
  CHECK(host.container.empty());
  const KernelFacts pod = read_kernel(RecordedTree::machine("pod"));
  CHECK(pod.io_uring == CallState::refused);
  CHECK_FALSE(pod.root);
  CHECK_FALSE(pod.may_lock);
  CHECK(pod.locked_memory == 64 << 20);
  CHECK(pod.virtual_machine == "Amazon EC2 p4d.24xlarge");
  CHECK(pod.container == "kubernetes");
  const KernelFacts docker = read_kernel(RecordedTree::machine("docker-v1"));
  CHECK(docker.container == "docker");
  CHECK_FALSE(docker.may_lock);
}

TEST_CASE("io_uring that an administrator turned off says so") {
  RecordedTree tree = RecordedTree::machine("pod");
  tree.add("/proc/sys/kernel/io_uring_disabled", "2");
  CHECK(read_kernel(tree).io_uring == CallState::disabled);
}

TEST_CASE("arm64: processors are known by their numbers; no clock to set is no error") {
  RecordedTree tree = RecordedTree::machine("arm64");
  const CpuFacts cpu = read_cpu(tree);
  CHECK(cpu.model == "Arm Neoverse V2");
  CHECK(cpu.processors == 2);
  CHECK(cpu.governor.empty());
  CHECK_FALSE(cpu.sockets);
  CHECK(read_kernel(tree).virtual_machine == "Amazon EC2 m8g.large");
  tree.add("/proc/cpuinfo", "CPU implementer\t: 0x99\nCPU part\t: 0x1\n");
  CHECK(read_cpu(tree).model == "arm64 implementer 0x99, part 0x1");
}

TEST_CASE("Grace: the chip by what its firmware says, not by its cores, which others have too") {
  CHECK(read_cpu(RecordedTree::machine("gds")).model == "NVIDIA Grace (Arm Neoverse V2)");
}

TEST_CASE("memory, huge pages and the kernel's settings") {
  const MemoryFacts memory = read_memory(RecordedTree::machine("two-sockets"));
  CHECK(memory.total == 2113388544ULL * 1024);
  CHECK(memory.transparent_huge_pages == "madvise");
  CHECK(memory.dirty_ratio == 20);
  CHECK_FALSE(memory.dirty_bytes);
  CHECK(memory.zone_reclaim_mode == 0);
}

TEST_CASE("a number in /proc that 64 bits cannot hold is unknown, not another number") {
  RecordedTree tree;
  tree.add("proc/meminfo",
           "MemTotal: 18446744073709551615 kB\nMemAvailable: 99999999999999999999999 kB\nSwapTotal: 1000 kB\n"
           "Hugepagesize: 2048 kB\nHugePages_Total: 18446744073709551615\nHugePages_Free: 2\n");
  const MemoryFacts memory = read_memory(tree);
  CHECK(memory.total == 0);
  CHECK(memory.available == 0);
  CHECK(memory.swap_total == 1000 * 1024);
  CHECK(memory.huge_pages == 0);
  CHECK(memory.huge_pages_free == 4096 * 1024);
}

TEST_CASE("a container without /sys and /proc leaves everything unknown and fails nowhere") {
  RecordedTree nothing;
  CHECK(read_cpu(nothing).processors == 0);
  CHECK(read_memory(nothing).total == 0);
  CHECK(read_numa_nodes(nothing).empty());
  CHECK(read_network_cards(nothing).empty());
  CHECK(read_rdma_ports(nothing).empty());
  CHECK(find_gpus(nothing).bus.empty());
  CHECK(read_kernel(nothing).io_uring == CallState::absent);
  CHECK(read_block_device(nothing, "/sys/class/block/sda").name.empty());
}

TEST_CASE("this machine answers too") {
  CHECK(read_cpu().affinity >= 1);
  CHECK(read_memory().total > 0);
  CHECK_FALSE(read_kernel().release.empty());
}
