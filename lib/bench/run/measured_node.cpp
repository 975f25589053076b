#include "bench/run/measured_node.hpp"

#include <algorithm>
#include <array>

namespace shardkit::bench {
namespace {

double median(std::span<const MeasuredNode> repetitions, double (*value)(const MeasuredNode& node)) {
  std::vector<double> values;
  for (const MeasuredNode& repetition : repetitions) values.push_back(value(repetition));
  return stats::summarize(values).median;
}

MeasuredStage median_stage(std::span<const MeasuredStage> stages) {
  std::vector<double> rates;
  std::vector<double> cpu;
  for (const MeasuredStage& stage : stages) {
    rates.push_back(stage.rate);
    cpu.push_back(stage.cpu_seconds);
  }
  const stats::Summary summary = stats::summarize(rates);
  return {summary.median, summary.interval(), stats::summarize(cpu).median};
}

/// Empty if a repetition lacks it.
std::optional<MeasuredStage> median_stage(std::span<const MeasuredNode> repetitions,
                                          std::optional<MeasuredStage> MeasuredNode::*stage) {
  std::vector<MeasuredStage> stages;
  for (const MeasuredNode& repetition : repetitions) {
    if (!(repetition.*stage)) return std::nullopt;
    stages.push_back(*(repetition.*stage));
  }
  return median_stage(stages);
}

double cpu_of(const std::optional<MeasuredStage>& stage) { return stage ? stage->cpu_seconds : 0; }
double cpu_of(const std::optional<UnpackCosts>& unpack) { return unpack ? unpack->cpu_seconds : 0; }

/// The rate at which the cores read, unpack, decode and augment at once: with shared cores, or with the threads that do
/// the last two one after the other.
double cores_rate(const MeasuredNode& node) {
  const double shared = shared_cores_rate(node.cores, std::array{cpu_seconds(node)});
  double seconds = 1 / node.decode->rate;
  if (node.augment) seconds += 1 / node.augment->rate;
  return std::min(shared, 1 / seconds);
}

/// Which of them needs most of the cores.
std::string_view threads_stage(const MeasuredNode& node) {
  const double decode = cpu_of(node.decode);
  const double augment = cpu_of(node.augment);
  if (cpu_of(node.unpack) > std::max(decode, augment)) return stage::kUnpack;
  return augment > decode ? stage::kAugment : stage::kDecode;
}

}  // namespace

MeasuredNode median_node(std::span<const MeasuredNode> repetitions) {
  MeasuredNode node = repetitions.front();
  std::vector<MeasuredStage> reads;
  for (const MeasuredNode& repetition : repetitions) reads.push_back(repetition.read);
  node.read = median_stage(reads);
  node.sample_bytes = median(repetitions, [](const MeasuredNode& of) { return of.sample_bytes; });
  for (const auto stage :
       {&MeasuredNode::decode, &MeasuredNode::augment, &MeasuredNode::pipeline, &MeasuredNode::transfer}) {
    node.*stage = median_stage(repetitions, stage);
  }
  return node;
}

bool from_memory(const MeasuredNode& node) {
  return node.cache_state == CacheState::warm || node.cache_state == CacheState::mixed;
}

bool decodes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  return (!requirement || requirement->is_of_images()) && node.decode.has_value();
}

double sample_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  const bool has_own = requirement && requirement->preset != nullptr && !requirement->is_of_images();
  return has_own ? requirement->job.sample_bytes : node.sample_bytes;
}

double decoded_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement, double tensor_bytes) {
  if (!decodes(node, requirement)) return sample_bytes(node, requirement);
  const double pixels = node.crop > 0 ? 1 : node.megapixels * 1e6;
  return tensor_bytes * pixels;
}

std::optional<StageRate> transfer_rate(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                                       double tensor_bytes) {
  const double bytes = decoded_bytes(node, requirement, tensor_bytes);
  if (!node.transfer || bytes <= 0) return std::nullopt;
  const auto gpus = static_cast<double>(requirement ? requirement->job.gpus : node.transfer_gpus);
  return StageRate{stage::kTransfer, node.transfer->rate * gpus / bytes};
}

std::vector<StageRate> stage_rates(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  const double bytes = sample_bytes(node, requirement);
  std::vector<StageRate> rates{{stage::kRead, bytes > 0 ? node.read.rate / bytes : 0}};
  if (node.unpack && bytes > 0) {  // its time is in proportion to the bytes of a sample
    const double seconds = node.unpack->cpu_seconds * bytes / node.sample_bytes;
    if (seconds > 0) rates.push_back({stage::kUnpack, unpacking_cores(node) / seconds});
  }
  if (decodes(node, requirement)) rates.push_back({threads_stage(node), cores_rate(node)});
  return rates;
}

double cpu_seconds(const MeasuredNode& node) {
  return node.read.cpu_seconds + cpu_of(node.unpack) + cpu_of(node.decode) + cpu_of(node.augment);
}

double unpacking_cores(const MeasuredNode& node) {
  return node.unpack ? std::min(node.cores, static_cast<double>(node.unpack->shards)) : 0;
}

void MoreReaders::describe(FieldList& v) {
  v.field({"readers", Unit::count, "threads that read"}, readers);
  v.field({"samples_per_second", Unit::per_second, "samples divided by time"}, samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by time"}, bytes_per_second);
}

}  // namespace shardkit::bench
