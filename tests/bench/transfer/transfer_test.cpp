#include "bench/transfer/transfer.hpp"

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"
#include "support/fake_direct_storage.hpp"
#include "support/fake_gpu_monitor.hpp"
#include "support/recorded_tree.hpp"
#include "system/memory.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit::system;
using namespace shardkit::test;
using namespace shardkit_test;

namespace {

const std::string kGpu = "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0";

RecordedTree machine_with_link(const std::string& speed = "32.0 GT/s PCIe") {
  RecordedTree tree;
  tree.link("sys/bus/pci/devices/0000:17:00.0", "/" + kGpu);
  tree.add(kGpu + "/current_link_speed", speed).add(kGpu + "/current_link_width", "16");
  tree.add(kGpu + "/max_link_speed", "32.0 GT/s PCIe").add(kGpu + "/max_link_width", "16");
  return tree;
}

GpuMachine machine_of(std::vector<Device*> devices, const Probe& probe) {
  return {probe, std::move(devices), {}, [](const Device&) { return nullptr; }};
}

TransferOptions options_of(const std::string& kinds, const std::string& bytes) {
  TransferOptions options;
  options.kinds = kinds;
  options.bytes = bytes;
  return options;
}

}  // namespace

TEST_CASE("a row for each kind, size and direction, held against the link") {
  FakeDevice device({.to_device = 50e9, .to_host = 40e9, .copy_seconds = 0});
  const RecordedTree tree = machine_with_link();
  Context context;
  const TransferResult result =
      transfer(options_of("pageable,pinned", "64KiB,1MiB"), machine_of({&device}, tree), context);
  REQUIRE(result.rows.size() == 12);
  const TransferRow& pinned = result.rows[6];
  CHECK(pinned.kind == HostMemory::pinned);
  CHECK(pinned.direction == CopyDirection::h2d);
  CHECK(pinned.bytes == 64U << 10U);
  CHECK(pinned.numa == NumaLocation::unbound);
  CHECK(pinned.bytes_per_second == doctest::Approx(50e9));
  CHECK(pinned.lowest_bytes_per_second <= pinned.bytes_per_second);
  CHECK(pinned.highest_bytes_per_second >= pinned.bytes_per_second);
  CHECK(*pinned.wire_share == doctest::Approx(50e9 / 63.015e9).epsilon(0.001));
  const TransferRow& both = result.rows[8];
  CHECK(both.bytes_per_second == doctest::Approx(80e9));  // twice the bytes in the time of the slower direction
  CHECK(*both.wire_share == doctest::Approx(80e9 / (2 * 63.015e9)).epsilon(0.001));
  CHECK(result.devices.front().name == "fake GPU");
  CHECK(result.gpu == "fake GPU");
  CHECK(*result.pinned_h2d == doctest::Approx(50e9));
  CHECK(*result.pinned_d2h == doctest::Approx(40e9));
  CHECK(result.verdict.starts_with("pinned host to device 50.0 GB/s, 79 % of PCIe 5 x16's wire limit; pageable "));
  CHECK(context.warnings().empty());
  CHECK(device.allocations() == 0);
}

TEST_CASE("pinning and registering are timed apart, pageable memory needs neither") {
  FakeDevice device;
  Context context;
  const RecordedTree tree;
  const TransferResult result =
      transfer(options_of("pageable,pinned,write-combined,registered", "4KiB"), machine_of({&device}, tree), context);
  REQUIRE(result.pinning.size() == 3);
  CHECK(result.pinning[0].kind == HostMemory::pinned);
  CHECK(result.pinning[1].kind == HostMemory::write_combined);
  CHECK(result.pinning[2].kind == HostMemory::registered);
  for (const PinningRow& row : result.pinning) {
    CHECK(row.bytes == 8192);
    CHECK(row.prepare_seconds_per_gib == doctest::Approx(row.prepare_seconds * (1U << 30U) / 8192));
  }
}

TEST_CASE("of several GPUs the slowest is the verdict's") {
  FakeDevice fast({.to_device = 50e9});
  FakeDevice slow({.to_device = 12e9, .copy_seconds = 0, .index = 1});
  Context context;
  const RecordedTree tree;
  TransferOptions options = options_of("pinned", "1MiB");
  options.device = "all";
  const TransferResult result = transfer(options, machine_of({&fast, &slow}, tree), context);
  CHECK(result.devices.size() == 2);
  CHECK(result.rows.size() == 6);
  CHECK(result.rows.back().device == 1);
  CAPTURE(result.verdict);
  CHECK(result.verdict.starts_with("2 GPUs at once, the slowest is number 1: pinned host to device 12.0 GB/s"));
  CHECK(*result.pinned_h2d == doctest::Approx(12e9));
}

TEST_CASE("several GPUs copy at the same time, with the same sizes on each") {
  FakeDevice one({.memory = 64U << 20U});
  FakeDevice small({.memory = 1U << 20U, .index = 1});
  Context context;
  RecordedTree tree;
  tree.add("proc/meminfo", "MemTotal: 8192 kB\n");
  TransferOptions options = options_of("pageable,pinned", "256KiB,1MiB");
  options.device = "all";
  const TransferResult result = transfer(options, machine_of({&one, &small}, tree), context);
  REQUIRE(result.rows.size() == 12);  // 1 MiB does not fit into the second one, and both divide the host's memory
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(result.rows[i].device == 0);
    CHECK(result.rows[i].bytes == 256U << 10U);
    CHECK(result.rows[i + 6].device == 1);
    CHECK(result.rows[i + 6].bytes == 256U << 10U);
  }
  CHECK(has_warning(context, "copies_left_out"));
}

