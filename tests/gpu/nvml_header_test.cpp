// Compares nvml_library.hpp with NVIDIA's header where that is installed. It only has to compile.

#include <cstddef>

#include <nvml.h>

#include "gpu/nvml_library.hpp"
#include "support/same_interface.hpp"

using namespace shardkit::gpu;
using shardkit_test::kSameCall;

#define CHECK_CALL(library, member, function) static_assert(kSameCall<decltype(library::member), decltype(&::function)>)

static_assert(kNvmlSuccess == NVML_SUCCESS);
static_assert(kNvmlNoPermission == NVML_ERROR_NO_PERMISSION);
static_assert(kNvmlGpuIsLost == NVML_ERROR_GPU_IS_LOST);
static_assert(kNvmlResetRequired == NVML_ERROR_RESET_REQUIRED);
static_assert(kNvmlReceived == NVML_PCIE_UTIL_RX_BYTES);
static_assert(kNvmlClockSm == NVML_CLOCK_SM);
static_assert(kNvmlClockMemory == NVML_CLOCK_MEM);
static_assert(kNvmlUnknownState == NVML_PSTATE_UNKNOWN);
static_assert(kNvmlGpuSensor == NVML_TEMPERATURE_GPU);
static_assert(NVML_FEATURE_DISABLED == 0);
static_assert(kNvmlC2cLinks == NVML_FI_DEV_C2C_LINK_COUNT);
static_assert(kNvmlC2cRate == NVML_FI_DEV_C2C_LINK_GET_MAX_BW);
static_assert(kNvmlUnsigned == NVML_VALUE_TYPE_UNSIGNED_INT);
static_assert(kNvmlUnsignedLongLong == NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
static_assert(sizeof(NvmlField) == sizeof(nvmlFieldValue_t));
static_assert(offsetof(NvmlField, type) == offsetof(nvmlFieldValue_t, valueType));
static_assert(offsetof(NvmlField, result) == offsetof(nvmlFieldValue_t, nvmlReturn));
static_assert(offsetof(NvmlField, number) == offsetof(nvmlFieldValue_t, value));
static_assert(sizeof(NvmlPci) == sizeof(nvmlPciInfo_t));
static_assert(offsetof(NvmlPci, domain) == offsetof(nvmlPciInfo_t, domain));
static_assert(offsetof(NvmlPci, bus) == offsetof(nvmlPciInfo_t, bus));
static_assert(offsetof(NvmlPci, device) == offsetof(nvmlPciInfo_t, device));
static_assert(offsetof(NvmlMemory, total) == offsetof(nvmlMemory_t, total));
static_assert(offsetof(NvmlMemory, used) == offsetof(nvmlMemory_t, used));
static_assert(offsetof(NvmlUtilization, memory) == offsetof(nvmlUtilization_t, memory));

CHECK_CALL(NvmlLibrary, init, nvmlInit_v2);
CHECK_CALL(NvmlLibrary, shutdown, nvmlShutdown);
CHECK_CALL(NvmlLibrary, error_string, nvmlErrorString);
CHECK_CALL(NvmlLibrary, driver_version, nvmlSystemGetDriverVersion);
CHECK_CALL(NvmlLibrary, count, nvmlDeviceGetCount_v2);
CHECK_CALL(NvmlLibrary, by_index, nvmlDeviceGetHandleByIndex_v2);
CHECK_CALL(NvmlLibrary, by_address, nvmlDeviceGetHandleByPciBusId_v2);
CHECK_CALL(NvmlLibrary, name, nvmlDeviceGetName);
CHECK_CALL(NvmlLibrary, pci, nvmlDeviceGetPciInfo_v3);
CHECK_CALL(NvmlLibrary, index, nvmlDeviceGetIndex);
CHECK_CALL(NvmlLibrary, memory, nvmlDeviceGetMemoryInfo);
CHECK_CALL(NvmlLibrary, memory_affinity, nvmlDeviceGetMemoryAffinity);
CHECK_CALL(NvmlLibrary, pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration);
CHECK_CALL(NvmlLibrary, pcie_lanes, nvmlDeviceGetCurrPcieLinkWidth);
CHECK_CALL(NvmlLibrary, max_pcie_generation, nvmlDeviceGetMaxPcieLinkGeneration);
CHECK_CALL(NvmlLibrary, max_pcie_lanes, nvmlDeviceGetMaxPcieLinkWidth);
CHECK_CALL(NvmlLibrary, gpu_pcie_generation, nvmlDeviceGetGpuMaxPcieLinkGeneration);
CHECK_CALL(NvmlLibrary, pcie_throughput, nvmlDeviceGetPcieThroughput);
CHECK_CALL(NvmlLibrary, clock, nvmlDeviceGetClockInfo);
CHECK_CALL(NvmlLibrary, max_clock, nvmlDeviceGetMaxClockInfo);
CHECK_CALL(NvmlLibrary, clock_limits, nvmlDeviceGetCurrentClocksEventReasons);
CHECK_CALL(NvmlLibrary, throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons);
CHECK_CALL(NvmlLibrary, performance_state, nvmlDeviceGetPerformanceState);
CHECK_CALL(NvmlLibrary, temperature, nvmlDeviceGetTemperature);
CHECK_CALL(NvmlLibrary, power, nvmlDeviceGetPowerUsage);
CHECK_CALL(NvmlLibrary, power_limit, nvmlDeviceGetEnforcedPowerLimit);
CHECK_CALL(NvmlLibrary, default_power_limit, nvmlDeviceGetPowerManagementDefaultLimit);
CHECK_CALL(NvmlLibrary, busy, nvmlDeviceGetUtilizationRates);
CHECK_CALL(NvmlLibrary, decoder_busy, nvmlDeviceGetDecoderUtilization);
CHECK_CALL(NvmlLibrary, jpeg_busy, nvmlDeviceGetJpgUtilization);
CHECK_CALL(NvmlLibrary, mig, nvmlDeviceGetMigMode);
CHECK_CALL(NvmlLibrary, fields, nvmlDeviceGetFieldValues);
CHECK_CALL(NvmlLibrary, persistence, nvmlDeviceGetPersistenceMode);
