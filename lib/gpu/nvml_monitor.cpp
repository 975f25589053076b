#include <array>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "core/error.hpp"
#include "gpu/gpu_monitor.hpp"
#include "gpu/nvml_library.hpp"

namespace shardkit::gpu {
namespace {

/// The value of a call with these arguments; empty if the library, the driver or the GPU does not know it.
template <class Value>
std::optional<Value> got(auto* call, auto... arguments) {
  Value value{};
  if (!call || call(arguments..., &value) != kNvmlSuccess) return std::nullopt;
  return value;
}

/// The same for values that are never 0: some drivers report 0 for unknown.
std::optional<std::uint64_t> positive(NvmlLibrary::Number* call, NvmlDevice gpu) {
  const auto value = got<unsigned>(call, gpu);
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<double> watts(NvmlLibrary::Number* call, NvmlDevice gpu) {
  const auto milliwatts = got<unsigned>(call, gpu);
  if (!milliwatts) return std::nullopt;
  return static_cast<double>(*milliwatts) / 1000;
}

std::optional<std::uint64_t> hertz(NvmlLibrary::Clock* call, NvmlDevice gpu, int type) {
  const auto megahertz = got<unsigned>(call, gpu, type);
  if (!megahertz) return std::nullopt;
  return std::uint64_t{*megahertz} * 1'000'000;
}

std::optional<double> busy(NvmlLibrary::Utilization* call, NvmlDevice gpu) {
  unsigned percent = 0;
  unsigned period = 0;
  if (!call || call(gpu, &percent, &period) != kNvmlSuccess) return std::nullopt;
  return percent / 100.0;
}

std::string on_or_off(bool on) { return on ? "on" : "off"; }

class NvmlMonitor final : public GpuMonitor {
 public:
  NvmlMonitor() {
    const int result = nvml_.init();
    if (result != kNvmlSuccess) {
      throw Error(ErrorCode::unsupported, fmt::format("the NVIDIA driver does not answer: nvmlInit failed: {}: {}",
                                                      result, nvml_.error_string(result)));
    }
    std::array<char, 80> version{};
    if (nvml_.driver_version(version.data(), version.size()) == kNvmlSuccess) driver_version_ = version.data();
  }
  ~NvmlMonitor() override { nvml_.shutdown(); }
  NvmlMonitor(const NvmlMonitor&) = delete;
  NvmlMonitor& operator=(const NvmlMonitor&) = delete;

  const std::string& driver_version() const override { return driver_version_; }

  std::vector<GpuState> look() const override {
    unsigned count = 0;
    if (nvml_.count(&count) != kNvmlSuccess) count = 0;
    std::vector<GpuState> states;
    for (unsigned index = 0; index < count; ++index) {
      NvmlDevice gpu = nullptr;
      const int result = nvml_.by_index(index, &gpu);
      if (result == kNvmlNoPermission) continue;  // some may be closed to this process
      states.push_back(result == kNvmlSuccess ? state_of(gpu) : lost_gpu(index, result));
    }
    return states;
  }

  std::optional<GpuState> look_at(const std::string& pci_address) const override {
    NvmlDevice gpu = nullptr;
    if (nvml_.by_address(pci_address.c_str(), &gpu) != kNvmlSuccess) return std::nullopt;
    return state_of(gpu);
  }

  std::optional<double> pcie_intake(const std::string& pci_address) const override {
    NvmlDevice gpu = nullptr;
    if (nvml_.by_address(pci_address.c_str(), &gpu) != kNvmlSuccess) return std::nullopt;
    const auto kilobytes = got<unsigned>(nvml_.pcie_throughput, gpu, kNvmlReceived);
    if (!kilobytes) return std::nullopt;
    return *kilobytes * 1000.0;
  }

 private:
  static GpuFault fault_of(int result) {
    if (result == kNvmlGpuIsLost) return GpuFault::lost;
    return result == kNvmlResetRequired ? GpuFault::reset_required : GpuFault::unreachable;
  }

  static GpuState lost_gpu(unsigned index, int result) {
    GpuState state;
    state.index = index;
    state.fault = fault_of(result);
    return state;
  }

  GpuState state_of(NvmlDevice gpu) const {
    GpuState state;
    // A GPU that is lost after it was opened answers what the driver remembers, so it is asked for what only it knows.
    unsigned temperature = 0;
    const int answer = nvml_.temperature ? nvml_.temperature(gpu, kNvmlGpuSensor, &temperature) : kNvmlSuccess;
    if (answer == kNvmlGpuIsLost || answer == kNvmlResetRequired) state.fault = fault_of(answer);
    name(gpu, state);
    link(gpu, state);
    clocks(gpu, state);
    load(gpu, state);
    modes(gpu, state);
    return state;
  }

  void name(NvmlDevice gpu, GpuState& state) const {
    unsigned index = 0;
    if (nvml_.index(gpu, &index) == kNvmlSuccess) state.index = index;
    std::array<char, 96> model{};
    if (nvml_.name(gpu, model.data(), model.size()) == kNvmlSuccess) state.name = model.data();
    NvmlPci pci{};
    if (nvml_.pci(gpu, &pci) == kNvmlSuccess) {
      state.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
    }
    state.numa_node = numa_node(gpu);
  }

  /// Of the host. nvmlDeviceGetNumaNodeId is about GPUs whose memory is a NUMA node itself.
  std::optional<std::uint64_t> numa_node(NvmlDevice gpu) const {
    constexpr unsigned kScopeNode = 0;  // NVML_AFFINITY_SCOPE_NODE
    constexpr std::size_t kBits = sizeof(unsigned long) * 8;
    std::array<unsigned long, 16> nodes{};
    if (!nvml_.memory_affinity || nvml_.memory_affinity(gpu, nodes.size(), nodes.data(), kScopeNode) != kNvmlSuccess) {
      return std::nullopt;
    }
    std::optional<std::uint64_t> nearest;
    for (std::size_t word = 0; word < nodes.size(); ++word) {
      if (nodes[word] == 0) continue;
      if (nearest || !std::has_single_bit(nodes[word])) return std::nullopt;  // all of them: it does not know
      nearest = word * kBits + static_cast<std::size_t>(std::countr_zero(nodes[word]));
    }
    return nearest;
  }

  void link(NvmlDevice gpu, GpuState& state) const {
    state.pcie_generation = positive(nvml_.pcie_generation, gpu);
    state.pcie_lanes = positive(nvml_.pcie_lanes, gpu);
    state.max_pcie_generation = positive(nvml_.max_pcie_generation, gpu);
    state.max_pcie_lanes = positive(nvml_.max_pcie_lanes, gpu);
    state.gpu_pcie_generation = positive(nvml_.gpu_pcie_generation, gpu);
    const auto links = field(gpu, kNvmlC2cLinks);
    const auto megabytes = field(gpu, kNvmlC2cRate);
    if (links && megabytes && *links * *megabytes > 0) state.c2c_rate = static_cast<double>(*links * *megabytes) * 1e6;
  }

  /// A whole number from 0 up; empty if this GPU or its driver has no such field.
  std::optional<std::uint64_t> field(NvmlDevice gpu, unsigned number) const {
    NvmlField value{};
    value.field = number;
    if (!nvml_.fields || nvml_.fields(gpu, 1, &value) != kNvmlSuccess || value.result != kNvmlSuccess) return {};
    if (value.type == kNvmlUnsigned) return value.word;
    return value.type > kNvmlUnsigned && value.type <= kNvmlUnsignedLongLong ? std::optional(value.number)
                                                                             : std::nullopt;
  }

  void clocks(NvmlDevice gpu, GpuState& state) const {
    state.sm_clock = hertz(nvml_.clock, gpu, kNvmlClockSm);
    state.max_sm_clock = hertz(nvml_.max_clock, gpu, kNvmlClockSm);
    state.memory_clock = hertz(nvml_.clock, gpu, kNvmlClockMemory);
    state.max_memory_clock = hertz(nvml_.max_clock, gpu, kNvmlClockMemory);
    const auto limits = nvml_.clock_limits ? nvml_.clock_limits : nvml_.throttle_reasons;
    if (const auto reasons = got<unsigned long long>(limits, gpu)) state.clock_limits = *reasons;
    const auto performance = got<int>(nvml_.performance_state, gpu);
    if (performance && *performance != kNvmlUnknownState) {
      state.performance_state = static_cast<std::uint64_t>(*performance);
    }
  }

  void load(NvmlDevice gpu, GpuState& state) const {
    if (const auto memory = got<NvmlMemory>(nvml_.memory, gpu)) {
      state.memory = memory->total;
      state.memory_used = memory->used;
    }
    state.temperature = got<unsigned>(nvml_.temperature, gpu, kNvmlGpuSensor);
    state.power = watts(nvml_.power, gpu);
    state.power_limit = watts(nvml_.power_limit, gpu);
    state.default_power_limit = watts(nvml_.default_power_limit, gpu);
    if (const auto percent = got<NvmlUtilization>(nvml_.busy, gpu)) {
      state.gpu_busy = percent->gpu / 100.0;
      state.memory_busy = percent->memory / 100.0;
    }
    state.decoder_busy = busy(nvml_.decoder_busy, gpu);
    state.jpeg_busy = busy(nvml_.jpeg_busy, gpu);
  }

  void modes(NvmlDevice gpu, GpuState& state) const {
    unsigned now = 0;
    unsigned next = 0;
    if (nvml_.mig && nvml_.mig(gpu, &now, &next) == kNvmlSuccess) state.mig = on_or_off(now != 0);
    if (const auto kept = got<int>(nvml_.persistence, gpu)) state.persistence = on_or_off(*kept != 0);
  }

  const NvmlLibrary nvml_;
  std::string driver_version_;
};

}  // namespace

std::unique_ptr<GpuMonitor> open_gpu_monitor() { return std::make_unique<NvmlMonitor>(); }

}  // namespace shardkit::gpu