TEST_CASE("a GPU that fails ends the copies of the others") {
  for (const std::uint64_t damaged : {51U, 259U}) {  // the last copies of the first rows of pageable and pinned memory
    FakeDevice good;
    FakeDevice bad({.index = 1, .damaged_copy = damaged});
    Context context;
    const RecordedTree tree;
    TransferOptions options = options_of("pageable,pinned", "4KiB");
    options.device = "all";
    CHECK(failure_of([&] { transfer(options, machine_of({&good, &bad}, tree), context); }) == ErrorCode::corrupt);
    CHECK(good.allocations() == 0);
    CHECK(bad.allocations() == 0);
  }
}

TEST_CASE("without pinned copies to the device the verdict is of what was measured") {
  FakeDevice device({.to_device = 30e9, .copy_seconds = 0});
  Context context;
  const RecordedTree tree;
  CHECK(transfer(options_of("registered", "1MiB"), machine_of({&device}, tree), context).verdict ==
        "registered host to device 30.0 GB/s (PCIe link unknown)");
}

TEST_CASE("a link below what device and slot can do is warned of") {
  FakeDevice device;
  Context context;
  const RecordedTree tree = machine_with_link("8.0 GT/s PCIe");
  transfer(options_of("pinned", "4KiB"), machine_of({&device}, tree), context);
  REQUIRE(has_warning(context, "pcie_link_below_max"));
  CHECK(context.warnings().front().text.find("is PCIe 3 x16, but device and slot support PCIe 5 x16") !=
        std::string::npos);
}

TEST_CASE("the driver is asked for the link right after copies, and whether the GPU was slowed down") {
  FakeDevice device;
  Context context;
  const RecordedTree tree;
  GpuState hot = healthy_gpu();
  hot.clock_limits = gpu::clock_limit::kHardwareHeat;
  GpuState idle = healthy_gpu();
  idle.pcie_generation = 1;
  const FakeGpuMonitor monitor({idle}, {idle, hot});
  GpuMachine machine = machine_of({&device}, tree);
  machine.monitor = &monitor;
  const TransferResult result = transfer(options_of("registered", "4KiB"), machine, context);
  CHECK(result.devices.front().pcie_generation == 5);
  CHECK(result.devices.front().link_source == LinkSource::driver);
  CHECK(result.rows.front().wire_share);
  CHECK(has_warning(context, "gpu_slowed_down"));
  CHECK_FALSE(result.pinned_h2d);
}

TEST_CASE("copies that do not fit are left out with a warning; when none fits there is no room") {
  FakeDevice device({.memory = 1U << 20U});
  Context context;
  const RecordedTree tree;
  const TransferResult result = transfer(options_of("pinned", "256KiB,512KiB"), machine_of({&device}, tree), context);
  CHECK(result.rows.size() == 5);  // both directions at once need twice the memory
  CHECK(has_warning(context, "copies_left_out"));
  CHECK(failure_of([&] { transfer(options_of("pinned", "1MiB"), machine_of({&device}, tree), context); }) ==
        ErrorCode::no_space);

  RecordedTree small;
  small.add("proc/meminfo", "MemTotal: 1024 kB\n");
  CHECK(failure_of([&] {
          transfer(options_of("pinned", "512KiB"), machine_of({&device}, small), context);
        }).says("of host memory"));
}

TEST_CASE("memory of the GPU's own node, bound for real on this machine") {
  const auto nodes = host_nodes();
  if (nodes.empty()) {
    MESSAGE("SKIPPED: /sys tells of no NUMA node");
    return;
  }
  FakeDevice device({.pci_address = "", .numa_node = nodes.front()});
  Context context;
  const TransferResult result =
      transfer(options_of("pageable,registered", "64KiB"), machine_of({&device}, live_probe()), context);
  if (has_warning(context, "numa_not_bound")) {
    MESSAGE("SKIPPED: the tests run on CPUs of another node");
    return;
  }
  for (const TransferRow& row : result.rows) {
    CHECK(row.numa == NumaLocation::local);
    CHECK(row.numa_node == nodes.front());
  }
}

TEST_CASE("a byte that arrives wrong ends the command") {
  FakeDevice device({.damaged_copy = 51});
  Context context;
  const RecordedTree tree;
  CHECK(failure_of([&] { transfer(options_of("pinned", "4KiB"), machine_of({&device}, tree), context); }) ==
        ErrorCode::corrupt);
  CHECK(device.allocations() == 0);
}

TEST_CASE("a stop ends the command") {
  std::stop_source stop;
  stop.request_stop();
  FakeDevice device;
  Context context(stop.get_token());
  const RecordedTree tree;
  CHECK(failure_of([&] { transfer(options_of("pinned", "4KiB"), machine_of({&device}, tree), context); }) ==
        ErrorCode::cancelled);
}
