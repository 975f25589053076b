#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/transfer/transfer.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {

/// What to copy.
struct BatchCopies {
  std::uint64_t gpus = 1;   ///< maximum number of the available GPUs
  std::uint64_t batch = 1;  ///< samples of one GPU's batch
  double sample_bytes = 0;  ///< size on the bus
  double seconds = 0;       ///< approximate time for all GPUs together
};

/// Copies of the job's batches to the GPUs, one GPU at a time, from pinned memory of its own NUMA node.
struct TransferStage {
  bool measured = false;
  std::string text;
  std::string gpu;
  std::uint64_t gpus = 0;
  std::uint64_t batch = 0;
  double sample_bytes = 0;
  std::uint64_t copy_bytes = 0;
  std::optional<double> pinned_h2d;
  std::optional<stats::Interval> interval;
  std::vector<TransferDevice> devices;
  std::vector<TransferRow> rows;

  void describe(FieldList& v);
};

/// Copies batches and parts of them to one GPU after the other, and checks every byte. A reason for not measuring is in
/// the result, with a warning if there are GPUs. Throws only Error{cancelled}, and Error{corrupt} if bytes arrive
/// wrong.
TransferStage measure_transfer(const GpuMachine& gpus, const BatchCopies& wanted, Context& context);

}  // namespace shardkit::bench
