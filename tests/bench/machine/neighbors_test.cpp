#include "bench/machine/neighbors.hpp"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "support/recorded_tree.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using doctest::Approx;

namespace {

/// Ticks of a hundredth of a second, in 10 s.
struct Ticks {
  int user = 0;
  int interrupts = 0;
  int stolen = 0;
};

/// Four CPUs, of which this process may use the first two.
struct Machine {
  RecordedTree tree;
  system::StorageFacts storage;

  Machine() {
    storage.device = "vda";
    tree.add("/proc/self/status", "Cpus_allowed_list:\t0-1\n");
    set({}, {}, 0, 0, 0);
  }

  void set(Ticks ours, Ticks elsewhere, int kernel_thread, int own_bytes, int disk_bytes) {
    std::string text = "cpu  0 0 0 0 0 0 0 0 0 0\n";
    for (int cpu = 0; cpu < 4; ++cpu) {
      const Ticks& t = cpu < 2 ? ours : elsewhere;
      const int idle = is_later ? ticks - t.user - t.interrupts - t.stolen : 0;
      text += fmt::format("cpu{} {} 0 0 {} 0 {} 0 {} 0 0\n", cpu, t.user, idle, t.interrupts, t.stolen);
    }
    is_later = true;
    tree.add("/proc/stat", text + "procs_blocked 0\n");
    tree.add("/proc/2/stat",
             fmt::format("2 (kworker/0:1) S 0 0 0 0 -1 2097152 0 0 0 0 {} 0 0 0 20 0 1 0 9 0", kernel_thread));
    tree.add(fmt::format("/proc/{}/io", ::getpid()),
             fmt::format("rchar: 0\nread_bytes: {}\nwrite_bytes: 0\n", own_bytes));
    tree.add("/proc/diskstats", fmt::format("254 0 vda 1 0 {} 0 0 0 0 0 0 0 0\n", disk_bytes / 512));
  }

  bool is_later = false;
  int ticks = 1000;  ///< since the start
};

}  // namespace

TEST_CASE("others are counted on the CPUs that this process may use") {
  Machine machine;
  NeighborMeter meter(machine.storage, 2, machine.tree);
  machine.set({.user = 650}, {.user = 1000}, 0, 0, 0);
  const Neighbors found = meter.so_far();
  CHECK(found.cores == 2);
  CHECK(found.cores_used == Approx(1.3).epsilon(0.02));
  CHECK(found.disturb());
  CHECK(found.text() == "others used 1.3 of 2 cores");
}

TEST_CASE("interrupts and kernel threads may work for the measurement, a hypervisor's others do not") {
  Machine machine;
  NeighborMeter meter(machine.storage, 2, machine.tree);
  machine.set({.user = 300, .interrupts = 400}, {}, 600, 0, 0);
  CHECK_FALSE(meter.so_far().disturb());
  machine.set({.stolen = 200}, {}, 0, 0, 0);
  CHECK(meter.so_far().cores_used == Approx(0.4).epsilon(0.02));
}

TEST_CASE("CPUs that a quota leaves unused may be used by others") {
  Machine machine;
  NeighborMeter meter(machine.storage, 1, machine.tree);
  machine.set({.user = 500}, {}, 0, 0, 0);
  CHECK_FALSE(meter.so_far().disturb());
  machine.set({.user = 700}, {}, 0, 0, 0);
  CHECK(meter.so_far().cores_used == Approx(0.4).epsilon(0.02));
}

