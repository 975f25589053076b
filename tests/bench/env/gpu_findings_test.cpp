#include <algorithm>
#include <functional>

#include "bench/env/env.hpp"
#include "bench/env/env_machines.hpp"
#include "support/fake_gpu_monitor.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit::test;
using shardkit_test::healthy_gpu;

namespace {

/// GPUs that the driver tells of on a machine whose /sys shows none.
Environment look_at(std::vector<GpuState> gpus) {
  GpuSight sight;
  sight.driver_version = "999.10";
  sight.gpus = std::move(gpus);
  RecordedTree tree;
  tree.add("proc/self/status", "Cpus_allowed_list:\t0-3").add("sys/class/net/lo/mtu", "65536");
  return look_at_environment("", std::nullopt, tree, sight);
}

Environment look_at_one(const std::function<void(GpuState&)>& change) {
  GpuState gpu = healthy_gpu();
  change(gpu);
  return look_at({gpu});
}

Codes gpu_codes(const Environment& environment) {
  Codes found;
  for (const std::string& code : codes(environment)) {
    if (code.starts_with("gpu")) found.push_back(code);
  }
  return found;
}

}  // namespace

TEST_CASE("GPUs that only the driver tells of are GPUs: their link, driver and number") {
  const Environment machine = look_at({healthy_gpu("0000:17:00.0"), healthy_gpu("0000:65:00.0")});
  CHECK(gpu_codes(machine) == Codes{});
  CHECK(machine.gpus == 2);
  CHECK(machine.gpu_driver == "999.10");
  REQUIRE(machine.gpu_devices.size() == 2);
  CHECK(machine.gpu_devices[1].model == "Made-up GPU");
  CHECK(machine.gpu_devices[1].pcie.address == "0000:65:00.0");
  CHECK(machine.gpu_devices[1].pcie.width == 16);
  CHECK(machine.normal.front().part == "gpu");
}

TEST_CASE("a lost GPU is a warning, and no device without an address") {
  GpuState lost;
  lost.index = 1;
  lost.fault = GpuFault::lost;
  const Environment machine = look_at({healthy_gpu(), lost});
  CHECK(gpu_codes(machine) == Codes{"gpu_lost"});
  CHECK(machine.gpus == 2);
  CHECK(machine.gpu_devices.size() == 1);
  const auto finding = std::ranges::find(machine.findings, "gpu_lost", &MachineFinding::code);
  CHECK(finding->text == "GPU 1 has fallen off the bus: jobs that use it fail");
  CHECK(gpu_codes(look_at_one([](GpuState& gpu) { gpu.fault = GpuFault::reset_required; })) == Codes{"gpu_lost"});
}

TEST_CASE("the PCIe link of a GPU on NVLink-C2C is not judged") {
  const auto narrow = [](GpuState& gpu) { gpu.pcie_lanes = 1; };
  CHECK(gpu_codes(look_at_one(narrow)) == Codes{"gpu_pcie_width"});
  CHECK(gpu_codes(look_at_one([&](GpuState& gpu) {
          narrow(gpu);
          gpu.c2c_rate = 447e9;
        })) == Codes{});
}

TEST_CASE("what the driver says of a link comes before what /sys of a virtual machine says") {
  GpuSight sight;
  sight.gpus = {healthy_gpu("0000:41:00.0")};
  const Environment links = look_at_environment("", std::nullopt, machine("gpu-links"), sight);
  CHECK_FALSE(has(links, "gpu_pcie_width"));
  CHECK(links.gpu_devices.size() == 2);
  CHECK(links.gpu_devices[0].model == "Made-up GPU");
}

TEST_CASE("lost lanes are a warning, whether the GPU works or rests") {
  const Environment machine = look_at_one([](GpuState& gpu) {
    gpu.pcie_lanes = 8;
    gpu.performance_state = 8;
  });
  CHECK(gpu_codes(machine) == Codes{"gpu_pcie_width"});
  CHECK(severity(machine, "gpu_pcie_width") == kWarning);
  CHECK(find(machine, "gpu_pcie_width")->normal == "x16");
}

