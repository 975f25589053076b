#include "bench/run/run_node.hpp"

#include <algorithm>

namespace shardkit {
namespace {

/// The pipeline's rate while it was full: the filling at the start of each pass is left out, which long passes of
/// training hardly have.
double steady_rate(const PipelineResult& pipeline) {
  double samples = 0;
  double seconds = 0;
  for (const EpochRow& epoch : pipeline.epochs) {
    if (epoch.samples_per_second <= 0) continue;
    samples += static_cast<double>(epoch.samples);
    seconds += static_cast<double>(epoch.samples) / epoch.samples_per_second;
  }
  return seconds > 0 ? samples / seconds : pipeline.samples_per_second;
}

void add_decoding(const DecodeResult& decode, MeasuredNode& node) {
  if (!decode.samples_per_second_per_core) return;
  node.decode_samples_per_second = decode.samples_per_second;
  node.decode_interval = decode.samples_per_second_interval;
  node.decode_cpu_seconds = 1 / *decode.samples_per_second_per_core;
  node.threads = static_cast<double>(decode.threads);
  node.megapixels = decode.mix.mean_megapixels;
  if (!decode.augment || decode.augment->samples_per_second_per_core <= 0) return;
  node.augment_samples_per_second = decode.augment->samples_per_second;
  node.augment_interval = decode.augment->samples_per_second_interval;
  node.augment_cpu_seconds = 1 / decode.augment->samples_per_second_per_core;
}

/// Bytes a second that storage gives. When a cold read ends, the kernel has read ahead what nobody came to use; where
/// that is much, the disk's own counter is nearer to what longer reading gives.
double storage_rate(const ReadResult& read) {
  constexpr double kMuch = 1.1;
  const bool is_cold = read.cache.state == "cold" && read.device.has_value();
  if (!is_cold || read.device->read_bytes_per_second < kMuch * read.bytes_per_second) return read.bytes_per_second;
  return read.device->read_bytes_per_second;
}

}  // namespace

bool reads_storage_too(const ReadResult& read, const PipelineResult& pipeline) {
  return !read.direct || pipeline.cache.state == "cold" || pipeline.cache.state == "client-cold";
}

MeasuredNode measured_node(const RunResult& result, const RunOptions& options) {
  const ReadResult& read = result.read;
  const Environment& machine = result.environment;
  MeasuredNode node;
  node.cores = static_cast<double>(machine.usable_threads);
  node.cpu_limit = machine.cpu_limit;
  if (machine.cpu_limit) node.cores = std::min(node.cores, *machine.cpu_limit);
  node.read_bytes_per_second = storage_rate(read);
  if (node.read_bytes_per_second == read.bytes_per_second) node.read_interval = read.bytes_per_second_interval;
  node.cache_state = read.cache.state;
  node.dev_shm = machine.dev_shm;
  node.sample_bytes = read.mean_sample.value_or(0);
  node.read_cpu_seconds = read.cpu_seconds / static_cast<double>(read.bytes) * node.sample_bytes;
  node.crop = options.crop;
  if (result.decode) add_decoding(*result.decode, node);
  if (result.pipeline && result.pipeline->steps >= kLeastSteps && reads_storage_too(read, *result.pipeline)) {
    node.pipeline_samples_per_second = steady_rate(*result.pipeline);
  }
  if (result.file_costs) node.shards_gain_ratio = result.file_costs->shards_gain_ratio;
  node.transfer_bytes_per_second = result.transfer.pinned_h2d;
  node.transfer_interval = result.transfer.interval;
  node.transfer_gpus = result.transfer.gpus;
  node.transfer_copy_bytes = static_cast<double>(result.transfer.copy_bytes);
  return node;
}

}  // namespace shardkit
