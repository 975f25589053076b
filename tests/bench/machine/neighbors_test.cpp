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
      const int idle = is_later ? 1000 - t.user - t.interrupts - t.stolen : 0;
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
};

}  // namespace

TEST_CASE("others are counted on the CPUs that this process may use") {
  Machine machine;
  const NeighborMeter meter(machine.storage, 2, machine.tree);
  machine.set({.user = 650}, {.user = 1000}, 0, 0, 0);
  const Neighbors found = meter.so_far();
  CHECK(found.cores == 2);
  CHECK(found.cores_used.value() == Approx(1.3).epsilon(0.02));
  CHECK(found.disturb());
  CHECK(found.text() == "others used 1.3 of 2 cores");
}

TEST_CASE("interrupts and kernel threads may work for the measurement, a hypervisor's others do not") {
  Machine machine;
  const NeighborMeter meter(machine.storage, 2, machine.tree);
  machine.set({.user = 300, .interrupts = 400}, {}, 600, 0, 0);
  CHECK_FALSE(meter.so_far().disturb());
  machine.set({.stolen = 200}, {}, 0, 0, 0);
  CHECK(meter.so_far().cores_used.value() == Approx(0.4).epsilon(0.02));
}

TEST_CASE("CPUs that a quota leaves unused may be used by others") {
  Machine machine;
  const NeighborMeter meter(machine.storage, 1, machine.tree);
  machine.set({.user = 500}, {}, 0, 0, 0);
  CHECK_FALSE(meter.so_far().disturb());
  machine.set({.user = 700}, {}, 0, 0, 0);
  CHECK(meter.so_far().cores_used.value() == Approx(0.4).epsilon(0.02));
}

TEST_CASE("others on the disk matter if this process reads from it") {
  Machine machine;
  const NeighborMeter meter(machine.storage, 2, machine.tree);
  machine.set({}, {}, 0, 0, 1'024'000'000);
  CHECK_FALSE(meter.so_far().disturb());
  machine.set({}, {}, 0, 512'000'000, 1'024'000'000);
  CHECK(meter.so_far().device_ratio == Approx(0.5));
  CHECK(meter.so_far().text() == "others used 51.2 MB/s of the disk");
  machine.set({}, {}, 0, 1'000'000'000, 1'024'000'000);
  CHECK_FALSE(meter.so_far().disturb());
}

TEST_CASE("the cores that others use are unknown for FUSE, and a machine without /proc disturbs nothing") {
  Machine machine;
  machine.storage.storage_class = system::StorageClass::fuse;
  const NeighborMeter meter(machine.storage, 2, machine.tree);
  machine.set({.user = 900}, {}, 0, 0, 0);
  CHECK_FALSE(meter.so_far().cores_used);
  CHECK_FALSE(meter.so_far().disturb());
  const RecordedTree nothing;
  CHECK_FALSE(NeighborMeter({}, 2, nothing).so_far().disturb());
}
