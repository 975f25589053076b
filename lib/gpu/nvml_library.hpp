#pragma once

#include <string>

#include <nvml.h>

#include "gpu/shared_library.hpp"

namespace shardkit {

/// The functions of libnvidia-ml that shardkit uses. Those without which nothing can be told are always there; others,
/// which older drivers lack, may be null. Their types are written out where older or newer headers lack them or call
/// them deprecated.
struct NvmlLibrary {
  using Number = nvmlReturn_t(nvmlDevice_t, unsigned*);
  using Clock = nvmlReturn_t(nvmlDevice_t, nvmlClockType_t, unsigned*);
  using Utilisation = nvmlReturn_t(nvmlDevice_t, unsigned* percent, unsigned* microseconds);
  using Reasons = nvmlReturn_t(nvmlDevice_t, unsigned long long*);

  /// Loads it. Throws Error{unsupported} where it is missing or too old.
  NvmlLibrary();

  SharedLibrary library;
  decltype(nvmlInit_v2)* init;
  decltype(nvmlShutdown)* shutdown;
  decltype(nvmlErrorString)* error_string;
  decltype(nvmlSystemGetDriverVersion)* driver_version;
  decltype(nvmlDeviceGetCount_v2)* count;
  decltype(nvmlDeviceGetHandleByIndex_v2)* by_index;
  nvmlReturn_t (*by_address)(const char*, nvmlDevice_t*);
  decltype(nvmlDeviceGetName)* name;
  decltype(nvmlDeviceGetPciInfo_v3)* pci;
  decltype(nvmlDeviceGetIndex)* index;

  decltype(nvmlDeviceGetMemoryInfo)* memory;
  nvmlReturn_t (*memory_affinity)(nvmlDevice_t, unsigned words, unsigned long* nodes, unsigned scope);
  Number* pcie_generation;
  Number* pcie_lanes;
  Number* max_pcie_generation;
  Number* max_pcie_lanes;
  Number* gpu_pcie_generation;
  nvmlReturn_t (*pcie_throughput)(nvmlDevice_t, nvmlPcieUtilCounter_t, unsigned* kilobytes);
  Clock* clock;
  Clock* max_clock;
  Reasons* clock_limits;
  decltype(nvmlDeviceGetPerformanceState)* performance_state;
  nvmlReturn_t (*temperature)(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned*);
  Number* power;
  Number* power_limit;
  Number* default_power_limit;
  decltype(nvmlDeviceGetUtilizationRates)* busy;
  Utilisation* decoder_busy;
  Utilisation* jpeg_busy;
  nvmlReturn_t (*mig)(nvmlDevice_t, unsigned* now, unsigned* next);
  decltype(nvmlDeviceGetPersistenceMode)* persistence;
};

}  // namespace shardkit
