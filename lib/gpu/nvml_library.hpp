#pragma once

#include <cstddef>

#include <unistd.h>

#include "gpu/shared_library.hpp"

namespace shardkit::gpu {

// What shardkit uses of NVML. Declared here, so that no header of NVIDIA is needed to build: the interface is stable.
// Enums of nvml.h are int. tests/gpu/nvml_header_test.cpp compares all of it with nvml.h.

inline constexpr int kNvmlSuccess = 0, kNvmlGpuSensor = 0, kNvmlReceived = 1, kNvmlClockSm = 1, kNvmlClockMemory = 2;
inline constexpr int kNvmlNoPermission = 4, kNvmlGpuIsLost = 15, kNvmlResetRequired = 16;
inline constexpr int kNvmlUnknownState = 32;  ///< nvmlPstates_t

inline constexpr unsigned kNvmlC2cLinks = 170, kNvmlC2cRate = 172;  ///< NVML_FI_DEV_C2C_...: number, MB/s of a link

using NvmlDevice = struct nvmlDevice_st*;

struct NvmlPci {
  char legacy_address[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char address[32];
};

struct NvmlMemory {
  unsigned long long total, free, used;
};

struct NvmlUtilization {
  unsigned gpu, memory;  ///< percent
};

struct NvmlField {
  unsigned field, scope;
  long long timestamp, latency;
  int type, result;
  union {
    double real;
    unsigned word;
    unsigned long long number;
  };
};
inline constexpr int kNvmlUnsigned = 1;  ///< nvmlValueType_t: `word` is set; for 2 and 3 `number`
inline constexpr int kNvmlUnsignedLongLong = 3;

/// The functions of libnvidia-ml that shardkit uses. The essential ones are always set; others, which older drivers
/// lack, may be null. The constructor throws Error{unsupported} if the library is missing or too old.
struct NvmlLibrary {
  using Number = int(NvmlDevice, unsigned*);
  using Clock = int(NvmlDevice, int type, unsigned*);
  using Utilization = int(NvmlDevice, unsigned* percent, unsigned* microseconds);
  using Reasons = int(NvmlDevice, unsigned long long*);

  /// A container with a GPU's device files may still lack this library of the driver.
  SharedLibrary library{"NVIDIA driver",
                        {"libnvidia-ml.so.1"},
                        ::access("/dev/nvidiactl", F_OK) == 0
                            ? "; a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility,video for it"
                            : ""};
  int (*init)() = library.need("nvmlInit_v2");
  int (*shutdown)() = library.need("nvmlShutdown");
  const char* (*error_string)(int) = library.need("nvmlErrorString");
  int (*driver_version)(char*, unsigned) = library.need("nvmlSystemGetDriverVersion");
  int (*count)(unsigned*) = library.need("nvmlDeviceGetCount_v2");
  int (*by_index)(unsigned, NvmlDevice*) = library.need("nvmlDeviceGetHandleByIndex_v2");
  int (*by_address)(const char*, NvmlDevice*) = library.need("nvmlDeviceGetHandleByPciBusId_v2");
  int (*name)(NvmlDevice, char*, unsigned) = library.need("nvmlDeviceGetName");
  int (*pci)(NvmlDevice, NvmlPci*) = library.need("nvmlDeviceGetPciInfo_v3");
  Number* index = library.need("nvmlDeviceGetIndex");

  int (*memory)(NvmlDevice, NvmlMemory*) = library.want("nvmlDeviceGetMemoryInfo");
  int (*memory_affinity)(NvmlDevice, unsigned words, unsigned long* nodes,
                         unsigned scope) = library.want("nvmlDeviceGetMemoryAffinity");
  Number* pcie_generation = library.want("nvmlDeviceGetCurrPcieLinkGeneration");
  Number* pcie_lanes = library.want("nvmlDeviceGetCurrPcieLinkWidth");
  Number* max_pcie_generation = library.want("nvmlDeviceGetMaxPcieLinkGeneration");
  Number* max_pcie_lanes = library.want("nvmlDeviceGetMaxPcieLinkWidth");
  Number* gpu_pcie_generation = library.want("nvmlDeviceGetGpuMaxPcieLinkGeneration");
  Clock* pcie_throughput = library.want("nvmlDeviceGetPcieThroughput");  ///< type: the counter; kilobytes
  Clock* clock = library.want("nvmlDeviceGetClockInfo");
  Clock* max_clock = library.want("nvmlDeviceGetMaxClockInfo");
  Reasons* clock_limits = library.want("nvmlDeviceGetCurrentClocksEventReasons");
  Reasons* throttle_reasons = library.want("nvmlDeviceGetCurrentClocksThrottleReasons");  ///< its name before 535
  int (*performance_state)(NvmlDevice, int*) = library.want("nvmlDeviceGetPerformanceState");
  Clock* temperature = library.want("nvmlDeviceGetTemperature");  ///< type: the sensor
  Number* power = library.want("nvmlDeviceGetPowerUsage");
  Number* power_limit = library.want("nvmlDeviceGetEnforcedPowerLimit");
  Number* default_power_limit = library.want("nvmlDeviceGetPowerManagementDefaultLimit");
  int (*busy)(NvmlDevice, NvmlUtilization*) = library.want("nvmlDeviceGetUtilizationRates");
  Utilization* decoder_busy = library.want("nvmlDeviceGetDecoderUtilization");
  Utilization* jpeg_busy = library.want("nvmlDeviceGetJpgUtilization");
  Utilization* mig = library.want("nvmlDeviceGetMigMode");  ///< now, after a reset
  int (*fields)(NvmlDevice, int count, NvmlField*) = library.want("nvmlDeviceGetFieldValues");
  int (*persistence)(NvmlDevice, int*) = library.want("nvmlDeviceGetPersistenceMode");
};

}  // namespace shardkit::gpu
