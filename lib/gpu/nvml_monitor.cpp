#include <array>
#include <bit>
#include <string>

#include <fmt/format.h>
#include <nvml.h>

#include "core/error.hpp"
#include "gpu/gpu_monitor.hpp"
#include "gpu/shared_library.hpp"

namespace shardkit::gpu {
namespace {

/// The functions of libnvidia-ml that shardkit uses. The essential ones are always set; others, which older drivers
/// lack, may be null. Types are written out that older or newer headers lack or call deprecated. The constructor throws
/// Error{unsupported} if the library is missing or too old.
struct NvmlLibrary {
  using Number = nvmlReturn_t(nvmlDevice_t, unsigned*);
  using Clock = nvmlReturn_t(nvmlDevice_t, nvmlClockType_t, unsigned*);
  using Utilization = nvmlReturn_t(nvmlDevice_t, unsigned* percent, unsigned* microseconds);
  using Reasons = nvmlReturn_t(nvmlDevice_t, unsigned long long*);

  SharedLibrary library{"NVIDIA driver", {"libnvidia-ml.so.1"}};
  decltype(nvmlInit_v2)* init = library.need("nvmlInit_v2");
  decltype(nvmlShutdown)* shutdown = library.need("nvmlShutdown");
  decltype(nvmlErrorString)* error_string = library.need("nvmlErrorString");
  decltype(nvmlSystemGetDriverVersion)* driver_version = library.need("nvmlSystemGetDriverVersion");
  decltype(nvmlDeviceGetCount_v2)* count = library.need("nvmlDeviceGetCount_v2");
  decltype(nvmlDeviceGetHandleByIndex_v2)* by_index = library.need("nvmlDeviceGetHandleByIndex_v2");
  nvmlReturn_t (*by_address)(const char*, nvmlDevice_t*) = library.need("nvmlDeviceGetHandleByPciBusId_v2");
  decltype(nvmlDeviceGetName)* name = library.need("nvmlDeviceGetName");
  decltype(nvmlDeviceGetPciInfo_v3)* pci = library.need("nvmlDeviceGetPciInfo_v3");
  decltype(nvmlDeviceGetIndex)* index = library.need("nvmlDeviceGetIndex");

