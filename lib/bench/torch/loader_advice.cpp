#include "bench/torch/loader_advice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/requirement/requirement.hpp"
#include "core/remedies.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kMostWorkers = 64;
constexpr double kNearBest = 0.95;
/// Processes that keep all cores busy get this share of them at most: batches are delivered in order, so the processes
/// also wait for each other (docs/explain/model.md).
constexpr double kBusyShare = 0.9;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// Shards, or batches, of one GPU; empty if their number is unknown or does not matter.
std::optional<std::uint64_t> portions(const LoaderData& data, const LoaderBatches& batches) {
  if (data.kind == LoaderKind::webdataset) return data.shards.size() / batches.gpus;
  if (data.kind != LoaderKind::image_folder) return std::nullopt;
  const std::uint64_t all = batches.batch * batches.gpus;
  return (data.images + all - 1) / all;
}

/// The processes that are busy on average until the one with the most portions ends.
double busy_workers(const std::optional<std::uint64_t>& portions, std::uint64_t workers) {
  if (!portions || *portions == 0) return static_cast<double>(workers);
  const std::uint64_t most = (*portions + workers - 1) / workers;
  return static_cast<double>(*portions) / static_cast<double>(most);
}

/// CPU time on cores that others of the loader use too: cores that share an execution unit, a cache or a clock budget
/// slow each other down.
double slowdown(const LoaderCosts& costs, double cores, double processes) {
  if (cores <= 1) return 1;
  const double busy = std::clamp((processes - 1) / (cores - 1), 0.0, 1.0);
  return 1 + (std::max(costs.busy_ratio, 1 / kBusyShare) - 1) * busy;
}

/// Finished batches of all processes, and the one that is being used, of each GPU.
double shared_bytes(const LoaderBatches& batches, std::uint64_t workers) {
  if (workers == 0) return 0;
  const auto count = static_cast<double>(workers * batches.prefetch + 1);
  return static_cast<double>(batches.gpus) * count * static_cast<double>(batches.batch) * batches.decoded_bytes;
}

double memory_bytes(const LoaderCosts& costs, const LoaderBatches& batches, std::uint64_t workers) {
  const double processes = costs.trainer_bytes + static_cast<double>(workers) * costs.worker_bytes;
  return static_cast<double>(batches.gpus) * processes + shared_bytes(batches, workers);
}

/// The largest number of processes up to `most` that fits, or 0.
template <class Fits>
std::uint64_t most_that_fit(std::uint64_t most, const Fits& fits) {
  while (most > 0 && !fits(most)) --most;
  return most;
}

/// Lowers `workers` to `most`, which is then the reason for the number.
void lower(std::uint64_t most, WorkerLimit limit, LoaderAdvice& advice) {
  if (advice.workers <= most) return;
  advice.workers = most;
  advice.limit = limit;
}

std::uint64_t best_workers(const LoaderCosts& costs, const LoaderLimits& limits, const LoaderData& data,
                           const LoaderBatches& batches, std::uint64_t most) {
  std::vector<double> rates;
  for (std::uint64_t workers = 0; workers <= most; ++workers) {
    rates.push_back(loader_rate(costs, limits, data, batches, workers));
  }
  const double best = *std::ranges::max_element(rates);
  const auto first = std::ranges::find_if(rates, [&](double rate) { return rate >= kNearBest * best; });
  return static_cast<std::uint64_t>(first - rates.begin());
}

/// Ranks times processes, so that each has a shard; or the next number that divides by the ranks: webdataset gives each
/// rank every Nth shard of N ranks, and drops or repeats none.
void advise_shards(const LoaderData& data, const LoaderBatches& batches, LoaderAdvice& advice) {
  const std::uint64_t needed = batches.gpus * std::max<std::uint64_t>(advice.wanted_workers, 1);
  const std::uint64_t all = data.shards.size();
  advice.is_uneven = all >= needed && all % batches.gpus != 0;
  if (all >= needed && !advice.is_uneven) return;
  advice.shards_needed = std::max(needed, (all + batches.gpus - 1) / batches.gpus * batches.gpus);
  advice.reshard = remedy::reshard(data.operands, {.shards = *advice.shards_needed});
}

}  // namespace

LoaderLimits loader_limits() {
  LoaderLimits limits;
  limits.cores = system::usable_threads();
  if (const auto limit = system::read_cgroup_use().cpu_limit) limits.cores = std::min(limits.cores, *limit);
  const std::uint64_t memory = system::usable_memory();
  if (memory != std::numeric_limits<std::uint64_t>::max()) limits.memory = static_cast<double>(memory);
  if (const auto space = system::live_probe().space("/dev/shm")) {
    limits.dev_shm = static_cast<double>(space->free_bytes);
  }
  return limits;
}

