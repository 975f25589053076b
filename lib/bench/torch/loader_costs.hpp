#pragma once

#include <optional>

#include "bench/machine/cache_state.hpp"
#include "bench/timing/timed_run.hpp"
#include "bench/torch/calibration.hpp"
#include "bench/torch/loader_advice.hpp"
#include "core/context.hpp"

/// Measures what a process of PyTorch's DataLoader needs for a sample of some data, in C++.
namespace shardkit::bench {

/// Mean times of the calls of a loader that opens each image, one file after the other.
struct FileCosts {
  std::uint64_t files = 0;
  double open_seconds = 0;
  double stat_seconds = 0;
  double read_seconds = 0;  ///< all reads of a file, which are as large as those of Python and PIL
  double close_seconds = 0;
  double other_ratio = 0;  ///< share of opening, stat and closing, which shards avoid

  void describe(FieldList& v);
};

/// What a worker does with a sample after reading it.
struct SampleWork {
  double sample_bytes = 0;  ///< mean, as stored
  double megapixels = 0;    ///< mean; 0 if the data has no images
  double cpu_seconds = 0;   ///< of PIL for decoding an image, while other cores are idle: estimated from iobench's time
  double busy_ratio = 1;    ///< iobench's time while all cores decode, divided by its time on one core
};

/// Loads a few images until the deadline, and decodes them completely, first on one thread and then on all cores, for
/// about `seconds`. The input has images; without any until the deadline, Error{usage}.
SampleWork measure_sample_work(const InputSet& input, double cores, double seconds, const Deadline& loading,
                               Context& context);

/// Storage as loader processes see it.
struct LoaderReads {
  double wait_seconds = 0;                   ///< per sample, apart from CPU time
  std::optional<double> samples_per_second;  ///< of 32 processes; empty: data in memory
  std::optional<FileCosts> file_costs;       ///< of files that are not shards
};

/// Reads samples of `sample_bytes` as one process does, in shards with a pause after each in which it would decode, and
/// then as many do without pauses, each for at most `seconds`. Drops the files from the cache before if they should be
/// cold. Local files only. Throws the errors of prepare_cache().
LoaderReads measure_loader_reads(const InputSet& input, double sample_bytes, double pause_seconds, CacheRequest cache,
                                 double seconds, Context& context);

/// The costs of the code that loader_code() makes: from a calibration, else estimated from constants that are measured
/// for PIL and torchvision (docs/explain/model.md).
LoaderCosts loader_costs(const LoaderData& data, const SampleWork& work, const LoaderReads& reads,
                         const LoaderBatches& batches, double sample_bytes,
                         const std::optional<Calibration>& calibration);

}  // namespace shardkit::bench
