#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"
#include "system/block_device.hpp"
#include "system/network_storage.hpp"
#include "system/storage.hpp"

using namespace shardkit;
using namespace shardkit::system;

namespace {

/// A machine, and what we say of /data on it.
struct Row {
  std::string machine;
  std::string recorded;
  std::string file_system;
  std::string device;
  StorageClass storage_class;
  std::optional<std::uint64_t> read_sectors;  ///< that count for it; empty: unknown
};

std::string mounted(const std::string& device, const std::string& type_and_source) {
  return "/proc/self/mountinfo:\n  1 0 8:9 / / rw - ext4 /dev/sdz rw\n  2 1 " + device + " / /data rw - " +
         type_and_source + " rw\n";
}

/// A whole disk or a virtual device, as /sys/class/block has it.
std::string block(const std::string& name, const std::string& rotational = "0", const std::string& number = "") {
  const std::string folder = "/sys/devices/" + name;
  return folder + "/uevent: DEVNAME=" + name + "\n" + folder + "/queue/rotational: " + rotational +
         "\n/sys/class/block/" + name + " -> ../../devices/" + name + "\n" +
         (number.empty() ? "" : "/sys/dev/block/" + number + " -> ../../devices/" + name + "\n");
}

std::string partition(const std::string& disk, const std::string& name, const std::string& number) {
  const std::string folder = disk + "/" + name;
  return "/sys/devices/" + folder + "/uevent: DEVNAME=" + name + "\n/sys/class/block/" + name + " -> ../../devices/" +
         folder + "\n/sys/dev/block/" + number + " -> ../../devices/" + folder + "\n";
}

std::string slave(const std::string& name, const std::string& member) {
  return "/sys/devices/" + name + "/slaves/" + member.substr(member.rfind('/') + 1) + " -> ../../" + member + "\n";
}

std::string model(const std::string& disk, const std::string& vendor, const std::string& name) {
  return "/sys/devices/" + disk + "/device/vendor: " + vendor + "\n/sys/devices/" + disk + "/device/model: " + name +
         "\n";
}

/// "name sectors_read", each a line of /proc/diskstats.
std::string counted(const std::vector<std::string>& lines) {
  std::string text = "/proc/diskstats:\n";
  for (const std::string& line : lines) {
    const std::size_t blank = line.find(' ');
    const std::string sectors = line.substr(blank + 1);
    text += "   8 0 " + line.substr(0, blank) + (sectors == "0" ? " 0" : " 7") + " 0 " + sectors +
            " 0 0 0 0 0 0 0 0 0 0 0 0\n";
  }
  return text;
}

const std::vector<Row>& machines() {
  using enum StorageClass;
  const std::string mirror = block("md0", "0", "9:0") + "/sys/devices/md0/md/level: raid1\n" + block("sda") +
                             block("sdb") + partition("sda", "sda2", "8:2") + partition("sdb", "sdb2", "8:18") +
                             slave("md0", "sda/sda2") + slave("md0", "sdb/sdb2") + model("sda", "ATA", "SSD") +
                             model("sdb", "ATA", "SSD");
  const std::string volume = block("dm-0", "1", "253:0") + block("sda", "1") + partition("sda", "sda3", "8:3") +
                             slave("dm-0", "sda/sda3") + model("sda", "ATA", "ST16000NM001G");
  const std::string head = block("nvme0n1", "0", "259:0");
  const auto spinning = [](const std::string& vendor, const std::string& name) {
    return mounted("8:0", "xfs /dev/sda") + block("sda", "1", "8:0") + model("sda", vendor, name) + counted({"sda 8"});
  };
  static const std::vector<Row> rows{
      {"a partition, and a neighbour on another one of its disk",
       mounted("259:2", "ext4 /dev/nvme0n1p2") + block("nvme0n1") + partition("nvme0n1", "nvme0n1p2", "259:2") +
           counted({"nvme0n1 900", "nvme0n1p1 800", "nvme0n1p2 100"}),
       "ext4", "nvme0n1p2", nvme, 900},
      {"a logical volume, and a neighbour on another one of its disk",
       mounted("253:0", "xfs /dev/mapper/vg-data") + volume + counted({"sda 700", "sda3 600", "dm-0 50", "dm-1 550"}),
       "xfs", "dm-0", hdd, 700},
      {"a mirror whose disks have other partitions, too",
       mounted("9:0", "ext4 /dev/md0") + mirror + counted({"sda 500", "sda2 100", "sdb 200", "sdb2 100", "md0 200"}),
       "ext4", "md0", ssd, 700},
      {"an encrypted mirror",
       mounted("253:0", "ext4 /dev/mapper/crypt") + block("dm-0", "0", "253:0") + slave("dm-0", "md0") + mirror +
           counted({"sda 100", "sda2 100", "sdb 100", "sdb2 100", "md0 200", "dm-0 200"}),
       "ext4", "dm-0", ssd, 200},
      {"NVMe multipath before Linux 6.14: only its paths count",
       mounted("259:0", "xfs /dev/nvme0n1") + head + counted({"nvme0n1 0", "nvme0c0n1 300", "nvme0c1n1 200"}), "xfs",
       "nvme0n1", nvme, 500},
      {"NVMe multipath of today: both count",
       mounted("259:0", "xfs /dev/nvme0n1") + head +
           counted({"nvme0n1 500", "nvme0c0n1 300", "nvme0c1n1 200", "nvme0c0n12 900", "nvme1c0n1 900"}),
       "xfs", "nvme0n1", nvme, 500},
      {"NVMe over a network",
       mounted("259:0", "xfs /dev/nvme0n1") + head + "/sys/devices/nvme0n1/device/transport: tcp\n" +
           counted({"nvme0n1 5"}),
       "xfs", "nvme0n1", network, 5},
      {"a LUN with two paths of device mapper",
       mounted("253:0", "xfs /dev/mapper/mpatha") + block("dm-0", "1", "253:0") + block("sda", "1") +
           block("sdb", "1") + slave("dm-0", "sda") + slave("dm-0", "sdb") + model("sda", "PURE", "FlashArray") +
           model("sdb", "PURE", "FlashArray") + counted({"sda 60", "sdb 40", "dm-0 100"}),
       "xfs", "dm-0", StorageClass::unknown, 100},
      {"a spinning disk on SATA", spinning("ATA", "ST16000NM001G"), "xfs", "sda", hdd, 8},
      {"a volume of a RAID controller", spinning("AVAGO", "MR9560-16i"), "xfs", "sda", StorageClass::unknown, 8},
      {"a LUN of a SAN", spinning("NETAPP", "LUN C-Mode"), "xfs", "sda", StorageClass::unknown, 8},
      {"a volume of a cloud", spinning("ORACLE", "BlockVolume"), "xfs", "sda", StorageClass::unknown, 8},
      {"a disk of a hypervisor", spinning("ATA", "QEMU HARDDISK"), "xfs", "sda", virtual_disk, 8},
      {"a spinning disk on SAS, which says its speed",
       spinning("SEAGATE", "ST10000NM") + "/sys/devices/sda/device/vpd_pgb1: \x01\xb1\x01\x3c\x1c\x20..\n", "xfs",
       "sda", hdd, 8},
      {"a disk whose counters are off", mounted("8:0", "xfs /dev/sda") + block("sda", "0", "8:0") + counted({"sda 0"}),
       "xfs", "sda", ssd, std::nullopt},
      {"lxcfs lists only some disks", mounted("8:0", "xfs /dev/sda") + block("sda", "0", "8:0") + counted({"vda 5"}),
       "xfs", "sda", ssd, std::nullopt},
      {"a container without /sys", mounted("8:0", "xfs /dev/sda") + counted({"sda 5"}), "xfs", "",
       StorageClass::unknown, std::nullopt},
      {"NFS with a blank in its names", mounted("0:53", "nfs4 filer:/my\\040data"), "nfs4", "", network, std::nullopt},
      {"a mount that one on its parent hides",
       "/proc/self/mountinfo:\n  1 0 8:9 / / rw - ext4 /dev/sdz rw\n  2 1 0:50 / /data rw - tmpfs tmpfs rw\n"
       "  3 1 8:0 / /data rw - xfs /dev/sda rw\n" +
           block("sda", "0", "8:0") + counted({"sda 5"}),
       "xfs", "sda", ssd, 5},
      {"a mount below, hidden by one on its parent",
       "/proc/self/mountinfo:\n  1 0 8:9 / / rw - ext4 /dev/sdz rw\n  2 1 0:50 / /data/set rw - tmpfs tmpfs rw\n"
       "  3 1 0:51 / /data rw - nfs4 filer:/x rw\n",
       "nfs4", "", network, std::nullopt},
      {"an old kernel without mount ids",
       mounted("8:0", "xfs /dev/sda") + block("sda", "0", "8:0") +
           "answer mount_id /data/set: none\nanswer stat /data/set: kind=folder device=8:0\n" + counted({"sda 5"}),
       "xfs", "sda", ssd, 5},
      {"the same with a subvolume of btrfs, whose number is in no list",
       mounted("0:40", "btrfs /dev/sda") +
           "answer mount_id /data/set: none\nanswer stat /data/set: kind=folder device=0:41\n",
       "", "", StorageClass::unknown, std::nullopt},
  };
  return rows;
}

}  // namespace