double loader_rate(const LoaderCosts& costs, const LoaderLimits& limits, const LoaderData& data,
                   const LoaderBatches& batches, std::uint64_t workers) {
  const auto gpus = static_cast<double>(batches.gpus);
  const bool has_workers = workers > 0;
  const double processes = gpus * (has_workers ? busy_workers(portions(data, batches), workers) : 1);
  const double slow = slowdown(costs, limits.cores, processes);
  const double cpu = (has_workers ? costs.cpu_seconds : costs.alone_cpu_seconds) * slow;
  const double all_cpu = cpu + (has_workers ? costs.trainer_cpu_seconds * slow : 0);
  const double step = has_workers ? 0 : batches.step_seconds / static_cast<double>(batches.batch);
  double rate = costs.storage_per_second.value_or(std::numeric_limits<double>::max());
  if (const double seconds = cpu + costs.wait_seconds + step; seconds > 0) rate = std::min(rate, processes / seconds);
  if (all_cpu > 0) rate = std::min(rate, limits.cores / all_cpu);
  return rate;
}

LoaderBatches crop_batches(std::uint64_t crop, image::TensorType dtype) {
  LoaderBatches batches;
  batches.crop = crop;
  batches.dtype = dtype;
  batches.decoded_bytes = static_cast<double>(tensor_bytes(crop, image::value_bytes(dtype)));
  return batches;
}

LoaderAdvice advise_loader(const LoaderCosts& costs, const LoaderLimits& limits, const LoaderData& data,
                           const LoaderBatches& batches) {
  LoaderAdvice advice;
  advice.calibrated = costs.calibrated;
  advice.why_no_code = data.why_none;
  LoaderData unlimited = data;  // as many shards as processes
  if (data.kind == LoaderKind::webdataset) unlimited.kind = LoaderKind::none;
  advice.wanted_workers = batches.workers.value_or(best_workers(costs, limits, unlimited, batches, kMostWorkers));
  advice.workers = advice.wanted_workers;
  if (batches.workers) advice.limit = WorkerLimit::asked;
  if (data.kind == LoaderKind::webdataset) {
    advise_shards(data, batches, advice);
    if (data.shards.size() < batches.gpus) {
      advice.workers = 0;
      advice.limit = WorkerLimit::shards;
      return advice;
    }
    const std::uint64_t most = data.shards.size() / batches.gpus;
    lower(batches.workers ? most : best_workers(costs, limits, data, batches, std::min(most, kMostWorkers)),
          WorkerLimit::shards, advice);
  }
  lower(most_that_fit(advice.workers,
                      [&](std::uint64_t workers) {
                        return shared_bytes(batches, workers) <= limits.dev_shm.value_or(kUnlimited);
                      }),
        WorkerLimit::dev_shm, advice);
  if (limits.memory) {
    lower(most_that_fit(advice.workers,
                        [&](std::uint64_t workers) { return memory_bytes(costs, batches, workers) <= *limits.memory; }),
          WorkerLimit::memory, advice);
  }
  LoaderBatches settings = batches;
  settings.workers = advice.workers;
  settings.sample_bytes = costs.sample_bytes;
  advice.line = loader_line(data, settings);
  advice.code = loader_code(data, settings);
  advice.samples_per_second = loader_rate(costs, limits, data, batches, advice.workers);
  advice.dev_shm_needed = shared_bytes(batches, advice.workers);
  advice.memory_needed = memory_bytes(costs, batches, advice.workers);
  return advice;
}

void LoaderAdvice::describe(FieldList& v) {
  v.field({"line", "the line for PyTorch; empty if there are fewer shards than GPUs"}, line);
  v.field({"code", "Python that makes the dataset and the loader, of which `line` is the last line", kLines}, code);
  v.field({"why_no_code", "why the dataset is left out of `code`"}, why_no_code);
  v.field({"workers", Unit::count, "loader processes per GPU"}, workers);
  v.field({"limit", "what limits their number"}, limit);
  v.field({"wanted_workers", Unit::count, "processes per GPU that enough shards and memory would allow"},
          wanted_workers);
  v.field({"samples_per_second", Unit::per_second, "samples that these processes of all GPUs deliver"},
          samples_per_second);
  v.field({"calibrated", "whether --python measured the costs of a sample; else they are estimated"}, calibrated);
  v.field({"dev_shm_needed", Unit::bytes, "minimum free space in /dev/shm for it"}, dev_shm_needed);
  v.field({"memory_needed", Unit::bytes, "memory of the processes and their batches"}, memory_needed);
  v.field({"shards_needed", Unit::count,
           "shards for the wanted processes if there are fewer, or the next number that divides by the GPUs"},
          shards_needed);
  v.field({"uneven", "whether there are enough shards, but some GPUs get one more than others"}, is_uneven);
  v.field({"reshard", "command that writes as many"}, reshard);
}

}  // namespace shardkit::bench
