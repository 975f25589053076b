#include <doctest/doctest.h>

#include "bench/transfer/transfer.hpp"
#include "support/fake_gpu_monitor.hpp"
#include "support/recorded_tree.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit_test;

namespace {

const std::string kSlot = "sys/devices/pci0000:16/0000:16:01.0";
const std::string kGpu = kSlot + "/0000:17:00.0";

void set_link(RecordedTree& tree, const std::string& speed, const std::string& width) {
  tree.add(kGpu + "/current_link_speed", speed).add(kGpu + "/current_link_width", width);
}

RecordedTree machine() {
  RecordedTree tree;
  tree.link("sys/bus/pci/devices/0000:17:00.0", "/" + kGpu);
  set_link(tree, "32.0 GT/s PCIe", "16");
  tree.add(kGpu + "/max_link_speed", "32.0 GT/s PCIe").add(kGpu + "/max_link_width", "16");
  tree.add(kSlot + "/max_link_speed", "32.0 GT/s PCIe").add(kSlot + "/max_link_width", "16");
  tree.add(kGpu + "/numa_node", "1");
  return tree;
}

DeviceFacts facts() { return {0, "GPU", 1U << 30U, "0000:17:00.0", {}}; }

}  // namespace

TEST_CASE("a PCIe 5 x16 link carries 63.0 GB/s, 57.6 of them payload") {
  const TransferDevice device = look_at_device(facts(), machine());
  CHECK(device.pcie_generation == 5);
  CHECK(*device.wire_limit == doctest::Approx(32e9 / 8 * 128 / 130 * 16));
  CHECK(*device.wire_limit == doctest::Approx(63.0e9).epsilon(0.001));
  CHECK(*device.payload_limit == doctest::Approx(57.6e9).epsilon(0.001));
  CHECK(*device.max_wire_limit == *device.wire_limit);
  CHECK(device.numa_node == 1);
  CHECK(link_name(device) == "PCIe 5 x16");
  CHECK(device.link_source == LinkSource::sys);
}

TEST_CASE("generation 6 packs bytes otherwise: nothing is said about its headers") {
  CHECK_FALSE(payload_rate(121e9, 6));
  CHECK(payload_rate(28e9, 4) == 25.6e9);
}

TEST_CASE("a link that was idle is looked at again, and its fastest state is kept") {
  RecordedTree tree = machine();
  set_link(tree, "2.5 GT/s PCIe", "16");
  TransferDevice device = look_at_device(facts(), tree);
  CHECK(device.pcie_generation == 1);
  set_link(tree, "32.0 GT/s PCIe", "16");
  look_at_link(tree, nullptr, device);
  CHECK(device.pcie_generation == 5);
  set_link(tree, "5.0 GT/s PCIe", "16");
  look_at_link(tree, nullptr, device);
  CHECK(device.pcie_generation == 5);
}

TEST_CASE("the slot limits what the device could do") {
  RecordedTree tree = machine();
  set_link(tree, "16.0 GT/s PCIe", "8");
  tree.add(kSlot + "/max_link_speed", "16.0 GT/s PCIe");
  const TransferDevice device = look_at_device(facts(), tree);
  CHECK(device.max_pcie_generation == 4);
  CHECK(max_link_name(device) == "PCIe 4 x16");
  CHECK(*device.max_wire_limit == doctest::Approx(2 * *device.wire_limit));
}

TEST_CASE("a switch with a slower uplink limits the GPU, whatever its own link is") {
  const std::string root = "sys/devices/pci0000:14/0000:14:01.0";
  const std::string gpu = root + "/0000:15:00.0/0000:16:04.0/0000:17:00.0";
  RecordedTree tree;
  tree.link("sys/bus/pci/devices/0000:17:00.0", "/" + gpu);
  const auto set = [&](const std::string& folder, const std::string& now, const std::string& most) {
    for (const auto& [which, speed] : {std::pair("current", now), {"max", most}}) {
      tree.add(folder + "/" + which + "_link_speed", speed).add(folder + "/" + which + "_link_width", "16");
    }
  };
  set(gpu, "32.0 GT/s PCIe", "32.0 GT/s PCIe");
  set(root + "/0000:15:00.0/0000:16:04.0", "32.0 GT/s PCIe", "32.0 GT/s PCIe");
  set(root + "/0000:15:00.0", "8.0 GT/s PCIe", "32.0 GT/s PCIe");
  set(root, "8.0 GT/s PCIe", "16.0 GT/s PCIe");
  const TransferDevice device = look_at_device(facts(), tree);
  CHECK(device.pcie_generation == 5);
  CHECK(*device.wire_limit == doctest::Approx(15.754e9).epsilon(0.001));
  CHECK(*device.max_wire_limit == doctest::Approx(31.508e9).epsilon(0.001));
  CHECK(link_name(device) == "PCIe 5 x16 behind a switch of 15.8 GB/s");
}

