#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/transfer/transfer.hpp"
#include "gpu/device.hpp"

namespace shardkit::bench {

/// The most copies in flight at once in one direction.
inline constexpr std::uint64_t kMostTransferStreams = 8;

/// One kind of copy that is to be timed.
struct CopyJob {
  gpu::HostMemory kind = gpu::HostMemory::pageable;
  CopyDirection direction = CopyDirection::h2d;
  std::uint64_t bytes = 0;
  std::uint64_t streams = 1;

  /// Pieces of memory that it needs on either side: one for each stream and direction.
  std::uint64_t lanes() const { return streams * (direction == CopyDirection::both ? 2 : 1); }
  /// From the start of one piece to that of the next, so that each starts on a page.
  std::uint64_t stride() const { return (bytes + 4095) / 4096 * 4096; }
  std::uint64_t memory() const { return lanes() * stride(); }
};

/// What the options ask for, kind by kind.
struct TransferPlan {
  std::vector<gpu::HostMemory> kinds;
  std::vector<CopyJob> jobs;             ///< in order of the kinds, then of sizes, streams, directions
  std::optional<std::uint64_t> samples;  ///< in each copy, with --batch
};

/// Throws Error{usage} that names the option.
TransferPlan plan_transfer(const TransferOptions& options);

/// The GPUs that --device names. Throws Error{usage} for what is no number, and Error{unsupported} for a GPU that is
/// not there.
std::vector<gpu::Device*> chosen_devices(const std::string& option, std::span<gpu::Device* const> devices);

}  // namespace shardkit::bench
