#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/torch/loader_data.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

/// The costs of a sample in a user's own Python (`run --python`).
namespace shardkit::bench {

/// CPU times per sample, in seconds, and memory per process, in bytes.
struct Calibration {
  std::string interpreter;
  std::string python;
  std::string torch;
  double load_seconds = 0;  ///< opening, reading and decoding
  double augment_seconds = 0;
  double reads = 0;           ///< read calls
  double worker_seconds = 0;  ///< all work of a loader process, also collating
  double alone_seconds = 0;   ///< the same without workers
  double trainer_seconds = 0;
  double worker_bytes = 0;
  double trainer_bytes = 0;

  void describe(FieldList& v);
};

/// The interpreter for --python: the given one, or for "auto" the python3 in PATH.
std::string python_of(const std::string& option);

/// Runs about 30 images through torchvision, and batches through a worker process, for at most `seconds`. Throws
/// Error{unsupported} with a remedy if the interpreter does not start, lacks a package or fails, or does not finish in
/// time; Error{usage} if there is no code for the data, because then there is nothing to measure.
Calibration calibrate(const std::string& interpreter, const LoaderData& data, const InputSet& input,
                      const LoaderBatches& batches, double seconds, Context& context);

}  // namespace shardkit::bench
