#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/fields.hpp"
#include "gpu/gpu_monitor.hpp"

/// The rules by which a watch says what was short. Pure. docs/watch.md says them in words.
namespace shardkit::bench {

struct WatchRow;
struct GpuRow;
struct PressureShares;

/// In the order in which they are asked: memory that is short makes storage look slow, a CPU limit makes cores look
/// short. Where cores and storage are both short it is storage if more threads wait for that, else cores.
enum class Shortage { nothing, compute, cpu_limit, memory, cores, gpu_link, storage, dev_shm };
constexpr auto enum_names(Shortage) {
  return std::to_array<std::string_view>(
      {"nothing", "compute", "cpu_limit", "memory", "cores", "gpu_link", "storage", "dev_shm"});
}

/// Shares from which on a rule says so.
namespace watch_rules {
inline constexpr double kGpuInUse = 0.05;       ///< of its time busy, or of its memory in use
inline constexpr double kGpuBusy = 0.8;         ///< mean over the GPUs in use: nothing else can be short
inline constexpr double kThrottled = 0.1;       ///< of the CPU limit's periods
inline constexpr double kMemoryPressure = 0.1;  ///< of the time, some task
inline constexpr double kMemoryLeft = 0.05;     ///< of the memory available, where no pressure is told
inline constexpr double kCoresBusy = 0.9;       ///< of the processors that the job may use, or of the node's
inline constexpr double kCoresWanted = 0.5;     ///< cores in use and waited for: a job that wants less lacks none
inline constexpr double kQueuedShare = 0.1;     ///< threads that wait for a core, of these and those that run
inline constexpr double kCpuPressure = 0.1;     ///< of the time, some task; where the former is not told
inline constexpr double kLinkBusy = 0.8;        ///< of what a GPU's link carries
inline constexpr double kIoPressure = 0.2;      ///< of the time, some task, where told
inline constexpr double kIoPressureFull = 0.1;  ///< of the time, all tasks
inline constexpr double kBlockedShare = 0.2;    ///< threads that wait for storage, of these and those that run
inline constexpr double kDevShmLeft = 0.1;      ///< of /dev/shm
}  // namespace watch_rules

/// A GPU that some job holds: it computes, or its memory is in use.
bool is_in_use(const gpu::GpuState& gpu);

/// Mean share of the time that the GPUs in use were busy; empty without any that tells.
std::optional<double> mean_gpu_busy(const WatchRow& row);

/// What a GPU takes in, of what its link carries now; empty when the driver does not tell both.
std::optional<double> link_use(const GpuRow& gpu);

/// The waiting that counts: that of the control group of the watched process, where it is told, else the node's.
PressureShares felt_pressure(const WatchRow& row);

/// Threads that wait for storage, of these and the cores that work: of a job, else of the node. Empty when not known.
std::optional<double> blocked_share(const WatchRow& row);

/// What was short in an interval; row.short_of is not read. GPUs that are busy wait for nothing, whatever else shows.
Shortage shortage_of(const WatchRow& row);

}  // namespace shardkit::bench
