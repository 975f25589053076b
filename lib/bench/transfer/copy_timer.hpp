#pragma once

#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "bench/machine/placement.hpp"
#include "bench/transfer/pcie_limit.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device.hpp"
#include "stats/summary.hpp"

/// Copies between host and GPU, and their times.
namespace shardkit::bench {

/// Direction of a copy: host to device, device to host, both at once.
enum class CopyDirection { h2d, d2h, both };
constexpr auto enum_names(CopyDirection) { return std::to_array<std::string_view>({"h2d", "d2h", "both"}); }

struct TransferRow {
  std::uint64_t device = 0;
  gpu::HostMemory kind = gpu::HostMemory::pageable;
  CopyDirection direction = CopyDirection::h2d;
  std::uint64_t bytes = 0;
  std::uint64_t streams = 1;
  NumaLocation numa = NumaLocation::unbound;
  std::optional<std::uint64_t> numa_node;
  std::uint64_t copies = 0;
  double copy_seconds = 0;
  double bytes_per_second = 0;
  double lowest_bytes_per_second = 0;
  double highest_bytes_per_second = 0;
  stats::Interval interval;  ///< 95 % interval of the median; for callers that measure more than three times
  std::optional<double> wire_share;

  void describe(FieldList& v);
};

/// Cost of pinned memory.
struct PinningRow {
  std::uint64_t device = 0;
  gpu::HostMemory kind = gpu::HostMemory::pinned;
  NumaLocation numa = NumaLocation::unbound;
  std::uint64_t bytes = 0;
  double prepare_seconds = 0;
  double release_seconds = 0;
  double prepare_seconds_per_gib = 0;
  double release_seconds_per_gib = 0;

  void describe(FieldList& v);
};

/// One kind of copy to measure.
struct CopyJob {
  gpu::HostMemory kind = gpu::HostMemory::pageable;
  CopyDirection direction = CopyDirection::h2d;
  std::uint64_t bytes = 0;
  std::uint64_t streams = 1;

  /// Blocks of memory that it needs on either side: one for each stream and direction.
  std::uint64_t lanes() const { return streams * (direction == CopyDirection::both ? 2 : 1); }
  /// From the start of one block to that of the next, so that each starts on a page.
  std::uint64_t stride() const { return (bytes + 4095) / 4096 * 4096; }
  std::uint64_t memory() const { return lanes() * stride(); }
};

struct CopyTiming {
  std::uint64_t copies = 0;          ///< of each stream and direction in a measurement
  std::vector<double> copy_seconds;  ///< one per measurement: its time divided by `copies`
};

/// Copies between `host` and `memory`, each of at least job.memory() bytes, and then compares every byte of the last
/// copies with a pattern from `seed`, which differs between calls. Throws Error{corrupt} if one is wrong,
/// Error{cancelled}. With `others`, each measurement begins when all threads of the barrier have called this for the
/// same job; the thread that gives up leaves it.
CopyTiming time_copies(gpu::Device& device, MutableBytes host, gpu::DeviceSpan memory, const CopyJob& job,
                       std::uint64_t seed, const std::stop_token& stop, std::barrier<>* others = nullptr);

/// The measured times as a row of the result; the caller fills in its device, share of the link.
TransferRow timed_row(const CopyJob& job, const CopyTiming& timing, const Placement& placement);

/// Relative to the link at its fastest; unknown if the copies were faster, because then it is not what they used.
void add_wire_share(const TransferDevice& device, TransferRow& row);

/// Measures allocating pinned memory, or registering existing memory, and releasing it: the median of three. Empty for
/// pageable memory. The caller fills in the row's device and place.
std::optional<PinningRow> time_pinning(gpu::Device& device, gpu::HostMemory kind, std::size_t bytes, Context& context);

}  // namespace shardkit::bench
