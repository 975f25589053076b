#include "bench/env/env_machines.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

constexpr const char* kDrive = "/sys/devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0";

bool mounted_with(const std::string& line, const std::string& code) {
  return has(look(machine("nfs", "/proc/self/mountinfo: 40 21 0:53 / /data rw,relatime - " + line + "\n")), code);
}

}  // namespace

TEST_CASE("NFS with one connection over a fast network is a warning, over a slow one a hint") {
  const Environment fast = look(machine("nfs"));
  CHECK(severity(fast, "nfs_nconnect") == kWarning);
  CHECK(severity(look(machine("nfs", "/sys/class/net/eth0/speed: 10000\n")), "nfs_nconnect") == kHint);
  CHECK_FALSE(mounted_with("nfs4 s:/d rw,vers=4.2,hard,nconnect=8,proto=tcp", "nfs_nconnect"));
  CHECK_FALSE(mounted_with("nfs4 s:/d rw,vers=4.2,hard,proto=rdma", "nfs_nconnect"));
}

TEST_CASE("NFS options that cost, and their counterparts") {
  CHECK(mounted_with("nfs s:/d rw,hard,rsize=32768", "nfs_read_size"));
  CHECK_FALSE(mounted_with("nfs s:/d rw,hard,rsize=262144", "nfs_read_size"));
  CHECK(mounted_with("nfs s:/d rw,soft", "nfs_soft"));
  CHECK(mounted_with("nfs s:/d rw,softerr", "nfs_soft"));
  CHECK_FALSE(mounted_with("nfs s:/d rw,hard", "nfs_soft"));
  CHECK(mounted_with("nfs s:/d rw,hard,noac", "nfs_attributes"));
  CHECK_FALSE(mounted_with("nfs s:/d rw,hard,acregmin=3,acregmax=60", "nfs_attributes"));
  CHECK(mounted_with("nfs s:/d rw,hard,proto=udp", "nfs_udp"));
  CHECK_FALSE(mounted_with("nfs s:/d rw,hard,proto=tcp", "nfs_udp"));
}

TEST_CASE("NFS: 128 KiB read ahead, as kernels from 5.4 on have it") {
  CHECK(severity(look(machine("nfs")), "nfs_read_ahead") == kWarning);
  CHECK_FALSE(has(look(machine("nfs", "/sys/class/bdi/0:53/read_ahead_kb: 15360\n")), "nfs_read_ahead"));
}

TEST_CASE("NFS: requests sent again and slow answers are hints") {
  const Environment busy = look(machine("nfs"));
  CHECK(severity(busy, "nfs_retransmissions") == kHint);
  CHECK(severity(busy, "nfs_round_trip") == kHint);
  const Environment quiet = look(machine("nfs", "/proc/self/mountstats: none\n"));
  CHECK_FALSE(has(quiet, "nfs_retransmissions"));
  CHECK_FALSE(has(quiet, "nfs_round_trip"));
}

TEST_CASE("data over a network of 1 Gb/s; a disk does not care") {
  CHECK(has(look(machine("nfs", "/sys/class/net/eth0/speed: 1000\n")), "network_slow"));
  CHECK_FALSE(has(look(machine("nfs")), "network_slow"));
  CHECK_FALSE(has(look(machine("nfs", "/sys/class/net/eth0/speed: 1000\n"), "/home"), "network_slow"));
}

TEST_CASE("Lustre: few requests in flight, a large file on one target") {
  const Environment large = look(machine("lustre"), "/scratch/train/a.tar");
  CHECK(codes(large) == Codes{"lustre_stripes", "lustre_requests"});
  CHECK(codes(look(machine("lustre"), "/scratch/train")) == Codes{"lustre_requests"});  // shards are many
  CHECK_FALSE(has(look(machine("lustre"), "/scratch/train/b.tar"), "lustre_stripes"));
  const std::string osc = "/sys/fs/lustre/osc/scratch-OST0000-osc-ffff8f3c/max_rpcs_in_flight: 32\n";
  CHECK_FALSE(has(look(machine("lustre", osc), "/scratch/train"), "lustre_requests"));
}

