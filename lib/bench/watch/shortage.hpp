#pragma once

#include <optional>

#include "bench/watch/watch_row.hpp"

/// What an interval was short of.
namespace shardkit::bench {

/// Thresholds of the rules, as shares.
namespace watch_rules {
inline constexpr double kGpuBusy = 0.8;         ///< mean over the GPUs in use: then compute is the bottleneck
inline constexpr double kThrottled = 0.1;       ///< of the CPU limit's periods
inline constexpr double kMemoryPressure = 0.1;  ///< of the time, at least one task
inline constexpr double kMemoryLeft = 0.05;     ///< of the memory available, without pressure values
inline constexpr double kCoresBusy = 0.9;       ///< of the processors that the job may use, or of the node's
inline constexpr double kCoresWanted = 0.5;  ///< cores in use and waited for: a job that needs less does not lack any
inline constexpr double kQueuedShare = 0.1;  ///< threads that wait for a core, of these and those that run
inline constexpr double kCpuPressure = 0.1;  ///< of the time, at least one task; without the former
inline constexpr double kIdleCores = 0.01;   ///< cores in use or waited for: a job with less does nothing
inline constexpr double kLinkBusy = 0.8;     ///< of what a GPU's link carries
inline constexpr double kIoPressure = 0.2;   ///< of the time, at least one task, if available
inline constexpr double kIoPressureFull = 0.1;  ///< of the time, all tasks
inline constexpr double kBlockedShare = 0.2;    ///< threads that wait for storage, of these and those that run
inline constexpr double kDevShmLeft = 0.1;      ///< of /dev/shm
inline constexpr double kNoticeable = 0.1;      ///< of the watched time: less is not a verdict
inline constexpr double kMostly = 0.5;          ///< of the watched time
}  // namespace watch_rules

/// Mean share of the time that the GPUs in use were busy; empty if none reports it.
std::optional<double> mean_gpu_busy(const WatchRow& row);

/// Whether the pressure of the control group of the watched process is known.
bool has_own_pressure(const WatchRow& row);

/// That pressure if it is known, else that of the node.
PressureShares felt_pressure(const WatchRow& row);

/// Threads that wait for storage, as share of these and the cores at work: of the job, else of the node. Empty if
/// unknown.
std::optional<double> blocked_share(const WatchRow& row);

/// The bottleneck of an interval; row.short_of is ignored. Busy GPUs do not wait, whatever the other values are.
Shortage shortage_of(const WatchRow& row);

}  // namespace shardkit::bench
