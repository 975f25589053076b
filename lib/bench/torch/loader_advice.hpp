#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/torch/loader_data.hpp"
#include "core/fields.hpp"

/// How many processes a PyTorch DataLoader should have here, and what it delivers (docs/explain/model.md).
namespace shardkit::bench {

/// What a process of the loader needs for a sample.
struct LoaderCosts {
  double sample_bytes = 0;  ///< as stored, but unpacked
  double cpu_seconds = 0;   ///< all work of the process, while the other cores are idle
  double busy_ratio = 1;    ///< the CPU time of the same work while all cores are busy, divided by that
  double wait_seconds = 0;  ///< for storage
  std::optional<double> storage_per_second{};  ///< samples that storage delivers at most; empty: no limit was found
  double alone_cpu_seconds = 0;                ///< like cpu_seconds, of a training process that loads by itself
  double trainer_cpu_seconds = 0;              ///< of the training process, which receives the batches
  double worker_bytes = 0;                     ///< memory of a process, apart from batches
  double trainer_bytes = 0;                    ///< the same of the training process
  bool calibrated = false;                     ///< by `run --python`; else estimated
};

/// Limits of the machine and the control group.
struct LoaderLimits {
  double cores = 1;
  std::optional<double> memory{};   ///< bytes
  std::optional<double> dev_shm{};  ///< bytes free in /dev/shm
};

/// Those of this process.
LoaderLimits loader_limits();

/// What keeps the number of processes as it is.
enum class WorkerLimit {
  rate,    ///< more processes would deliver less than 5 % more
  shards,  ///< each process needs a shard of its own
  memory,
  dev_shm,
  asked,  ///< the user gave the number
};
constexpr auto enum_names(WorkerLimit) {
  return std::to_array<std::string_view>({"rate", "shards", "memory", "dev_shm", "asked"});
}

/// Batches of crops of `crop` * `crop` pixels, with the size of one in memory.
LoaderBatches crop_batches(std::uint64_t crop, image::TensorType dtype);

struct LoaderAdvice {
  std::string line;  ///< empty: no loader can read the data
  std::string code;
  std::string why_no_code;
  std::uint64_t workers = 0;
  WorkerLimit limit = WorkerLimit::rate;
  std::uint64_t wanted_workers = 0;  ///< without the limits of shards and memory
  double samples_per_second = 0;
  bool calibrated = false;
  double dev_shm_needed = 0;
  double memory_needed = 0;
  std::optional<std::uint64_t> shards_needed;  ///< if there are too few for `wanted_workers`, or is_uneven
  bool is_uneven = false;  ///< enough shards, but some GPUs get one more than others, and so more samples
  std::string reshard;     ///< command that writes as many as needed

  void describe(FieldList& v);
};

/// Samples per second that `workers` processes for each GPU deliver together; without any, each training process loads
/// by itself, between its steps. A process reads whole shards, or makes whole batches of a folder's images, so that
/// those with the most of them end last.
double loader_rate(const LoaderCosts& costs, const LoaderLimits& limits, const LoaderData& data,
                   const LoaderBatches& batches, std::uint64_t workers);

/// The smallest number of processes that reaches 95 % of the best rate, at most one for each of a rank's shards, and as
/// many as memory and /dev/shm have space for. Without a line if there are fewer shards than GPUs.
LoaderAdvice advise_loader(const LoaderCosts& costs, const LoaderLimits& limits, const LoaderData& data,
                           const LoaderBatches& batches);

}  // namespace shardkit::bench