TEST_CASE("what a program serves: object stores are a hint, SSHFS and a cache of no size are warnings") {
  const auto served = [](const std::string& type) {
    return look(machine("juicefs", "/proc/self/mountinfo: 42 21 0:55 / /jfs rw - " + type + " x rw\n"), "/jfs");
  };
  CHECK(codes(look(machine("juicefs"), "/jfs")) == Codes{"fuse_object_store"});
  CHECK(severity(served("fuse.sshfs"), "sshfs") == kWarning);
  CHECK(codes(served("fuse.ceph-fuse")) == Codes{});
  CHECK(has(look(machine("juicefs", R"(/jfs/.config: {"Chunk": {"CacheSize": 0}})"
                                    "\n"),
                 "/jfs"),
            "juicefs_cache_off"));
  CHECK(has(look(machine("juicefs", "/sys/class/bdi/0:55/read_ahead_kb: 128\n"), "/jfs"), "fuse_read_ahead"));
}

TEST_CASE("a spinning disk, below a logical volume too") {
  const Environment hdd = look(machine("hdd"));
  CHECK(severity(hdd, "hdd") == kWarning);
  REQUIRE(hdd.normal.size() == 1);
  CHECK(hdd.normal[0].low == 150e6);
  CHECK(hdd.normal[0].high == 250e6);
  CHECK_FALSE(has(look(machine("two-sockets")), "hdd"));
}

TEST_CASE("access times: no option at all is strictatime, but not on NFS and not read-only") {
  const auto strict = [](const std::string& options, const std::string& type) {
    return has(look(machine("hdd", "/proc/self/mountinfo: 43 21 253:0 / /data " + options + " - " + type + "\n")),
               "strictatime");
  };
  CHECK(strict("rw", "xfs /dev/x rw"));
  CHECK_FALSE(strict("rw,relatime", "xfs /dev/x rw"));
  CHECK_FALSE(strict("rw,noatime", "xfs /dev/x rw"));
  CHECK_FALSE(strict("ro", "squashfs /dev/x ro"));
  CHECK_FALSE(strict("rw", "nfs4 s:/d rw"));
}

TEST_CASE("data that lies on no disk: memory, what the kernel makes up, a file that is mounted") {
  const auto on = [](const std::string& mount) {
    return codes(look(machine("arm64", "/proc/self/mountinfo: 1 0 0:9 / / rw,relatime - " + mount + "\n")));
  };
  CHECK(on("tmpfs tmpfs rw") == Codes{"data_in_memory"});
  CHECK(on("proc proc rw") == Codes{"pseudo_file_system"});
  CHECK(on("ext4 /dev/x rw") == Codes{});
  const std::string loop =
      "/sys/dev/block/7:1/uevent: DEVNAME=loop1\n/proc/self/mountinfo: 1 0 7:1 / / ro - squashfs /dev/loop1 ro\n";
  CHECK(codes(look(machine("arm64", loop))) == Codes{"loop_device"});
}

TEST_CASE("a drive's queue: read-ahead switched off, a scheduler for disks") {
  const std::string queue = std::string(kDrive) + "/nvme/nvme1/nvme1n1/queue/";
  CHECK(codes(look(machine("two-sockets", queue + "read_ahead_kb: 0\n"))) == Codes{"read_ahead_off"});
  CHECK(codes(look(machine("two-sockets", queue + "scheduler: none [bfq]\n"))) == Codes{"scheduler"});
}

TEST_CASE("disks: mount options that cost writes or their safety") {
  const auto on = [](const std::string& mount) {
    return codes(look(machine("arm64", "/proc/self/mountinfo: 21 1 259:1 / / " + mount + "\n")));
  };
  CHECK(on("rw,noatime - xfs /dev/nvme0n1p1 rw,attr2") == Codes{});
  CHECK(on("rw,noatime,sync - xfs /dev/nvme0n1p1 rw") == Codes{"mount_sync"});
  CHECK(on("rw,noatime - xfs /dev/nvme0n1p1 rw,discard") == Codes{"mount_discard"});
  CHECK(on("rw,noatime - ext4 /dev/nvme0n1p1 rw,nobarrier") == Codes{"no_barriers"});
  CHECK(on("rw,noatime - ext4 /dev/nvme0n1p1 rw,data=journal") == Codes{"ext4_journal"});
  CHECK(on("rw,noatime - ext4 /dev/nvme0n1p1 rw,data=ordered") == Codes{});
}

TEST_CASE("NFS: the connections that the kernel lists count, not those of the options") {
  const std::string mount =
      "/proc/self/mountinfo: 40 21 0:53 / /data rw,relatime - nfs4 s:/d rw,hard,nconnect=4,proto=tcp\n";
  const std::string connections = "\n  xprt: tcp 0 0 1 0 0 1 1 0 1";
  const std::string section = "/proc/self/mountstats:\n  device s:/d mounted on /data with fstype nfs4 statvers=1.1";
  const Environment one = look(machine("nfs", mount + section + connections + "\n"));
  CHECK(severity(one, "nfs_connections") == kWarning);
  CHECK(one.nfs->connections == 1);
  const std::string four = connections + connections + connections + connections;
  CHECK_FALSE(has(look(machine("nfs", mount + section + four + "\n")), "nfs_connections"));
  CHECK_FALSE(has(look(machine("nfs", mount + "/proc/self/mountstats: none\n")), "nfs_connections"));
}

