#include <algorithm>
#include <array>

#include "bench/run/run.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {
namespace {

using Number = double MeasuredNode::*;
using OptionalNumber = std::optional<double> MeasuredNode::*;

stats::Summary over(std::span<const MeasuredNode> repetitions, Number number) {
  std::vector<double> values;
  for (const MeasuredNode& repetition : repetitions) values.push_back(repetition.*number);
  return stats::summarize(values);
}

/// Empty if a repetition lacks it.
std::optional<stats::Summary> over(std::span<const MeasuredNode> repetitions, OptionalNumber number) {
  std::vector<double> values;
  for (const MeasuredNode& repetition : repetitions) {
    if (!(repetition.*number)) return std::nullopt;
    values.push_back(*(repetition.*number));
  }
  return stats::summarize(values);
}

/// A rate that may be missing, and its interval.
void take(std::span<const MeasuredNode> repetitions, OptionalNumber rate,
          std::optional<stats::Interval> MeasuredNode::*interval, MeasuredNode& node) {
  const auto summary = over(repetitions, rate);
  node.*rate = summary ? std::optional(summary->median) : std::nullopt;
  node.*interval = summary ? std::optional(summary->interval()) : std::nullopt;
}

double unpack_cpu_seconds(const MeasuredNode& node) { return node.unpack ? node.unpack->cpu_seconds : 0; }

/// The rate at which the cores read, unpack, decode and augment at once: with shared cores, or with the threads that do
/// the last two one after the other.
double cores_rate(const MeasuredNode& node) {
  const std::array cpu{node.read_cpu_seconds, unpack_cpu_seconds(node), node.decode_cpu_seconds,
                       node.augment_cpu_seconds};
  const double shared = shared_cores_rate(node.cores, cpu);
  double seconds = 1 / *node.decode_samples_per_second;
  if (node.augment_samples_per_second) seconds += 1 / *node.augment_samples_per_second;
  return std::min(shared, 1 / seconds);
}

/// Which of them needs most of the cores.
std::string_view threads_stage(const MeasuredNode& node) {
  if (unpack_cpu_seconds(node) > std::max(node.decode_cpu_seconds, node.augment_cpu_seconds)) return stage::kUnpack;
  return node.augment_cpu_seconds > node.decode_cpu_seconds ? stage::kAugment : stage::kDecode;
}

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

}  // namespace

MeasuredNode median_node(std::span<const MeasuredNode> repetitions) {
  MeasuredNode node = repetitions.front();
  for (const Number number : {&MeasuredNode::sample_bytes, &MeasuredNode::read_cpu_seconds,
                              &MeasuredNode::decode_cpu_seconds, &MeasuredNode::augment_cpu_seconds}) {
    node.*number = over(repetitions, number).median;
  }
  const stats::Summary read = over(repetitions, &MeasuredNode::read_bytes_per_second);
  node.read_bytes_per_second = read.median;
  node.read_interval = read.interval();
  take(repetitions, &MeasuredNode::decode_samples_per_second, &MeasuredNode::decode_interval, node);
  take(repetitions, &MeasuredNode::augment_samples_per_second, &MeasuredNode::augment_interval, node);
  take(repetitions, &MeasuredNode::pipeline_samples_per_second, &MeasuredNode::pipeline_interval, node);
  take(repetitions, &MeasuredNode::transfer_bytes_per_second, &MeasuredNode::transfer_interval, node);
  return node;
}

bool from_memory(const MeasuredNode& node) {
  return node.cache_state == CacheState::warm || node.cache_state == CacheState::mixed;
}

bool decodes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  return (!requirement || requirement->is_of_images()) && node.decode_samples_per_second.has_value();
}

double sample_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  const bool has_own = requirement && requirement->preset != nullptr && !requirement->is_of_images();
  return has_own ? requirement->job.sample_bytes : node.sample_bytes;
}

double decoded_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                     std::uint64_t tensor_bytes) {
  if (!decodes(node, requirement)) return sample_bytes(node, requirement);
  const double pixels = node.crop > 0 ? 1 : node.megapixels * 1e6;
  return static_cast<double>(tensor_bytes) * pixels;
}

std::optional<StageRate> transfer_rate(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                                       std::uint64_t tensor_bytes) {
  const double bytes = decoded_bytes(node, requirement, tensor_bytes);
  if (!node.transfer_bytes_per_second || bytes <= 0) return std::nullopt;
  const auto gpus = static_cast<double>(requirement ? requirement->job.gpus : node.transfer_gpus);
  return StageRate{stage::kTransfer, *node.transfer_bytes_per_second * gpus / bytes};
}

std::vector<StageRate> stage_rates(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  const double bytes = sample_bytes(node, requirement);
  std::vector<StageRate> rates{{stage::kRead, bytes > 0 ? node.read_bytes_per_second / bytes : 0}};
  if (node.unpack && bytes > 0) {  // its time is in proportion to the bytes of a sample
    const double seconds = node.unpack->cpu_seconds * bytes / node.sample_bytes;
    if (seconds > 0) rates.push_back({stage::kUnpack, unpacking_cores(node) / seconds});
  }
  if (decodes(node, requirement)) rates.push_back({threads_stage(node), cores_rate(node)});
  return rates;
}

double unpacking_cores(const MeasuredNode& node) {
  return node.unpack ? std::min(node.cores, static_cast<double>(node.unpack->shards)) : 0;
}

bool reads_storage_too(const ReadResult& read, const PipelineResult& pipeline) {
  return !read.direct || pipeline.cache.state == CacheState::cold || pipeline.cache.state == CacheState::client_cold;
}

MeasuredNode measured_node(const RunResult& result, const RunOptions& options) {
  const ReadResult& read = result.read;
  const Environment& machine = result.environment;
  MeasuredNode node;
  node.cores = static_cast<double>(machine.usable_threads);
  node.cpu_limit = machine.cpu_limit;
  if (machine.cpu_limit) node.cores = std::min(node.cores, *machine.cpu_limit);
  node.read_bytes_per_second = read.bytes_per_second;
  node.read_interval = read.bytes_per_second_interval;
  node.readers = static_cast<double>(read.threads);
  node.more_readers = result.more_readers;
  node.cache_state = read.cache.state;
  node.sample_bytes = read.mean_sample.value_or(0);
  node.read_cpu_seconds = read.cpu_seconds / static_cast<double>(read.bytes) * node.sample_bytes;
  node.crop = options.crop;
  node.unpack = result.unpack;
  if (result.decode) add_decoding(*result.decode, node);
  if (result.pipeline && result.pipeline->steps >= kLeastSteps && reads_storage_too(read, *result.pipeline)) {
    node.pipeline_samples_per_second = steady_rate(*result.pipeline);
    node.pipeline_stage = result.pipeline->limiting_stage;
  }
  if (result.file_costs) node.file_costs_ratio = result.file_costs->other_ratio;
  node.sample_work = result.sample_work;
  node.loader_reads = result.loader_reads;
  node.calibration = result.calibration;
  node.transfer_bytes_per_second = result.transfer.pinned_h2d;
  node.transfer_interval = result.transfer.interval;
  node.transfer_gpus = result.transfer.gpus;
  node.transfer_copy_bytes = static_cast<double>(result.transfer.copy_bytes);
  return node;
}

}  // namespace shardkit::bench
