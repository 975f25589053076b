#pragma once

#include <cstdint>
#include <vector>

#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/steps/step_loop.hpp"

/// From options to what the loader and the step loop are told.
namespace shardkit {

struct PipelineSetup {
  LoaderSettings loader;  ///< prefetch and readers are set for each run
  StepSettings step;
  std::vector<std::uint64_t> prefetches;  ///< never empty
};

/// Throws Error{usage} for impossible or absurd values.
PipelineSetup set_up(const PipelineOptions& options);

/// "0,1,2,4" as numbers. Throws Error{usage}.
std::vector<std::uint64_t> parse_prefetches(const std::string& text);

/// Throws Error{no_space} when the batches of the largest prefetch take more than half of the memory there is. Those
/// that a GPU decodes hold their compressed images too, of `mean_sample_bytes`.
void check_batch_memory(const PipelineSetup& setup, double mean_sample_bytes);

/// Bytes of images that may wait for workers: as many images as the batches ahead hold, from 1 MiB to 256 MiB or an
/// eighth of the memory.
std::uint64_t queue_bytes(const LoaderSettings& settings, double mean_sample_bytes);

}  // namespace shardkit
