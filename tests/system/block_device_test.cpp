#include "system/block_device.hpp"

#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"
#include "system/pcie.hpp"
#include "system/storage.hpp"

using namespace shardkit;
using namespace shardkit::system;

namespace {

BlockDevice device_below(const std::string& path, const Probe& probe) {
  return device_of(*mount_of(path, probe), probe);
}

}  // namespace

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
  tree.add("/sys/devices/sda/device/vendor", "ATA");
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

TEST_CASE("where no mount table tells, the file system is unknown") {
  RecordedTree tree = RecordedTree::machine("nfs");
  tree.without("/proc");
  const StorageFacts facts = storage_of("/data", tree);
  CHECK(facts.file_system.empty());
  CHECK(facts.storage_class == StorageClass::unknown);
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
  CHECK(*pcie_rate(8, 16) == doctest::Approx(15.754e9).epsilon(0.001));
  CHECK(*pcie_rate(16, 16) == doctest::Approx(31.508e9).epsilon(0.001));
  CHECK(*pcie_rate(32, 4) == doctest::Approx(15.754e9).epsilon(0.001));
  CHECK(*pcie_rate(2.5, 1) == doctest::Approx(250e6));
  CHECK(pcie_generation(16) == 4);
  CHECK(pcie_generation(3) == 0);
}