TEST_CASE("a slow link is a warning at full performance, nothing at rest, and a hint where that is not known") {
  const auto with_state = [](std::optional<std::uint64_t> state) {
    return look_at_one([&](GpuState& gpu) {
      gpu.pcie_generation = 1;
      gpu.performance_state = state;
    });
  };
  CHECK(severity(with_state(0), "gpu_pcie_speed") == kWarning);
  CHECK(gpu_codes(with_state(8)) == Codes{});
  CHECK(severity(with_state({}), "gpu_pcie_speed") == kHint);
}

TEST_CASE("a GPU in a slot of an older generation is a hint about the slot") {
  const Environment machine = look_at_one([](GpuState& gpu) { gpu.pcie_generation = gpu.max_pcie_generation = 4; });
  CHECK(gpu_codes(machine) == Codes{"gpu_slot"});
  CHECK(find(machine, "gpu_slot")->measured == "generation 4 (16 GT/s)");
}

TEST_CASE("heat that slows a GPU down is a warning with the clock and the temperature") {
  const Environment machine = look_at_one([](GpuState& gpu) {
    gpu.clock_limits = gpu::clock_limit::kPowerCap | gpu::clock_limit::kDriverHeat;
    gpu.sm_clock = 1'200'000'000;
    gpu.temperature = 88;
  });
  CHECK(gpu_codes(machine) == Codes{"gpu_slowdown"});
  const MachineFinding& finding = *find(machine, "gpu_slowdown");
  CHECK(finding.severity == kWarning);
  CHECK(finding.measured == "sw_thermal_slowdown at 88 degrees C, 1200 of 1980 MHz");
  CHECK(finding.advice.starts_with("check fans, dust"));
  CHECK(finding.text.starts_with("GPU 0 at 0000:17:00.0 is throttled: "));
}

TEST_CASE("a power brake asks for power; a slowdown by hardware that says no more asks for both") {
  const auto remedy_of = [](std::uint64_t limit) {
    return find(look_at_one([&](GpuState& gpu) { gpu.clock_limits = limit; }), "gpu_slowdown")->advice;
  };
  CHECK(remedy_of(gpu::clock_limit::kPowerBrake).starts_with("check power supplies"));
  CHECK(remedy_of(gpu::clock_limit::kHardware)
            .starts_with("check fans, dust and intake air temperature; check power supplies"));
}

TEST_CASE("limits that a GPU which is well has too are none") {
  CHECK(gpu_codes(look_at_one([](GpuState& gpu) {
          gpu.clock_limits = gpu::clock_limit::kIdle | gpu::clock_limit::kPowerCap;
        })) == Codes{});
}

TEST_CASE("a lowered power limit and work of others are hints") {
  const Environment machine = look_at_one([](GpuState& gpu) {
    gpu.power_limit = 400;
    gpu.gpu_busy = 0.97;
  });
  CHECK(gpu_codes(machine) == Codes{"gpu_power_limit", "gpu_in_use"});
  CHECK(find(machine, "gpu_power_limit")->advice.ends_with("nvidia-smi -i 0 -pl 700"));
  CHECK(find(machine, "gpu_in_use")->measured == "busy for 97 % of the time");
}

TEST_CASE("modes are reported once for all GPUs of a node") {
  GpuState gpu = healthy_gpu("0000:17:00.0");
  gpu.persistence = "off";
  GpuState other = healthy_gpu("0000:65:00.0");
  other.persistence = "off";
  other.mig = "on";
  const Environment machine = look_at({gpu, other});
  CHECK(gpu_codes(machine) == Codes{"gpu_persistence", "gpu_mig"});
  CHECK(find(machine, "gpu_persistence")->measured == "off, 2 of 2 GPUs");
  CHECK(find(machine, "gpu_mig")->measured == "on, 1 of 2 GPUs");
}

TEST_CASE("what a GPU does not tell is no finding") {
  GpuState silent;
  silent.name = "Made-up GPU";
  silent.pci_address = "0000:17:00.0";
  CHECK(gpu_codes(look_at({silent})) == Codes{});
}
