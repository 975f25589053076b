#pragma once

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gpu/gpu_monitor.hpp"

namespace shardkit_test {

/// GPUs whose states a test writes down. With `later` each look at a GPU by its address takes the next of them, as if
/// time went by; the last stays.
class FakeGpuMonitor final : public shardkit::gpu::GpuMonitor {
 public:
  explicit FakeGpuMonitor(std::vector<shardkit::gpu::GpuState> states, std::vector<shardkit::gpu::GpuState> later = {})
      : states_(std::move(states)), later_(later.begin(), later.end()) {}

  const std::string& driver_version() const override { return version_; }
  std::vector<shardkit::gpu::GpuState> look() const override {
    const std::scoped_lock lock(mutex_);
    return states_;
  }
  std::optional<shardkit::gpu::GpuState> look_at(const std::string& pci_address) const override {
    const std::scoped_lock lock(mutex_);
    if (!later_.empty()) {
      states_.front() = later_.front();
      later_.pop_front();
    }
    const auto found = std::ranges::find(states_, pci_address, &shardkit::gpu::GpuState::pci_address);
    return found == states_.end() ? std::nullopt : std::optional(*found);
  }
  std::optional<double> pcie_intake(const std::string&) const override { return intake_; }

  /// What every GPU takes in over its link; nothing says so unless this does.
  FakeGpuMonitor& with_intake(double bytes_per_second) {
    intake_ = bytes_per_second;
    return *this;
  }

 private:
  std::optional<double> intake_;
  const std::string version_ = "999.10";
  mutable std::mutex mutex_;
  mutable std::vector<shardkit::gpu::GpuState> states_;
  mutable std::deque<shardkit::gpu::GpuState> later_;
};

/// A GPU with a link of generation 5 and 16 lanes that is well.
inline shardkit::gpu::GpuState healthy_gpu(const std::string& pci_address = "0000:17:00.0") {
  shardkit::gpu::GpuState state;
  state.name = "Made-up GPU";
  state.pci_address = pci_address;
  state.memory = std::uint64_t{80} << 30U;
  state.pcie_generation = state.max_pcie_generation = state.gpu_pcie_generation = 5;
  state.pcie_lanes = state.max_pcie_lanes = 16;
  state.sm_clock = 1'755'000'000;
  state.max_sm_clock = 1'980'000'000;
  state.performance_state = 0;
  state.temperature = 41;
  state.power = 120;
  state.power_limit = state.default_power_limit = 700;
  state.gpu_busy = 0;
  state.mig = "off";
  state.persistence = "on";
  return state;
}

}  // namespace shardkit_test
