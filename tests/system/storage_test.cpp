#include "system/storage.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/recorded_tree.hpp"
#include "system/pcie.hpp"

using namespace shardkit;
using namespace shardkit::system;

namespace {

void mounts(RecordedTree& tree) {
  tree.add("proc/self/mountinfo",
           "21 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n"
           "22 21 0:5 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=65536k\n"
           "23 21 0:44 / /data rw,relatime - nfs4 server:/export rw,vers=4.2,nconnect=1\n"
           "24 23 0:45 / /data/my\\040disk rw - xfs /dev/sda rw\n"
           "25 21 0:46 / /mnt/s3 rw - fuse.s3fs s3fs rw\n"
           "26 21 0:47 / /merged rw - overlay overlay rw,lowerdir=/a\n"
           "27 21 0:48 / /pool rw - btrfs /dev/sdb rw\n"
           "garbage\n");
  tree.add("sys/devices/nvme0n1/nvme0n1p2/uevent", "MAJOR=259\nMINOR=2\nDEVNAME=nvme0n1p2\n");
  tree.add("sys/devices/nvme0n1/queue/rotational", "0\n").add("sys/devices/nvme0n1/queue/read_ahead_kb", "128\n");
  tree.link("sys/dev/block/259:2", "../../devices/nvme0n1/nvme0n1p2");
  tree.add("sys/class/block/sda/uevent", "DEVNAME=sda\n").add("sys/class/block/sda/queue/rotational", "1\n");
  tree.add("sys/class/block/sda/device/vendor", "ATA");
  tree.add("sys/class/block/sdb/uevent", "DEVNAME=sdb\n").add("sys/class/block/sdb/queue/rotational", "0\n");
}

StorageClass class_of(const std::string& path, const RecordedTree& tree) {
  return storage_of(path, tree).storage_class;
}

}  // namespace

TEST_CASE("a partition of an NVMe drive is found by its device number, its queue one folder up") {
  RecordedTree tree;
  mounts(tree);
  const StorageFacts facts = storage_of("/home/user", tree);
  CHECK(facts.file_system == "ext4");
  CHECK(facts.device == "nvme0n1p2");
  CHECK(facts.storage_class == StorageClass::nvme);
  CHECK(facts.read_ahead == 128 * 1024);
  CHECK(facts.mount_point == "/");
}

TEST_CASE("the file system's type decides where there is no block device") {
  RecordedTree tree;
  mounts(tree);
  CHECK(class_of("/dev/shm/x", tree) == StorageClass::memory);
  CHECK(class_of("/data/train", tree) == StorageClass::network);
  CHECK(class_of("/mnt/s3", tree) == StorageClass::fuse);
  CHECK(class_of("/merged/x", tree) == StorageClass::overlay);
  CHECK(has_remote_cache(StorageClass::network));
  CHECK_FALSE(has_remote_cache(StorageClass::nvme));
}

TEST_CASE("the deepest mount wins, names with blanks are read, /database is not below /data") {
  RecordedTree tree;
  mounts(tree);
  CHECK(storage_of("/data/my disk/x", tree).mount_point == "/data/my disk");
  CHECK(class_of("/data/my disk/x", tree) == StorageClass::hdd);
  CHECK(storage_of("/database", tree).mount_point == "/");
}

TEST_CASE("btrfs, whose device number is its own, is found by its source") {
  RecordedTree tree;
  mounts(tree);
  CHECK(class_of("/pool/x", tree) == StorageClass::ssd);
}

TEST_CASE("options of a network mount are kept for hints") {
  RecordedTree tree;
  mounts(tree);
  const auto options = storage_of("/data", tree).options;
  CHECK(std::find(options.begin(), options.end(), "nconnect=1") != options.end());
}

TEST_CASE("of two mounts at one place the later counts") {
  RecordedTree tree;
  tree.add("proc/self/mountinfo", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / / rw - overlay overlay rw\n");
  CHECK(class_of("/x", tree) == StorageClass::overlay);
}

TEST_CASE("without /proc nothing is claimed") {
  RecordedTree tree;
  CHECK(storage_of("/x", tree).file_system.empty());
  CHECK(class_of("/x", tree) == StorageClass::unknown);
}

TEST_CASE("a path that is not there is an error; a real one has a file system") {
  CHECK_THROWS_AS(storage_of("/no/such/path"), Error);
  CHECK_FALSE(
      storage_of("/proc").file_system.empty());  // mounted wherever this can run, also where / itself is not listed
}

TEST_CASE("GPUs are counted by their device nodes, control nodes are none") {
  RecordedTree tree;
  CHECK(find_gpus(tree).devices == 0);
  tree.add("dev/nvidia0", "").add("dev/nvidia11", "").add("dev/nvidiactl", "").add("dev/nvidia-uvm", "");
  tree.add("proc/driver/nvidia/version",
           "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\nGCC\n");
  const GpuPresence gpus = find_gpus(tree);
  CHECK(gpus.devices == 2);
  CHECK(gpus.driver_version == "535.104.05");
}