TEST_CASE("a GPU on NVLink-C2C is not judged by its PCIe link of one lane") {
  GpuState grace_hopper = healthy_gpu();
  grace_hopper.pcie_generation = grace_hopper.pcie_lanes = 1;
  grace_hopper.c2c_rate = 447e9;
  const FakeGpuMonitor monitor({grace_hopper});
  TransferDevice device = look_at_device(facts(), machine(), &monitor);
  look_at_link(machine(), &monitor, device);
  CHECK(device.wire_limit == 447e9);
  CHECK(device.max_wire_limit == 447e9);
  CHECK_FALSE(device.pcie_generation);
  CHECK_FALSE(device.payload_limit);
  CHECK(link_name(device) == "NVLink-C2C");
  Context context;
  warn_of_device(device, context);
  CHECK(context.warnings().empty());
}

TEST_CASE("copies that are faster than the link did not use it: their share is unknown") {
  TransferDevice device;
  device.wire_limit = 1e9;
  TransferRow row;
  row.bytes_per_second = 1.01e9;
  add_wire_share(device, row);
  CHECK(row.wire_share == doctest::Approx(1.01));
  row = {};
  row.bytes_per_second = 300e9;
  add_wire_share(device, row);
  CHECK_FALSE(row.wire_share);
}

TEST_CASE("without a link in /sys the limits are unknown, and the driver's word on the node counts") {
  DeviceFacts alone = facts();
  alone.numa_node = 3;
  TransferDevice device = look_at_device(alone, RecordedTree());
  CHECK_FALSE(device.wire_limit);
  CHECK_FALSE(device.pcie_generation);
  CHECK(device.numa_node == 3);
  CHECK(device.pcie.address == "0000:17:00.0");
  CHECK(link_name(device).empty());
  alone.pci_address.clear();
  look_at_link(RecordedTree(), nullptr, device);
  CHECK_FALSE(look_at_device(alone, machine()).wire_limit);
}

TEST_CASE("the driver's word on the link comes before that of /sys, and counts where /sys has none") {
  GpuState state = healthy_gpu();
  state.pcie_generation = 4;
  state.pcie_lanes = 8;
  state.numa_node = 2;
  const FakeGpuMonitor monitor({state});
  for (const RecordedTree& tree : {machine(), RecordedTree()}) {
    const TransferDevice device = look_at_device(facts(), tree, &monitor);
    CHECK(link_name(device) == "PCIe 4 x8");
    CHECK(max_link_name(device) == "PCIe 5 x16");
    CHECK(device.link_source == LinkSource::driver);
    CHECK(device.numa_node);
  }
  CHECK(look_at_device(facts(), RecordedTree(), &monitor).numa_node == 2);
}

TEST_CASE("a GPU that the driver does not know, or tells no link of, has that of /sys") {
  const FakeGpuMonitor other({healthy_gpu("0000:65:00.0")});
  CHECK(look_at_device(facts(), machine(), &other).link_source == LinkSource::sys);
  GpuState silent = healthy_gpu();
  silent.pcie_lanes.reset();
  const FakeGpuMonitor monitor({silent});
  CHECK(look_at_device(facts(), machine(), &monitor).link_source == LinkSource::sys);
  CHECK(look_at_device(facts(), RecordedTree(), &monitor).link_source == LinkSource::none);
}

TEST_CASE("of all looks the fastest link and every slowdown is kept, and warned of") {
  GpuState idle = healthy_gpu();
  idle.pcie_generation = 1;
  idle.clock_limits = gpu::clock_limit::kIdle;
  GpuState hot = healthy_gpu();
  hot.pcie_generation = 4;
  hot.clock_limits = gpu::clock_limit::kDriverHeat;
  GpuState braked = hot;
  braked.pcie_generation = 3;
  braked.clock_limits = gpu::clock_limit::kDriverHeat | gpu::clock_limit::kPowerBrake;
  const FakeGpuMonitor monitor({idle}, {idle, hot, braked});
  TransferDevice device = look_at_device(facts(), machine(), &monitor);
  CHECK(device.slowdowns == 0);
  look_at_link(machine(), &monitor, device);
  look_at_link(machine(), &monitor, device);
  CHECK(link_name(device) == "PCIe 4 x16");
  CHECK(device.slowdowns == (gpu::clock_limit::kDriverHeat | gpu::clock_limit::kPowerBrake));
  Context context;
  warn_of_device(device, context);
  const auto warnings = context.warnings();
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].code == "pcie_link_below_max");
  CHECK(warnings[1].code == "gpu_slowed_down");
  CHECK(warnings[1].text.find("(sw_thermal_slowdown, hw_power_brake_slowdown)") != std::string::npos);
}
