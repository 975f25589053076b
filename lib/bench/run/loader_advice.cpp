#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"
#include "bench/run/run.hpp"

namespace shardkit::bench {
namespace {

/// What one of PyTorch's loader processes needs for a sample. It reads, decodes and augments one sample after the
/// other.
struct WorkerCost {
  double seconds = 0;
  double cpu_seconds = 0;  ///< of these
};

/// A read takes as long as with the measured number of them in flight (Little's law).
WorkerCost worker_cost(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  double decoding = 0;
  if (decodes(node, requirement)) decoding = kTorchCpuFactor * (node.decode_cpu_seconds + node.augment_cpu_seconds);
  const double read_cpu = read_cpu_seconds(node, requirement);
  const double read = node.readers * sample_bytes(node, requirement) / node.read_bytes_per_second;
  return {(from_memory(node) ? read_cpu : std::max(read, read_cpu)) + decoding, read_cpu + decoding};
}

/// Reads in flight that were measured to help.
double useful_reads(const MeasuredNode& node) {
  if (from_memory(node)) return 0;
  const bool more_help = node.more_readers && node.more_readers->bytes_per_second > node.read_bytes_per_second;
  return more_help ? static_cast<double>(node.more_readers->readers) : node.readers;
}

/// Samples per second of `workers` processes in total: limited by their own work, by cores, and by storage.
double loader_rate(const MeasuredNode& node, const WorkerCost& cost, double workers, double bytes) {
  double storage = node.read_bytes_per_second;
  if (node.more_readers) storage = std::max(storage, node.more_readers->bytes_per_second);
  double rate = storage / bytes;
  if (cost.seconds > 0) rate = std::min(rate, workers / cost.seconds);
  if (cost.cpu_seconds > 0) rate = std::min(rate, node.cores / cost.cpu_seconds);
  return rate;
}

}  // namespace

bool from_memory(const MeasuredNode& node) {
  return node.cache_state == CacheState::warm || node.cache_state == CacheState::mixed;
}

DataLoaderAdvice loader_advice(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                               const LoaderOptions& options) {
  const std::uint64_t gpus = requirement ? requirement->job.gpus : 1;
  const std::uint64_t batch = requirement ? requirement->job.batch : options.batch;
  const WorkerCost cost = worker_cost(node, requirement);
  const double most = std::max(std::floor(std::max(node.cores, useful_reads(node)) / static_cast<double>(gpus)), 1.0);
  double workers = most;
  if (requirement) {
    const double rate = samples_per_second(requirement->job) / static_cast<double>(gpus);
    workers = std::clamp(std::ceil(rate * cost.seconds), 1.0, most);
  }
  DataLoaderAdvice advice;
  advice.workers = options.workers.value_or(static_cast<std::uint64_t>(workers));
  advice.line = data_loader_line({batch, advice.workers, options.prefetch, options.shards});
  advice.samples_per_second = loader_rate(node, cost, static_cast<double>(advice.workers * gpus),
                                          std::max(sample_bytes(node, requirement), 1.0));
  advice.dev_shm_needed = prefetch_bytes(gpus, advice.workers, options.prefetch, batch,
                                         decoded_bytes(node, requirement, options.tensor_bytes));
  advice.dev_shm_fits = !node.dev_shm || advice.dev_shm_needed <= static_cast<double>(*node.dev_shm);
  return advice;
}

void DataLoaderAdvice::describe(FieldVisitor& v) {
  v.field({"line", "the line for PyTorch"}, line);
  v.field({"workers", Unit::count, "loader processes per GPU"}, workers);
  v.field({"samples_per_second", Unit::per_second,
           "samples that these processes of all GPUs deliver: predicted for PIL and torchvision, whose CPU time per "
           "image is assumed to be 3 times that of iobench"},
          samples_per_second);
  v.field({"dev_shm_needed", Unit::bytes, "minimum free space in /dev/shm for it"}, dev_shm_needed);
  v.field({"dev_shm_fits", "whether that much is free now"}, dev_shm_fits);
}

}  // namespace shardkit::bench
