// A libnvidia-ml.so.1 for tests: two GPUs, of which the second tells only what every GPU tells. FAKE_NVML_INIT=9 is the
// error that nvmlInit gives, FAKE_NVML_GPUS=0 a machine without GPUs. FAKE_NVML_HANDLE=15 is what asking for the second
// GPU's handle gives, and FAKE_NVML_SENSOR=15 what reading a sensor gives: a GPU that was lost after it was opened
// still says what the driver remembers. FAKE_NVML_C2C=10 is a GPU with so many NVLink-C2C links, on a PCIe link of one
// lane.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "gpu/nvml_library.hpp"

using namespace shardkit::gpu;

namespace {

constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

unsigned from_environment(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

NvmlDevice handle(unsigned index) { return reinterpret_cast<NvmlDevice>(std::uintptr_t{index} + 1); }
unsigned index_of(NvmlDevice gpu) { return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(gpu) - 1); }

int write(char* to, unsigned length, const char* text) {
  if (std::strlen(text) >= length) return kInsufficientSize;
  std::strcpy(to, text);
  return kNvmlSuccess;
}

/// The first GPU's number; the second one refuses.
template <class T>
int store(NvmlDevice gpu, T* to, T value) {
  if (index_of(gpu) != 0) return kNotSupported;
  *to = value;
  return kNvmlSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return static_cast<int>(from_environment("FAKE_NVML_INIT", 0)); }
int nvmlShutdown() { return kNvmlSuccess; }
const char* nvmlErrorString(int) { return "Driver Not Loaded"; }
int nvmlSystemGetDriverVersion(char* to, unsigned length) { return write(to, length, "580.65.06"); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = from_environment("FAKE_NVML_GPUS", 2);
  return kNvmlSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* gpu) {
  if (index == 1 && from_environment("FAKE_NVML_HANDLE", 0) != 0) {
    return static_cast<int>(from_environment("FAKE_NVML_HANDLE", 0));  // *gpu stays what it was
  }
  *gpu = handle(index);
  return kNvmlSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, NvmlDevice* gpu) {
  if (std::strcmp(address, "0000:17:00.0") != 0) return kNotFound;
  *gpu = handle(0);
  return kNvmlSuccess;
}
int nvmlDeviceGetIndex(NvmlDevice gpu, unsigned* index) {
  *index = index_of(gpu);
  return kNvmlSuccess;
}
int nvmlDeviceGetName(NvmlDevice, char* to, unsigned length) { return write(to, length, "Made-up GPU"); }
int nvmlDeviceGetPciInfo_v3(NvmlDevice gpu, NvmlPci* pci) {
  std::memset(pci, 0, sizeof(*pci));
  pci->bus = index_of(gpu) == 0 ? 0x17 : 0xca;
  return kNvmlSuccess;
}

int nvmlDeviceGetMemoryInfo(NvmlDevice gpu, NvmlMemory* memory) {
  return store(gpu, memory, {80ULL << 30U, 79ULL << 30U, 1ULL << 30U});
}
int nvmlDeviceGetMemoryAffinity(NvmlDevice gpu, unsigned words, unsigned long* nodes, unsigned) {
  for (unsigned i = 0; i < words; ++i) nodes[i] = 0;
  nodes[0] = index_of(gpu) == 0 ? 0b10 : 0b11;  // a driver that does not know says all
  return kNvmlSuccess;
}
int nvmlDeviceGetCurrPcieLinkGeneration(NvmlDevice gpu, unsigned* to) { return store(gpu, to, 4U); }
int nvmlDeviceGetCurrPcieLinkWidth(NvmlDevice gpu, unsigned* to) {
  return store(gpu, to, from_environment("FAKE_NVML_C2C", 0) > 0 ? 1U : 8U);
}
int nvmlDeviceGetMaxPcieLinkGeneration(NvmlDevice gpu, unsigned* to) { return store(gpu, to, 4U); }
int nvmlDeviceGetMaxPcieLinkWidth(NvmlDevice gpu, unsigned* to) { return store(gpu, to, 16U); }
int nvmlDeviceGetGpuMaxPcieLinkGeneration(NvmlDevice gpu, unsigned* to) { return store(gpu, to, 5U); }
int nvmlDeviceGetPcieThroughput(NvmlDevice gpu, int counter, unsigned* to) {
  return store(gpu, to, counter == kNvmlReceived ? 12'000'000U : 1U);
}
int nvmlDeviceGetClockInfo(NvmlDevice gpu, int type, unsigned* to) {
  return store(gpu, to, type == kNvmlClockSm ? 1200U : 2619U);
}
int nvmlDeviceGetMaxClockInfo(NvmlDevice gpu, int type, unsigned* to) {
  return store(gpu, to, type == kNvmlClockSm ? 1980U : 2619U);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice gpu, unsigned long long* reasons) {
  return store(gpu, reasons, 0x24ULL);  // as drivers before 535 name the call: power cap, heat
}
int nvmlDeviceGetPerformanceState(NvmlDevice gpu, int* state) {
  *state = kNvmlUnknownState;
  return index_of(gpu) == 0 ? store(gpu, state, 2) : kNvmlSuccess;
}
int nvmlDeviceGetTemperature(NvmlDevice gpu, int, unsigned* to) {
  const unsigned failure = from_environment("FAKE_NVML_SENSOR", 0);
  return failure != 0 ? static_cast<int>(failure) : store(gpu, to, 88U);
}
int nvmlDeviceGetPowerUsage(NvmlDevice gpu, unsigned* to) { return store(gpu, to, 350'500U); }
int nvmlDeviceGetEnforcedPowerLimit(NvmlDevice gpu, unsigned* to) { return store(gpu, to, 400'000U); }
int nvmlDeviceGetPowerManagementDefaultLimit(NvmlDevice gpu, unsigned* to) { return store(gpu, to, 700'000U); }
int nvmlDeviceGetUtilizationRates(NvmlDevice gpu, NvmlUtilization* to) { return store(gpu, to, {97, 40}); }
int nvmlDeviceGetDecoderUtilization(NvmlDevice gpu, unsigned* to, unsigned*) { return store(gpu, to, 5U); }
int nvmlDeviceGetJpgUtilization(NvmlDevice gpu, unsigned* to, unsigned*) { return store(gpu, to, 0U); }
int nvmlDeviceGetMigMode(NvmlDevice gpu, unsigned* now, unsigned* next) {
  *next = 0;
  return store(gpu, now, 1U);
}
int nvmlDeviceGetFieldValues(NvmlDevice, int count, NvmlField* fields) {
  const unsigned links = from_environment("FAKE_NVML_C2C", 0);
  for (NvmlField& field : std::span(fields, static_cast<std::size_t>(count))) {
    const bool known = field.field == kNvmlC2cLinks || field.field == kNvmlC2cRate;
    field.result = known && links > 0 ? kNvmlSuccess : kNotSupported;
    field.number = ~0ULL;  // undefined unless it succeeds, and the half that its type does not have
    if (field.result != kNvmlSuccess) continue;
    field.type = kNvmlUnsigned;
    field.word = field.field == kNvmlC2cLinks ? links : 44'712U;
  }
  return kNvmlSuccess;
}
int nvmlDeviceGetPersistenceMode(NvmlDevice gpu, int* to) { return store(gpu, to, 0); }

}  // extern "C"
