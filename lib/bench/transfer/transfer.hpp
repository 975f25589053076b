#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/machine/gpu_machine.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/machine/placement.hpp"
#include "bench/transfer/copy_timer.hpp"
#include "bench/transfer/file_transfer.hpp"
#include "bench/transfer/pcie_limit.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device.hpp"

/// `iobench transfer`: how fast data is copied from host memory to a GPU and back (docs/explain/gpu.md).
namespace shardkit::bench {

struct TransferOptions {
  std::string kinds = "pageable,pinned,write-combined,registered";
  std::string bytes;        ///< sizes; empty: powers of 4 from 4 KiB to 1 GiB
  std::string depth = "1";  ///< streams in each direction
  std::string device = "0";
  NumaChoice numa = NumaChoice::automatic;
  std::optional<std::string> gds;

  void describe(FieldList& v);
};

struct TransferResult {
  std::string verdict;
  std::string gpu;  ///< model of the first one
  std::optional<double> pinned_h2d;
  std::optional<double> pinned_d2h;
  std::vector<TransferDevice> devices;
  std::vector<TransferRow> rows;
  std::vector<PinningRow> pinning;
  std::optional<FileTransfer> file;
  Neighbors neighbors;

  void describe(FieldList& v);
};

/// Copies every kind of memory in every requested direction, size and number of streams, and checks every byte; or with
/// options.gds reads a file into GPU memory. Throws Error{usage}, Error{unsupported} without a GPU, CUDA or a requested
/// node, Error{no_space} if none of the sizes fits, Error{corrupt} if bytes arrive wrong.
TransferResult transfer(const TransferOptions& options, Context& context);
TransferResult transfer(const TransferOptions& options, const GpuMachine& machine, Context& context);

/// Maximum number of copies in flight in one direction.
inline constexpr std::uint64_t kMostTransferStreams = 8;

/// The measurements for the options, kind by kind.
struct TransferPlan {
  std::vector<gpu::HostMemory> kinds;
  std::vector<CopyJob> jobs;  ///< in order of the kinds, then of sizes, streams, directions
  NumaChoice numa = NumaChoice::automatic;
  bool times_pinning = true;    ///< also the cost of each kind of memory
  double seconds_per_copy = 0;  ///< time for each measurement, which is made at least once and at most five times
};

/// Throws Error{usage} that names the option.
TransferPlan plan_transfer(const TransferOptions& options);

/// The GPUs of --device. Throws Error{usage} for an invalid number, and Error{unsupported} for a GPU that does not
/// exist.
std::vector<gpu::Device*> chosen_devices(const std::string& option, std::span<gpu::Device* const> devices);

/// Measures the plan's copies on these GPUs, on all of them at the same time, and adds their rows and facts to the
/// result, GPU by GPU. Throws like transfer().
void measure_copies(const TransferPlan& plan, std::span<gpu::Device* const> devices, const GpuMachine& machine,
                    Context& context, TransferResult& result);

}  // namespace shardkit::bench
