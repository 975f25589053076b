#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"
#include "system/block_device.hpp"
#include "system/cgroup.hpp"
#include "system/cpu.hpp"
#include "system/fuse.hpp"
#include "system/gpu.hpp"
#include "system/kernel.hpp"
#include "system/limits.hpp"
#include "system/lustre.hpp"
#include "system/memory.hpp"
#include "system/mounts.hpp"
#include "system/network.hpp"
#include "system/nfs.hpp"
#include "system/storage.hpp"

using namespace shardkit;

namespace {

constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;

Mount mount_of(const std::string& path, const Probe& probe) { return *find_mount(read_mounts(probe), path); }

BlockDevice device_below(const std::string& path, const Probe& probe) {
  return device_of(mount_of(path, probe), probe);
}

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

TEST_CASE("an NVMe partition: the drive, its queue and its PCIe link") {
  const BlockDevice device = device_below("/data", RecordedTree::machine("two-sockets"));
  CHECK(device.name == "nvme1n1p1");
  CHECK(device.disk == "nvme1n1");
  CHECK(device.storage_class == StorageClass::nvme);
  CHECK(device.model == "SAMSUNG MZWLO7T6HBLA-00A07");
  CHECK(device.scheduler == "none");
  CHECK(device.transport == "pcie");
  CHECK(device.size == 15002929152ULL * 512);
  CHECK(device.queue_depth == 1023);
  REQUIRE(device.links.size() == 1);
  CHECK(device.links[0].disk == "nvme1n1");
  CHECK(device.links[0].pcie.address == "0000:c1:00.0");
  CHECK(device.links[0].pcie.speed == 32.0);
  CHECK(device.links[0].pcie.width == 4);
  CHECK(device.links[0].pcie.numa_node == 1);
}

TEST_CASE("a logical volume over a spinning disk is as slow as the disk") {
  const BlockDevice device = device_below("/data", RecordedTree::machine("hdd"));
  CHECK(device.name == "dm-0");
  CHECK(device.members == std::vector<std::string>{"sdb"});
  CHECK(device.model == "ST16000NM001G-2K");
  CHECK(device.storage_class == StorageClass::hdd);
}

TEST_CASE("an encrypted stripe over two NVMe drives is followed down to both, from btrfs on") {
  const RecordedTree tree = RecordedTree::machine("raid-nvme");
  const BlockDevice device = device_below("/data", tree);
  CHECK(device.name == "dm-1");
  CHECK(device.members == std::vector<std::string>{"nvme0n1", "nvme1n1"});
  CHECK(device.storage_class == StorageClass::nvme);
  CHECK(read_block_device(tree, "/sys/devices/virtual/block/md0").array_level == "raid0");
}

TEST_CASE("an array with one slow member is of the slow class") {
  RecordedTree tree = RecordedTree::machine("raid-nvme");
  tree.add("/sys/devices/sda/uevent", "DEVNAME=sda").add("/sys/devices/sda/queue/rotational", "1");
  tree.link("/sys/devices/virtual/block/md0/slaves/sda", "../../../../sda");
  CHECK(device_below("/data", tree).storage_class == StorageClass::hdd);
}

TEST_CASE("devices that are members of themselves end somewhere") {
  RecordedTree tree;
  tree.add("/sys/class/block/dm-0/uevent", "DEVNAME=dm-0").link("/sys/class/block/dm-0/slaves/dm-0", "..");
  CHECK(read_block_device(tree, "/sys/class/block/dm-0").name == "dm-0");
}

TEST_CASE("disks of clouds and hypervisors are virtual, whatever they call themselves") {
  CHECK(device_below("/data", RecordedTree::machine("arm64")).storage_class == StorageClass::virtual_disk);
  RecordedTree tree;
  tree.add("/sys/class/block/sda/uevent", "DEVNAME=sda").add("/sys/class/block/sda/queue/rotational", "1");
  CHECK(read_block_device(tree, "/sys/class/block/sda").storage_class == StorageClass::hdd);
  tree.add("/sys/class/block/sda/device/vendor", "QEMU").add("/sys/class/block/sda/device/model", "QEMU HARDDISK");
  CHECK(read_block_device(tree, "/sys/class/block/sda").storage_class == StorageClass::virtual_disk);
}

TEST_CASE("an NVMe drive with native multipath finds a controller in its subsystem") {
  RecordedTree tree;
  tree.record(
      "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/uevent: DEVNAME=nvme0n1\n"
      "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/device -> ..\n"
      "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme3 -> ../../../pci0000:00/0000:02:00.0/nvme/nvme3\n"
      "/sys/devices/pci0000:00/0000:02:00.0/nvme/nvme3/transport: pcie\n"
      "/sys/devices/pci0000:00/0000:02:00.0/current_link_width: 4\n"
      "/sys/class/block/nvme0n1 -> ../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1\n");
  const BlockDevice device = read_block_device(tree, "/sys/class/block/nvme0n1");
  CHECK(device.transport == "pcie");
  REQUIRE(device.links.size() == 1);
  CHECK(device.links[0].pcie.width == 4);
}

TEST_CASE("an NVMe drive over fabrics is a network's storage") {
  RecordedTree tree;
  tree.add("/sys/class/block/nvme0n1/uevent", "DEVNAME=nvme0n1")
      .add("/sys/class/block/nvme0n1/device/transport", "tcp");
  CHECK(read_block_device(tree, "/sys/class/block/nvme0n1").storage_class == StorageClass::network);
}

TEST_CASE("a path that is a block device is that device, without a file system") {
  RecordedTree tree = RecordedTree::machine("two-sockets");
  tree.record("answer stat /dev/nvme1n1p1: kind=block device=259:5\n");
  const StorageFacts facts = storage_of("/dev/nvme1n1p1", tree);
  CHECK(facts.device == "nvme1n1p1");
  CHECK(facts.file_system.empty());
}

TEST_CASE("where no mount table tells, statfs names the file system") {
  RecordedTree tree = RecordedTree::machine("nfs");
  tree.without("/proc");
  const StorageFacts facts = storage_of("/data", tree);
  CHECK(facts.file_system == "nfs");
  CHECK(facts.storage_class == StorageClass::network);
}

TEST_CASE("NFS: options, and what its client counted for this mount alone") {
  const RecordedTree tree = RecordedTree::machine("nfs");
  const NfsFacts nfs = read_nfs(mount_of("/data", tree), tree);
  CHECK(nfs.version == "4.2");
  CHECK(nfs.connections == 1);
  CHECK(nfs.read_size == 1048576);
  CHECK(nfs.recovery == "hard");
  CHECK(nfs.caches_attributes);
  CHECK(nfs.operations == 120000);
  CHECK(nfs.retransmissions == 451);
  CHECK(nfs.timeouts == 12);
  CHECK(nfs.read_round_trip == doctest::Approx(0.012));
  CHECK(storage_of("/data", tree).read_ahead == 128 * 1024);
}

TEST_CASE("NFS mounted otherwise") {
  const Mount mount{"0:1", "/", "/d", "nfs", "s:/d", {"rw", "vers=3", "soft", "noac", "nconnect=16", "proto=udp"}};
  const NfsFacts nfs = read_nfs(mount, RecordedTree());
  CHECK(nfs.connections == 16);
  CHECK(nfs.recovery == "soft");
  CHECK_FALSE(nfs.caches_attributes);
  CHECK_FALSE(nfs.read_round_trip);
}

TEST_CASE("Lustre: stripes of a file, tunables of the right mount, the least of all targets") {
  const RecordedTree tree = RecordedTree::machine("lustre");
  const LustreFacts facts = read_lustre(mount_of("/scratch", tree), "/scratch/train/a.tar", tree);
  CHECK(facts.stripe_count == 1);
  CHECK(facts.stripe_size == 1 << 20);
  CHECK(facts.read_requests_in_flight == 8);
  CHECK(facts.pages_per_request == 1024);
  CHECK(facts.checksums == 1);
  CHECK(facts.read_ahead == kGi);
  CHECK(facts.read_ahead_per_file == 256 << 20);
}

TEST_CASE("Lustre: the last component of a progressive layout counts; a folder is known by its first file") {
  const RecordedTree tree = RecordedTree::machine("lustre");
  const Mount mount = mount_of("/scratch", tree);
  const LustreFacts file = read_lustre(mount, "/scratch/train/b.tar", tree);
  CHECK(file.stripe_count == 4);
  CHECK(file.stripe_size == 4 << 20);
  CHECK(file.components == 2);
  CHECK(read_lustre(mount, "/scratch/train", tree).striped == "/scratch/train/a.tar");
  CHECK_FALSE(read_lustre(mount, "/scratch/other", tree).stripe_count);
}

TEST_CASE("bytes that are no layout of Lustre say nothing") {
  CHECK_FALSE(parse_lustre_layout(""));
  CHECK_FALSE(parse_lustre_layout("\xd0\x0b\xd1\x0b"));
  CHECK_FALSE(parse_lustre_layout(std::string(64, 'x')));
  const std::string lies("\xd0\x0b\xd6\x0b\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0", 18);  // 65535 components in 18 bytes
  CHECK_FALSE(parse_lustre_layout(lies));
}

TEST_CASE("JuiceFS: the cache by its control files") {
  const RecordedTree tree = RecordedTree::machine("juicefs");
  const FuseFacts facts = read_fuse(mount_of("/jfs", tree), tree);
  CHECK(facts.client == "JuiceFS");
  CHECK(facts.cache_folders == std::vector<std::string>{"/nvme0/jfs", "/nvme1/jfs"});
  CHECK(facts.cache_limit == 100 * kGi);
  CHECK(facts.cached == 100 * kGi);
  CHECK(facts.cache_hit_ratio == doctest::Approx(0.75));
}

TEST_CASE("JuiceFS: the cache by its command line where an ordinary user may not read them") {
  using namespace std::string_literals;
  RecordedTree tree = RecordedTree::machine("juicefs");
  tree.without("/jfs");
  tree.add("/proc/900/cmdline",
           "juicefs\0mount\0redis://x\0/jfs\0-o\0cache-dir=/c,ro\0--cache-size\0"
           "50G\0"s);
  const FuseFacts facts = read_fuse(mount_of("/jfs", tree), tree);
  CHECK(facts.cache_folders == std::vector<std::string>{"/c"});
  CHECK(facts.cache_limit == 50'000'000'000);
  CHECK_FALSE(facts.cached);
}

TEST_CASE("JuiceFS: a control file that is damaged is passed over") {
  RecordedTree tree = RecordedTree::machine("juicefs");
  for (const char* text : {"", "{", "[]", R"({"Chunk": 3})", R"({"Chunk": {"CacheDir": 1, "CacheSize": "x"}})"}) {
    tree.add("/jfs/.config", text);
    CHECK(read_fuse(mount_of("/jfs", tree), tree).cache_folders.empty());
  }
}

TEST_CASE("FUSE clients are known by the type of their mount, or its source") {
  const auto client = [](const char* type, const char* source) {
    return read_fuse({"0:1", "/", "/m", type, source, {}}, RecordedTree()).client;
  };
  CHECK(client("fuse.s3fs", "s3fs") == "s3fs");
  CHECK(client("fuse.sshfs", "user@ceph:/x") == "SSHFS");
  CHECK(client("fuse.gcsfuse", "bucket") == "gcsfuse");
  CHECK(client("fuse", "mountpoint-s3") == "Mountpoint for S3");
  CHECK(client("fuse.alluxio-fuse", "x") == "Alluxio");
  CHECK(client("fuse.else", "x") == "fuse.else");
}

TEST_CASE("GPUs on the bus: those of NVIDIA that display or compute, with their links") {
  const GpuPresence gpus = find_gpus(RecordedTree::machine("two-sockets"));
  CHECK(gpus.devices == 2);
  REQUIRE(gpus.bus.size() == 2);
  CHECK(gpus.bus[0].model == "NVIDIA H100 80GB HBM3");
  CHECK(gpus.bus[0].driver == "nvidia");
  CHECK(gpus.bus[0].pcie.slot_width == 16);
  CHECK(gpus.bus[1].model == "NVIDIA device 0x2330");
  CHECK(gpus.bus[1].pcie.numa_node == 1);
}

TEST_CASE("PCIe: what a bridge does not tell is unknown, a port with less than what runs is nonsense") {
  RecordedTree tree;
  tree.record(
      "/sys/devices/pci0000:00/0000:00:01.0/max_link_speed: 2.5 GT/s PCIe\n"
      "/sys/devices/pci0000:00/0000:00:01.0/max_link_width: 1\n"
      "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_speed: 16.0 GT/s PCIe\n"
      "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/max_link_speed: Unknown\n"
      "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_width: 63\n"
      "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/numa_node: -1\n");
  const PcieLink link = read_pcie_link(tree, "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0");
  CHECK(link.speed == 16.0);
  CHECK_FALSE(link.max_speed);
  CHECK_FALSE(link.width);
  CHECK_FALSE(link.slot_speed);
  CHECK_FALSE(link.numa_node);
  CHECK(read_pcie_link(tree, "/sys/devices/virtual/block/dm-0").address.empty());
}

TEST_CASE("PCIe rates after line coding: 16 lanes of generation 3 and 4, 4 of generation 5") {
  CHECK(pcie_rate(8, 16) == doctest::Approx(15.754e9).epsilon(0.001));
  CHECK(pcie_rate(16, 16) == doctest::Approx(31.508e9).epsilon(0.001));
  CHECK(pcie_rate(32, 4) == doctest::Approx(15.754e9).epsilon(0.001));
  CHECK(pcie_rate(2.5, 1) == doctest::Approx(250e6));
  CHECK(pcie_generation(16) == 4);
  CHECK(pcie_generation(3) == 0);
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

TEST_CASE("7.65 of 96 processors, on cgroup v2 and v1") {
  const CgroupLimits two = read_cgroup_limits(RecordedTree::machine("pod"));
  CHECK(two.version == "2");
  CHECK(two.cpus == doctest::Approx(7.65));
  CHECK(two.memory_bytes == 64 * kGi);
  CHECK(two.memory_high_bytes == 32 * kGi);
  CHECK(two.periods == 20000);
  CHECK(two.throttled_periods == 3400);
  const CgroupLimits one = read_cgroup_limits(RecordedTree::machine("docker-v1"));
  CHECK(one.version == "1");
  CHECK(one.cpus == doctest::Approx(7.65));
  CHECK_FALSE(one.memory_bytes);
  CHECK(one.throttled_periods == 10);
  CHECK(usable_threads(RecordedTree::machine("docker-v1")) == 7);
}

TEST_CASE("what kernel, limits and container let a process do") {
  const KernelFacts host = read_kernel(RecordedTree::machine("two-sockets"));
  CHECK(host.io_uring == "works");
  CHECK(host.cachestat == "works");
  CHECK(host.root);
  CHECK(host.may_lock);
  CHECK_FALSE(host.locked_memory);
  CHECK(host.descriptors == 1048576);
  CHECK(host.virtual_machine.empty());
  CHECK(host.container.empty());
  const KernelFacts pod = read_kernel(RecordedTree::machine("pod"));
  CHECK(pod.io_uring == "refused by a security filter");
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
  CHECK(read_kernel(tree).io_uring == "disabled by kernel.io_uring_disabled");
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

TEST_CASE("memory, huge pages and the kernel's settings") {
  const MemoryFacts memory = read_memory(RecordedTree::machine("two-sockets"));
  CHECK(memory.total == 2113388544ULL * 1024);
  CHECK(memory.transparent_huge_pages == "madvise");
  CHECK(memory.dirty_ratio == 20);
  CHECK_FALSE(memory.dirty_bytes);
  CHECK(memory.zone_reclaim_mode == 0);
}

TEST_CASE("a container without /sys and /proc leaves everything unknown and fails nowhere") {
  RecordedTree nothing;
  CHECK(read_cpu(nothing).processors == 0);
  CHECK(read_memory(nothing).total == 0);
  CHECK(read_numa_nodes(nothing).empty());
  CHECK(read_network_cards(nothing).empty());
  CHECK(read_rdma_ports(nothing).empty());
  CHECK(find_gpus(nothing).bus.empty());
  CHECK(read_kernel(nothing).io_uring == "not in this kernel");
  CHECK(read_block_device(nothing, "/sys/class/block/sda").name.empty());
}

TEST_CASE("this machine answers too") {
  CHECK(read_cpu().affinity >= 1);
  CHECK(read_memory().total > 0);
  CHECK_FALSE(read_kernel().release.empty());
}