TEST_CASE("what we say of the storage of recorded machines") {
  for (const Row& row : machines()) {
    CAPTURE(row.machine);
    RecordedTree tree;
    tree.record(row.recorded);
    const StorageFacts facts = storage_of("/data/set", tree);
    CHECK(facts.file_system == row.file_system);
    CHECK(facts.device == row.device);
    CHECK(facts.storage_class == row.storage_class);
    const auto counters = read_disk_counters(facts.device, tree);
    CHECK((counters ? std::optional(counters->read_bytes / 512) : std::nullopt) == row.read_sectors);
  }
}

TEST_CASE("the counters of an NFS mount are found by its names, also with blanks, and those of a hidden one are not") {
  RecordedTree tree;
  tree.record(mounted("0:53", "nfs4 filer:/my\\040data"));
  const std::string section = " with fstype nfs4 statvers=1.1\n    per-op statistics\n      READ: ";
  tree.add("/proc/self/mountstats", "device filer:/my\\040data mounted on /data" + section + "1 1 0 0 0 0 0 0\n" +
                                        "device filer:/other mounted on /data" + section + "2 2 0 0 0 0 0 0\n" +
                                        "device filer:/my\\040data mounted on /data" + section + "3 4 0 0 0 0 0 0\n");
  const auto counters = read_nfs_counters(*mount_of("/data/set", tree), tree);
  REQUIRE(counters);
  CHECK(counters->reads == 3);
  CHECK(counters->retransmissions == 1);
}

TEST_CASE("growth of a disk's counters is unknown if they are missing, start again, or are less than was read") {
  const auto at = [](std::uint64_t bytes, std::uint64_t own) {
    return DiskMoment{DiskCounters{.reads = bytes, .read_bytes = bytes}, own};
  };
  constexpr std::uint64_t kMega = 1'000'000;
  CHECK(disk_growth(at(0, 0), at(9 * kMega, 5 * kMega))->read_bytes == 9 * kMega);
  CHECK(disk_growth(at(0, 0), at(0, kMega)));  // programs are read from other disks
  CHECK_FALSE(disk_growth(at(0, 0), at(kMega, 9 * kMega)));
  CHECK_FALSE(disk_growth(at(9, 0), at(8, 0)));
  CHECK_FALSE(disk_growth({}, at(8, 0)));
}
