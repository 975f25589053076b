#include "gpu/nvml_library.hpp"

namespace shardkit {
namespace {

template <class Function>
void need(const SharedLibrary& library, const char* symbol, Function*& function) {
  function = library.function<Function>(symbol);
}

template <class Function>
void want(const SharedLibrary& library, const char* symbol, Function*& function) {
  function = library.find_function<Function>(symbol);
}

}  // namespace

NvmlLibrary::NvmlLibrary() : library("NVIDIA driver", {"libnvidia-ml.so.1"}) {
  need(library, "nvmlInit_v2", init);
  need(library, "nvmlShutdown", shutdown);
  need(library, "nvmlErrorString", error_string);
  need(library, "nvmlSystemGetDriverVersion", driver_version);
  need(library, "nvmlDeviceGetCount_v2", count);
  need(library, "nvmlDeviceGetHandleByIndex_v2", by_index);
  need(library, "nvmlDeviceGetHandleByPciBusId_v2", by_address);
  need(library, "nvmlDeviceGetName", name);
  need(library, "nvmlDeviceGetPciInfo_v3", pci);
  need(library, "nvmlDeviceGetIndex", index);

  want(library, "nvmlDeviceGetMemoryInfo", memory);
  want(library, "nvmlDeviceGetMemoryAffinity", memory_affinity);
  want(library, "nvmlDeviceGetCurrPcieLinkGeneration", pcie_generation);
  want(library, "nvmlDeviceGetCurrPcieLinkWidth", pcie_lanes);
  want(library, "nvmlDeviceGetMaxPcieLinkGeneration", max_pcie_generation);
  want(library, "nvmlDeviceGetMaxPcieLinkWidth", max_pcie_lanes);
  want(library, "nvmlDeviceGetGpuMaxPcieLinkGeneration", gpu_pcie_generation);
  want(library, "nvmlDeviceGetPcieThroughput", pcie_throughput);
  want(library, "nvmlDeviceGetClockInfo", clock);
  want(library, "nvmlDeviceGetMaxClockInfo", max_clock);
  want(library, "nvmlDeviceGetCurrentClocksEventReasons", clock_limits);
  if (!clock_limits) want(library, "nvmlDeviceGetCurrentClocksThrottleReasons", clock_limits);  // its name before 535
  want(library, "nvmlDeviceGetPerformanceState", performance_state);
  want(library, "nvmlDeviceGetTemperature", temperature);
  want(library, "nvmlDeviceGetPowerUsage", power);
  want(library, "nvmlDeviceGetEnforcedPowerLimit", power_limit);
  want(library, "nvmlDeviceGetPowerManagementDefaultLimit", default_power_limit);
  want(library, "nvmlDeviceGetUtilizationRates", busy);
  want(library, "nvmlDeviceGetDecoderUtilization", decoder_busy);
  want(library, "nvmlDeviceGetJpgUtilization", jpeg_busy);
  want(library, "nvmlDeviceGetMigMode", mig);
  want(library, "nvmlDeviceGetPersistenceMode", persistence);
}

}  // namespace shardkit
