#include "gpu/gpu_monitor.hpp"

#include <doctest/doctest.h>

#include "support/fake_gpu_monitor.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit::system;
using namespace shardkit_test;
using Names = std::vector<std::string>;

namespace {

/// What /sys of a virtual machine says of a GPU that was handed through: a slot of the hypervisor's making.
PcieLink virtual_slot() {
  PcieLink link;
  link.address = "0000:17:00.0";
  link.speed = 2.5;
  link.width = 1;
  link.max_speed = 32;
  link.max_width = 16;
  link.slot_speed = 16;
  link.slot_width = 32;
  return link;
}

}  // namespace

TEST_CASE("limits of the clocks have NVML's names, and what no version of it named a number") {
  CHECK(clock_limit_names(0) == Names{});
  CHECK(clock_limit_names(0x1) == Names{"gpu_idle"});
  CHECK(clock_limit_names(0x4 | 0x40) == Names{"sw_power_cap", "hw_thermal_slowdown"});
  CHECK(clock_limit_names(0x200 | 0x400) == Names{"board_limit", "reliability"});
  CHECK(clock_limit_names(0x8000000000000000) == Names{"reason_63"});
}

TEST_CASE("heat and lack of power are faults; rest, settings and the owner's power limit are none") {
  CHECK(clock_limit_names(clock_limit::kSlowdowns) ==
        Names{"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"});
}

TEST_CASE("the driver's word on the link comes before that of /sys") {
  const PcieLink link = driver_link(healthy_gpu(), virtual_slot());
  CHECK(link.speed == 32);
  CHECK(link.width == 16);
  CHECK(link.max_speed == 32);
  CHECK(link.slot_speed == 32);
  CHECK(link.slot_width == 16);
}

TEST_CASE("a GPU in a slot that offers less: the slot's is what both can do") {
  GpuState state = healthy_gpu();
  state.pcie_generation = state.max_pcie_generation = 4;
  const PcieLink link = driver_link(state, {});
  CHECK(link.address == "0000:17:00.0");
  CHECK(link.speed == 16);
  CHECK(link.max_speed == 32);
  CHECK(link.slot_speed == 16);
}

TEST_CASE("where the driver tells no link /sys is believed, and the node of either") {
  GpuState state = healthy_gpu();
  state.pcie_generation.reset();
  state.numa_node = 1;
  PcieLink sys = virtual_slot();
  CHECK(driver_link(state, sys).speed == 2.5);
  CHECK(driver_link(state, sys).numa_node == 1);
  sys.numa_node = 0;
  CHECK(driver_link(state, sys).numa_node == 0);
  state = healthy_gpu();
  state.pcie_generation = 9;  // no generation that we know the speed of
  CHECK(driver_link(state, sys).speed == 2.5);
}

TEST_CASE("a GPU is found by its address") {
  GpuSight sight;
  sight.gpus = {healthy_gpu("0000:17:00.0"), healthy_gpu("0000:65:00.0")};
  CHECK(sight.find("0000:65:00.0") == &sight.gpus[1]);
  CHECK(sight.find("0000:66:00.0") == nullptr);
}

TEST_CASE("looking never throws: without NVML there is a line that says why") {
  const GpuSight sight = look_at_gpus();
  CHECK(sight.missing.has_value() == sight.driver_version.empty());
  if (sight.missing) {
    CHECK(sight.gpus.empty());
    CHECK(sight.missing->find('\n') == std::string::npos);
  }
}
