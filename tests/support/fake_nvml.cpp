// A libnvidia-ml.so.1 for tests: two GPUs, of which the second tells only what every GPU tells. FAKE_NVML_INIT=9 is the
// error that nvmlInit gives, FAKE_NVML_GPUS=0 a machine without GPUs.

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <nvml.h>

namespace {

unsigned from_environment(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

nvmlDevice_t handle(unsigned index) { return reinterpret_cast<nvmlDevice_t>(std::uintptr_t{index} + 1); }
unsigned index_of(nvmlDevice_t gpu) { return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(gpu) - 1); }

nvmlReturn_t write(char* to, unsigned length, const char* text) {
  if (std::strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::strcpy(to, text);
  return NVML_SUCCESS;
}

/// The first GPU's number; the second one refuses.
template <class T>
nvmlReturn_t store(nvmlDevice_t gpu, T* to, T value) {
  if (index_of(gpu) != 0) return NVML_ERROR_NOT_SUPPORTED;
  *to = value;
  return NVML_SUCCESS;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() { return static_cast<nvmlReturn_t>(from_environment("FAKE_NVML_INIT", NVML_SUCCESS)); }
nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }
const char* nvmlErrorString(nvmlReturn_t) { return "Driver Not Loaded"; }
nvmlReturn_t nvmlSystemGetDriverVersion(char* to, unsigned length) { return write(to, length, "580.65.06"); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = from_environment("FAKE_NVML_GPUS", 2);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* gpu) {
  *gpu = handle(index);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* address, nvmlDevice_t* gpu) {
  if (std::strcmp(address, "0000:17:00.0") != 0) return NVML_ERROR_NOT_FOUND;
  *gpu = handle(0);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t gpu, unsigned* index) {
  *index = index_of(gpu);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char* to, unsigned length) { return write(to, length, "Made-up GPU"); }
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t gpu, nvmlPciInfo_t* pci) {
  std::memset(pci, 0, sizeof(*pci));
  pci->bus = index_of(gpu) == 0 ? 0x17 : 0xca;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t gpu, nvmlMemory_t* memory) {
  return store(gpu, memory, {80ULL << 30U, 79ULL << 30U, 1ULL << 30U});
}
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t gpu, unsigned words, unsigned long* nodes, nvmlAffinityScope_t) {
  for (unsigned i = 0; i < words; ++i) nodes[i] = 0;
  nodes[0] = index_of(gpu) == 0 ? 0b10 : 0b11;  // a driver that does not know says all
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t gpu, unsigned* to) { return store(gpu, to, 4U); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t gpu, unsigned* to) { return store(gpu, to, 8U); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t gpu, unsigned* to) { return store(gpu, to, 4U); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t gpu, unsigned* to) { return store(gpu, to, 16U); }
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t gpu, unsigned* to) { return store(gpu, to, 5U); }
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t gpu, nvmlPcieUtilCounter_t counter, unsigned* to) {
  return store(gpu, to, counter == NVML_PCIE_UTIL_RX_BYTES ? 12'000'000U : 1U);
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t gpu, nvmlClockType_t type, unsigned* to) {
  return store(gpu, to, type == NVML_CLOCK_SM ? 1200U : 2619U);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t gpu, nvmlClockType_t type, unsigned* to) {
  return store(gpu, to, type == NVML_CLOCK_SM ? 1980U : 2619U);
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t gpu, unsigned long long* reasons) {
  return store(gpu, reasons, 0x24ULL);  // as drivers before 535 name the call: power cap, heat
}
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t gpu, nvmlPstates_t* state) {
  *state = NVML_PSTATE_UNKNOWN;
  return index_of(gpu) == 0 ? store(gpu, state, NVML_PSTATE_2) : NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t gpu, nvmlTemperatureSensors_t, unsigned* to) {
  return store(gpu, to, 88U);
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t gpu, unsigned* to) { return store(gpu, to, 350'500U); }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t gpu, unsigned* to) { return store(gpu, to, 400'000U); }
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t gpu, unsigned* to) {
  return store(gpu, to, 700'000U);
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t gpu, nvmlUtilization_t* to) { return store(gpu, to, {97, 40}); }
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t gpu, unsigned* to, unsigned*) { return store(gpu, to, 5U); }
nvmlReturn_t nvmlDeviceGetJpgUtilization(nvmlDevice_t gpu, unsigned* to, unsigned*) { return store(gpu, to, 0U); }
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t gpu, unsigned* now, unsigned* next) {
  *next = 0;
  return store(gpu, now, 1U);
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t gpu, nvmlEnableState_t* to) {
  return store(gpu, to, NVML_FEATURE_DISABLED);
}

}  // extern "C"
