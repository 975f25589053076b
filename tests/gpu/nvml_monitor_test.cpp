// Over a libnvidia-ml.so.1 of our own (tests/support/fake_nvml.cpp), which the loader finds before any other.

#include <cstdlib>

#include <doctest/doctest.h>

#include "gpu/gpu_monitor.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit_test;

TEST_CASE("what NVML tells of a GPU, in our units") {
  const auto monitor = open_gpu_monitor();
  CHECK(monitor->driver_version() == "580.65.06");
  const std::vector<GpuState> states = monitor->look();
  REQUIRE(states.size() == 2);
  const GpuState& gpu = states.front();
  CHECK(gpu.index == 0);
  CHECK(gpu.name == "Made-up GPU");
  CHECK(gpu.pci_address == "0000:17:00.0");
  CHECK(gpu.numa_node == 1);
  CHECK(gpu.memory == std::uint64_t{80} << 30U);
  CHECK(gpu.memory_used == std::uint64_t{1} << 30U);
  CHECK(gpu.pcie_generation == 4);
  CHECK(gpu.pcie_lanes == 8);
  CHECK(gpu.max_pcie_lanes == 16);
  CHECK(gpu.gpu_pcie_generation == 5);
  CHECK(gpu.sm_clock == 1'200'000'000);
  CHECK(gpu.max_memory_clock == 2'619'000'000);
  CHECK(gpu.clock_limits == (clock_limit::kPowerCap | clock_limit::kDriverHeat));
  CHECK(gpu.performance_state == 2);
  CHECK(gpu.temperature == 88);
  CHECK(gpu.power == 350.5);
  CHECK(gpu.power_limit == 400);
  CHECK(gpu.default_power_limit == 700);
  CHECK(gpu.gpu_busy == 0.97);
  CHECK(gpu.jpeg_busy == 0);  // 0 is an answer
  CHECK(gpu.mig == "on");
  CHECK(gpu.persistence == "off");
}

TEST_CASE("what a GPU refuses to tell is empty, not 0") {
  const GpuState gpu = open_gpu_monitor()->look().back();
  CHECK(gpu.index == 1);
  CHECK(gpu.pci_address == "0000:ca:00.0");
  CHECK_FALSE(gpu.numa_node);
  CHECK_FALSE(gpu.memory);
  CHECK_FALSE(gpu.pcie_generation);
  CHECK_FALSE(gpu.sm_clock);
  CHECK(gpu.clock_limits == 0);
  CHECK_FALSE(gpu.performance_state);
  CHECK_FALSE(gpu.temperature);
  CHECK_FALSE(gpu.power);
  CHECK_FALSE(gpu.gpu_busy);
  CHECK_FALSE(gpu.mig);
  CHECK_FALSE(gpu.persistence);
}

TEST_CASE("a GPU that is lost is reported; one that is closed to this process is not") {
  for (const auto& [code, fault] :
       {std::pair{"15", GpuFault::lost}, {"16", GpuFault::reset_required}, {"999", GpuFault::unreachable}}) {
    const Environment lost("FAKE_NVML_HANDLE", code);
    const auto states = open_gpu_monitor()->look();
    REQUIRE(states.size() == 2);
    CHECK_FALSE(states.front().fault);
    CHECK(states.back().fault == fault);
    CHECK(states.back().index == 1);
    CHECK(states.back().pci_address.empty());
  }
  const Environment closed("FAKE_NVML_HANDLE", "4");
  CHECK(open_gpu_monitor()->look().size() == 1);
}

TEST_CASE("a GPU that is lost while it is watched still says its name, and that it is lost") {
  const auto monitor = open_gpu_monitor();
  CHECK_FALSE(monitor->look_at("0000:17:00.0")->fault);
  const Environment lost("FAKE_NVML_SENSOR", "15");
  const auto state = monitor->look_at("0000:17:00.0");
  CHECK(state->fault == GpuFault::lost);
  CHECK(state->name == "Made-up GPU");
}

TEST_CASE("a GPU on NVLink-C2C reports the rate of all its links, whatever its PCIe link is") {
  CHECK_FALSE(open_gpu_monitor()->look().front().c2c_rate);
  const Environment links("FAKE_NVML_C2C", "10");
  const GpuState gpu = open_gpu_monitor()->look().front();
  CHECK(gpu.c2c_rate == 447.12e9);
  CHECK(gpu.pcie_lanes == 1);
}

TEST_CASE("a GPU is asked for by its address") {
  const auto monitor = open_gpu_monitor();
  CHECK(monitor->look_at("0000:17:00.0")->index == 0);
  CHECK_FALSE(monitor->look_at("0000:18:00.0"));
}

TEST_CASE("traffic of the link is reported in bytes a second if the GPU counts it") {
  const auto monitor = open_gpu_monitor();
  CHECK(monitor->pcie_intake("0000:17:00.0") == 12e9);
  CHECK_FALSE(monitor->pcie_intake("0000:18:00.0"));
}

TEST_CASE("a driver that is not loaded is said in one line") {
  ::setenv("FAKE_NVML_INIT", "9", 1);
  const auto failure = failure_of([] { open_gpu_monitor(); });
  CHECK(look_at_gpus().missing == failure.text);
  ::unsetenv("FAKE_NVML_INIT");
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.text == "the NVIDIA driver does not answer: nvmlInit failed: 9: Driver Not Loaded");
}

TEST_CASE("a driver without GPUs is no failure") {
  ::setenv("FAKE_NVML_GPUS", "0", 1);
  const GpuSight sight = look_at_gpus();
  ::unsetenv("FAKE_NVML_GPUS");
  CHECK_FALSE(sight.missing);
  CHECK(sight.gpus.empty());
}