TEST_CASE("others on the disk matter if this process reads from it") {
  Machine machine;
  NeighborMeter meter(machine.storage, 2, machine.tree);
  machine.set({}, {}, 0, 0, 1'024'000'000);
  CHECK_FALSE(meter.so_far().disturb());
  machine.set({}, {}, 0, 512'000'000, 1'024'000'000);
  CHECK(meter.so_far().device_ratio.value() == Approx(0.5));
  CHECK(meter.so_far().text() == "others used 51.2 MB/s of the disk");
  machine.set({}, {}, 0, 1'000'000'000, 1'024'000'000);
  CHECK_FALSE(meter.so_far().disturb());
}

namespace {

/// The machine with a FUSE mount that process 70 serves, which has used `ticks` of CPU time so far.
void serve_fuse(Machine& machine, int ticks) {
  machine.storage = {};
  machine.storage.storage_class = system::StorageClass::fuse;
  machine.storage.mount_point = "/data";
  machine.tree.add("/proc/self/mountinfo",
                   "20 1 254:0 / / rw - ext4 /dev/vda rw\n40 20 0:41 / /data rw - fuse.rclone s3:set rw\n");
  machine.tree.link("/proc/70/fd/9", "/dev/fuse");
  machine.tree.add("/proc/70/fdinfo/9", "pos:\t0\nfuse_connection:\t41\n");
  machine.tree.add("/proc/70/stat", fmt::format("70 (rclone) S 1 70 70 0 -1 0 0 0 0 0 {} 0 0 0 20 0 1 0 9 0", ticks));
}

}  // namespace

TEST_CASE("the process of a FUSE mount is no other, and all others are counted") {
  Machine machine;
  serve_fuse(machine, 0);
  NeighborMeter meter(machine.storage, 2, machine.tree);
  serve_fuse(machine, 900);
  machine.set({.user = 450}, {}, 0, 0, 0);
  CHECK_FALSE(meter.so_far().disturb());
  machine.set({.user = 850}, {}, 0, 0, 0);
  CHECK(meter.so_far().cores_used == Approx(0.8).epsilon(0.03));
  CHECK(meter.so_far().text() == "others used 0.8 of 2 cores");
}

TEST_CASE("the process of a FUSE mount that cannot be found counts as others, which the text says") {
  Machine machine;
  serve_fuse(machine, 0);
  machine.tree.without("/proc/70/fd");  // as for another user's process
  NeighborMeter meter(machine.storage, 2, machine.tree);
  CHECK_FALSE(meter.so_far().disturb());
  machine.set({.user = 450}, {}, 0, 0, 0);
  CHECK(meter.so_far().disturb());
  CHECK(meter.so_far().text() == "others used 0.9 of 2 cores (perhaps for this mount: its process was not found)");
}

TEST_CASE("what others use of a disk is compared with its highest rate, not with the few bytes of this process") {
  Machine machine;
  NeighborMeter meter(machine.storage, 2, machine.tree);
  machine.set({}, {}, 0, 1'000'000'000, 1'001'000'000);  // 100 MB/s
  meter.look();
  machine.ticks = 3000;  // then 20 s in which this process reads next to nothing, and others 107 kB/s
  machine.set({}, {}, 0, 1'000'100'000, 1'003'240'000);
  const Neighbors found = meter.so_far();
  CHECK(found.device_most == Approx(100.1e6).epsilon(0.01));
  CHECK(found.device_bytes_per_second.value() == Approx(104.7e3).epsilon(0.01));
  CHECK(found.device_ratio.value() < 0.002);
  CHECK_FALSE(found.disturb());
}

TEST_CASE("measurements count by their time, and the disk's highest rate is that of all") {
  const std::vector<Neighbors> parts{{1.0, 2, 0, 0, false, 200e6, 1}, {0.2, 2, 40e6, 0.4, false, 100e6, 3}, {}};
  const Neighbors all = together(parts);
  CHECK(all.cores == 2);
  CHECK(all.cores_used == Approx(0.4));
  CHECK(all.seconds == 4);
  CHECK(all.device_bytes_per_second.value() == Approx(30e6));
  CHECK(all.device_ratio.value() == Approx(0.15));
  CHECK_FALSE(together({}).disturb());
}

TEST_CASE("where no verdict judges, a warning says that others disturbed a measurement") {
  Context context;
  warn_of_neighbors({0.1, 2, 0, 0}, context);
  CHECK(context.warnings().empty());
  warn_of_neighbors({1.0, 2, 0, 0}, context);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings().front().code == "disturbed");
}

TEST_CASE("of less than half a second nothing is said, because ticks are too coarse") {
  Machine machine;
  NeighborMeter meter(machine.storage, 2, machine.tree);
  machine.ticks = 40;
  machine.set({.user = 30}, {}, 0, 0, 0);
  CHECK_FALSE(meter.so_far().disturb());
  machine.ticks = 60;
  machine.set({.user = 45}, {}, 0, 0, 0);
  CHECK(meter.so_far().disturb());
}

TEST_CASE("a machine without /proc disturbs nothing") {
  const RecordedTree nothing;
  CHECK_FALSE(NeighborMeter({}, 2, nothing).so_far().disturb());
}