  decltype(nvmlDeviceGetMemoryInfo)* memory = library.want("nvmlDeviceGetMemoryInfo");
  nvmlReturn_t (*memory_affinity)(nvmlDevice_t, unsigned words, unsigned long* nodes,
                                  unsigned scope) = library.want("nvmlDeviceGetMemoryAffinity");
  Number* pcie_generation = library.want("nvmlDeviceGetCurrPcieLinkGeneration");
  Number* pcie_lanes = library.want("nvmlDeviceGetCurrPcieLinkWidth");
  Number* max_pcie_generation = library.want("nvmlDeviceGetMaxPcieLinkGeneration");
  Number* max_pcie_lanes = library.want("nvmlDeviceGetMaxPcieLinkWidth");
  Number* gpu_pcie_generation = library.want("nvmlDeviceGetGpuMaxPcieLinkGeneration");
  nvmlReturn_t (*pcie_throughput)(nvmlDevice_t, nvmlPcieUtilCounter_t,
                                  unsigned* kilobytes) = library.want("nvmlDeviceGetPcieThroughput");
  Clock* clock = library.want("nvmlDeviceGetClockInfo");
  Clock* max_clock = library.want("nvmlDeviceGetMaxClockInfo");
  Reasons* clock_limits = library.want("nvmlDeviceGetCurrentClocksEventReasons");
  Reasons* throttle_reasons = library.want("nvmlDeviceGetCurrentClocksThrottleReasons");  ///< its name before 535
  decltype(nvmlDeviceGetPerformanceState)* performance_state = library.want("nvmlDeviceGetPerformanceState");
  nvmlReturn_t (*temperature)(nvmlDevice_t, nvmlTemperatureSensors_t,
                              unsigned*) = library.want("nvmlDeviceGetTemperature");
  Number* power = library.want("nvmlDeviceGetPowerUsage");
  Number* power_limit = library.want("nvmlDeviceGetEnforcedPowerLimit");
  Number* default_power_limit = library.want("nvmlDeviceGetPowerManagementDefaultLimit");
  decltype(nvmlDeviceGetUtilizationRates)* busy = library.want("nvmlDeviceGetUtilizationRates");
  Utilization* decoder_busy = library.want("nvmlDeviceGetDecoderUtilization");
  Utilization* jpeg_busy = library.want("nvmlDeviceGetJpgUtilization");
  nvmlReturn_t (*mig)(nvmlDevice_t, unsigned* now, unsigned* next) = library.want("nvmlDeviceGetMigMode");
  decltype(nvmlDeviceGetPersistenceMode)* persistence = library.want("nvmlDeviceGetPersistenceMode");
};

constexpr std::uint64_t kMega = 1'000'000;

template <std::size_t N>
std::string text_of(const std::array<char, N>& text) {
  return std::string(text.data());
}

/// The value of a call; empty if the library, the driver or the GPU does not know it.
std::optional<std::uint64_t> number(NvmlLibrary::Number* call, nvmlDevice_t gpu) {
  unsigned value = 0;
  if (!call || call(gpu, &value) != NVML_SUCCESS) return std::nullopt;
  return value;
}

/// The same for values that are never 0: some drivers report 0 for unknown.
std::optional<std::uint64_t> positive(NvmlLibrary::Number* call, nvmlDevice_t gpu) {
  const auto value = number(call, gpu);
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<double> watts(NvmlLibrary::Number* call, nvmlDevice_t gpu) {
  const auto milliwatts = number(call, gpu);
  if (!milliwatts) return std::nullopt;
  return static_cast<double>(*milliwatts) / 1000;
}

std::optional<std::uint64_t> hertz(NvmlLibrary::Clock* call, nvmlDevice_t gpu, nvmlClockType_t type) {
  unsigned megahertz = 0;
  if (!call || call(gpu, type, &megahertz) != NVML_SUCCESS) return std::nullopt;
  return megahertz * kMega;
}

std::optional<double> busy(NvmlLibrary::Utilization* call, nvmlDevice_t gpu) {
  unsigned percent = 0;
  unsigned period = 0;
  if (!call || call(gpu, &percent, &period) != NVML_SUCCESS) return std::nullopt;
  return percent / 100.0;
}

std::string on_or_off(bool on) { return on ? "on" : "off"; }

class NvmlMonitor final : public GpuMonitor {
 public:
  NvmlMonitor() {
    const nvmlReturn_t result = nvml_.init();
    if (result != NVML_SUCCESS) {
      throw Error(ErrorCode::unsupported, fmt::format("the NVIDIA driver does not answer: nvmlInit failed: {}: {}",
                                                      static_cast<int>(result), nvml_.error_string(result)));
    }
    std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> version{};
    if (nvml_.driver_version(version.data(), version.size()) == NVML_SUCCESS) driver_version_ = text_of(version);
  }
  ~NvmlMonitor() override { nvml_.shutdown(); }
  NvmlMonitor(const NvmlMonitor&) = delete;
  NvmlMonitor& operator=(const NvmlMonitor&) = delete;

  const std::string& driver_version() const override { return driver_version_; }

  std::vector<GpuState> look() const override {
    unsigned count = 0;
    if (nvml_.count(&count) != NVML_SUCCESS) count = 0;
    std::vector<GpuState> states;
    for (unsigned index = 0; index < count; ++index) {
      nvmlDevice_t gpu = nullptr;  // some may be closed to this process
      if (nvml_.by_index(index, &gpu) == NVML_SUCCESS) states.push_back(state_of(gpu));
    }
    return states;
  }

  std::optional<GpuState> look_at(const std::string& pci_address) const override {
    nvmlDevice_t gpu = nullptr;
    if (nvml_.by_address(pci_address.c_str(), &gpu) != NVML_SUCCESS) return std::nullopt;
    return state_of(gpu);
  }

  std::optional<double> pcie_intake(const std::string& pci_address) const override {
    nvmlDevice_t gpu = nullptr;
    unsigned kilobytes = 0;
    if (!nvml_.pcie_throughput || nvml_.by_address(pci_address.c_str(), &gpu) != NVML_SUCCESS ||
        nvml_.pcie_throughput(gpu, NVML_PCIE_UTIL_RX_BYTES, &kilobytes) != NVML_SUCCESS) {
      return std::nullopt;
    }
    return kilobytes * 1000.0;
  }

 private:
  GpuState state_of(nvmlDevice_t gpu) const {
    GpuState state;
    name(gpu, state);
    link(gpu, state);
    clocks(gpu, state);
    load(gpu, state);
    modes(gpu, state);
    return state;
  }

  void name(nvmlDevice_t gpu, GpuState& state) const {
    unsigned index = 0;
    if (nvml_.index(gpu, &index) == NVML_SUCCESS) state.index = index;
    std::array<char, 96> model{};  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, which older headers lack
    if (nvml_.name(gpu, model.data(), model.size()) == NVML_SUCCESS) state.name = text_of(model);
    nvmlPciInfo_t pci{};
    if (nvml_.pci(gpu, &pci) == NVML_SUCCESS) {
      state.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
    }
    state.numa_node = numa_node(gpu);
  }

  /// Of the host. nvmlDeviceGetNumaNodeId is about GPUs whose memory is a NUMA node itself.
  std::optional<std::uint64_t> numa_node(nvmlDevice_t gpu) const {
    constexpr unsigned kScopeNode = 0;  // NVML_AFFINITY_SCOPE_NODE
    constexpr std::size_t kBits = sizeof(unsigned long) * 8;
    std::array<unsigned long, 16> nodes{};
    if (!nvml_.memory_affinity || nvml_.memory_affinity(gpu, nodes.size(), nodes.data(), kScopeNode) != NVML_SUCCESS) {
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

  void link(nvmlDevice_t gpu, GpuState& state) const {
    state.pcie_generation = positive(nvml_.pcie_generation, gpu);
    state.pcie_lanes = positive(nvml_.pcie_lanes, gpu);
    state.max_pcie_generation = positive(nvml_.max_pcie_generation, gpu);
    state.max_pcie_lanes = positive(nvml_.max_pcie_lanes, gpu);
    state.gpu_pcie_generation = positive(nvml_.gpu_pcie_generation, gpu);
  }

  void clocks(nvmlDevice_t gpu, GpuState& state) const {
    state.sm_clock = hertz(nvml_.clock, gpu, NVML_CLOCK_SM);
    state.max_sm_clock = hertz(nvml_.max_clock, gpu, NVML_CLOCK_SM);
    state.memory_clock = hertz(nvml_.clock, gpu, NVML_CLOCK_MEM);
    state.max_memory_clock = hertz(nvml_.max_clock, gpu, NVML_CLOCK_MEM);
    unsigned long long reasons = 0;
    const auto limits = nvml_.clock_limits ? nvml_.clock_limits : nvml_.throttle_reasons;
    if (limits && limits(gpu, &reasons) == NVML_SUCCESS) {
      state.clock_limits = clock_limit_names(reasons);
    }
    nvmlPstates_t performance = NVML_PSTATE_UNKNOWN;
    if (nvml_.performance_state && nvml_.performance_state(gpu, &performance) == NVML_SUCCESS &&
        performance != NVML_PSTATE_UNKNOWN) {
      state.performance_state = static_cast<std::uint64_t>(performance);
    }
  }

  void load(nvmlDevice_t gpu, GpuState& state) const {
    nvmlMemory_t memory{};
    if (nvml_.memory && nvml_.memory(gpu, &memory) == NVML_SUCCESS) {
      state.memory = memory.total;
      state.memory_used = memory.used;
    }
    unsigned celsius = 0;
    if (nvml_.temperature && nvml_.temperature(gpu, NVML_TEMPERATURE_GPU, &celsius) == NVML_SUCCESS) {
      state.temperature = celsius;
    }
    state.power = watts(nvml_.power, gpu);
    state.power_limit = watts(nvml_.power_limit, gpu);
    state.default_power_limit = watts(nvml_.default_power_limit, gpu);
    nvmlUtilization_t percent{};
    if (nvml_.busy && nvml_.busy(gpu, &percent) == NVML_SUCCESS) {
      state.gpu_busy = percent.gpu / 100.0;
      state.memory_busy = percent.memory / 100.0;
    }
    state.decoder_busy = busy(nvml_.decoder_busy, gpu);
    state.jpeg_busy = busy(nvml_.jpeg_busy, gpu);
  }

  void modes(nvmlDevice_t gpu, GpuState& state) const {
    unsigned now = 0;
    unsigned next = 0;
    if (nvml_.mig && nvml_.mig(gpu, &now, &next) == NVML_SUCCESS) state.mig = on_or_off(now != 0);
    nvmlEnableState_t kept = NVML_FEATURE_DISABLED;
    if (nvml_.persistence && nvml_.persistence(gpu, &kept) == NVML_SUCCESS) {
      state.persistence = on_or_off(kept == NVML_FEATURE_ENABLED);
    }
  }

  const NvmlLibrary nvml_;
  std::string driver_version_;
};

}  // namespace

std::unique_ptr<GpuMonitor> open_gpu_monitor() { return std::make_unique<NvmlMonitor>(); }

}  // namespace shardkit::gpu