TEST_CASE("NFS over TCP where the node has fast RDMA is a hint") {
  const auto port = [](const std::string& rate) {
    return "/sys/class/infiniband/mlx5_0/ports/1/state: 4: ACTIVE\n/sys/class/infiniband/mlx5_0/ports/1/rate: " + rate +
           " Gb/sec (4X)\n";
  };
  CHECK(severity(look(machine("nfs", port("200"))), "nfs_rdma") == kHint);
  CHECK_FALSE(has(look(machine("nfs", port("25"))), "nfs_rdma"));
  CHECK_FALSE(has(look(machine("nfs")), "nfs_rdma"));
}

TEST_CASE("Lustre: a progressive layout counts as far as the file reaches") {
  const auto sized = [](const std::string& bytes, const std::string& layout) {
    const std::string file = "/scratch/train/c.tar";
    return look(machine("lustre", file + ": x\nanswer stat " + file + ": kind=file size=" + bytes +
                                      " device=0:54\nanswer xattr " + file + " lustre.lov: " + layout + "\n"),
                file);
  };
  // In stripes of 1 MiB: the last number but one is the number of targets.
  const std::string wide = "d00bd10b010000000000000000000000000000000000000000001000ffff0000";
  CHECK(has(sized("1000000000", wide), "lustre_wide"));
  CHECK_FALSE(has(sized("8589934592", wide), "lustre_wide"));
  const std::string one = "d00bd10b01000000000000000000000000000000000000000000100001000000";
  CHECK_FALSE(has(sized("1000000000", one), "lustre_wide"));
  // [0, 16 GiB) on one target, the rest on all.
  const std::string late =
      "d00bd60bc0000000010000000000020000000000000000000000000000000000010000001000000000000000000000000000"
      "00000400000080000000200000000000000000000000000000000000000002000000100000000000000004000000ffffffff"
      "ffffffffa00000002000000000000000000000000000000000000000d00bd10b010000000000000000000000000000000000"
      "00000000100001000000d00bd10b010000000000000000000000000000000000000000001000ffff0000";
  const Environment narrow = sized("8589934592", late);
  CHECK(has(narrow, "lustre_narrow_start"));
  CHECK_FALSE(has(narrow, "lustre_wide"));
  CHECK_FALSE(has(sized("34359738368", late), "lustre_narrow_start"));
}

TEST_CASE("GPFS: the memory and the read-ahead of this node, from the settings of all nodes") {
  const Environment small = look(machine("gpfs"), "/gpfs/train");
  CHECK(codes(small) == Codes{"gpfs_pagepool", "gpfs_prefetch_off", "gpfs_prefetch"});
  CHECK(small.gpfs->pagepool == std::uint64_t{1} << 30U);
  const auto set = [](const std::string& lines) {
    return codes(look(machine("gpfs", "/var/mmfs/gen/mmfs.cfg:\n" + lines), "/gpfs/train"));
  };
  CHECK(set("  pagepool 16G\n  maxMBpS 50000\n  prefetchThreads 72\n") == Codes{});
  CHECK(set("  clusterName x\n") == Codes{});  // unknown defaults are not judged
  CHECK(set("  pagepool 512M\n") == Codes{"gpfs_pagepool"});
}

TEST_CASE("GPUDirect Storage: multipath, arrays and file systems that send data through host memory") {
  CHECK(codes(look(machine("gds"))) == Codes{"gds_multipath", "gds_array"});
  const std::string level = "/sys/devices/virtual/block/md0/md/level: raid0\n";
  const std::string parameter = "/sys/module/nvme_core/parameters/multipath: N\n";
  CHECK(codes(look(machine("gds", level + parameter))) == Codes{});
  const std::string btrfs = "/proc/self/mountinfo: 44 1 9:0 / /data rw,noatime - btrfs /dev/md0 rw\n";
  CHECK(codes(look(machine("gds", level + parameter + btrfs))) == Codes{"gds_file_system"});
  CHECK(codes(look(machine("two-sockets"))) == Codes{});  // without its driver nothing is known
}
