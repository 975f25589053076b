#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/timing/timed_run.hpp"
#include "bench/transfer/transfer.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::bench {

/// The GPUs that a run copies to, none with a line that says why. Borrowed.
struct RunGpus {
  TransferMachine machine;
  std::string missing;
};

/// What is to be copied.
struct BatchCopies {
  std::uint64_t gpus = 1;   ///< at most so many of those that are there
  std::uint64_t batch = 1;  ///< samples of one GPU's batch
  double sample_bytes = 0;  ///< as they go over the bus
  double seconds = 0;       ///< time for all GPUs together, about
};

/// The job's batches on their way to the GPUs, each GPU alone, from pinned memory of its own NUMA node.
struct TransferStage {
  bool measured = false;
  std::string text;
  std::string gpu;
  std::uint64_t gpus = 0;
  std::uint64_t batch = 0;
  double sample_bytes = 0;
  std::uint64_t copy_bytes = 0;
  std::optional<double> pinned_h2d;
  std::optional<RateInterval> interval;
  std::vector<TransferDevice> devices;
  std::vector<TransferRow> rows;

  void describe(FieldVisitor& v);
};

/// Copies batches and parts of them to one GPU after the other, and checks every byte. What keeps it from measuring is
/// in the result, with a warning where there are GPUs; only Error{cancelled} and Error{corrupt}, of bytes that arrive
/// wrong, are thrown.
TransferStage measure_transfer(const RunGpus& gpus, const BatchCopies& wanted, Context& context);

}  // namespace shardkit::bench
