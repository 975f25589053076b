#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "bench/machine/placement.hpp"
#include "bench/transfer/transfer.hpp"
#include "bench/transfer/transfer_plan.hpp"
#include "gpu/device.hpp"

/// Times copies as nvbandwidth does: a kernel holds the streams while copies are enqueued, so that only the copies lie
/// between two events of the GPU; 4 to warm up, 16 in each of three measurements. Pageable memory, for which the driver
/// keeps the caller waiting, goes by the host's clock, a thread for each stream, with everything finished at the end.
namespace shardkit::bench {

struct CopyTiming {
  std::uint64_t copies = 0;          ///< of each stream and direction in a measurement
  std::vector<double> copy_seconds;  ///< one a measurement: its time over `copies`
};

/// Copies between `host` and `memory`, each of at least job.memory() bytes, and then checks every byte of the last
/// copies against a pattern made from `seed`, which differs from call to call. Throws Error{corrupt} when one is wrong,
/// Error{cancelled}.
CopyTiming time_copies(gpu::Device& device, MutableBytes host, gpu::DeviceSpan memory, const CopyJob& job,
                       std::uint64_t seed, const std::stop_token& stop);

/// What was timed as a row of the result; its device, share of the link and samples are the caller's to fill in.
TransferRow timed_row(const CopyJob& job, const CopyTiming& timing, const Placement& place);

/// Against the link as it was at its fastest.
void add_wire_share(const TransferDevice& device, TransferRow& row);

}  // namespace shardkit::bench
