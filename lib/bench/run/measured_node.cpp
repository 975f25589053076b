#include "bench/run/measured_node.hpp"

#include <algorithm>
#include <array>

#include "stats/summary.hpp"

namespace shardkit {
namespace {

using Number = double MeasuredNode::*;
using OptionalNumber = std::optional<double> MeasuredNode::*;

Summary over(std::span<const MeasuredNode> turns, Number number) {
  std::vector<double> values;
  for (const MeasuredNode& turn : turns) values.push_back(turn.*number);
  return summarize(values);
}

/// Empty when a turn lacks it.
std::optional<Summary> over(std::span<const MeasuredNode> turns, OptionalNumber number) {
  std::vector<double> values;
  for (const MeasuredNode& turn : turns) {
    if (!(turn.*number)) return std::nullopt;
    values.push_back(*(turn.*number));
  }
  return summarize(values);
}

RateInterval interval_of(const Summary& summary) { return {summary.low, summary.high}; }

/// A rate that may be missing, and its interval.
void take(std::span<const MeasuredNode> turns, OptionalNumber rate, std::optional<RateInterval> MeasuredNode::*interval,
          MeasuredNode& node) {
  const auto summary = over(turns, rate);
  node.*rate = summary ? std::optional(summary->median) : std::nullopt;
  node.*interval = summary ? std::optional(interval_of(*summary)) : std::nullopt;
}

/// The rate at which the cores read, decode and augment, all at once: what the cores give that all share, or the
/// threads that do the last two one after the other.
double cores_rate(const MeasuredNode& node) {
  const std::array cpu{node.read_cpu_seconds, node.decode_cpu_seconds, node.augment_cpu_seconds};
  const double shared = shared_cores_rate(node.cores, cpu);
  double seconds = 1 / *node.decode_samples_per_second;
  if (node.augment_samples_per_second) seconds += 1 / *node.augment_samples_per_second;
  return std::min(shared, 1 / seconds);
}

/// Which of the two that share threads takes more of them.
std::string_view threads_stage(const MeasuredNode& node) {
  return node.augment_cpu_seconds > node.decode_cpu_seconds ? stage::kAugment : stage::kDecode;
}

}  // namespace

MeasuredNode median_node(std::span<const MeasuredNode> turns) {
  MeasuredNode node = turns.front();
  for (const Number number : {&MeasuredNode::sample_bytes, &MeasuredNode::read_cpu_seconds,
                              &MeasuredNode::decode_cpu_seconds, &MeasuredNode::augment_cpu_seconds}) {
    node.*number = over(turns, number).median;
  }
  const Summary read = over(turns, &MeasuredNode::read_bytes_per_second);
  node.read_bytes_per_second = read.median;
  node.read_interval = interval_of(read);
  take(turns, &MeasuredNode::decode_samples_per_second, &MeasuredNode::decode_interval, node);
  take(turns, &MeasuredNode::augment_samples_per_second, &MeasuredNode::augment_interval, node);
  take(turns, &MeasuredNode::pipeline_samples_per_second, &MeasuredNode::pipeline_interval, node);
  take(turns, &MeasuredNode::transfer_bytes_per_second, &MeasuredNode::transfer_interval, node);
  return node;
}

bool decodes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  return (!requirement || requirement->is_of_images()) && node.decode_samples_per_second.has_value();
}

double sample_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  return requirement && !requirement->is_of_images() ? requirement->job.sample_bytes : node.sample_bytes;
}

double decoded_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                     std::uint64_t tensor_bytes) {
  if (!decodes(node, requirement)) return sample_bytes(node, requirement);
  const double pixels = node.crop > 0 ? 1 : node.megapixels * 1e6;
  return static_cast<double>(tensor_bytes) * pixels;
}

double cpu_seconds(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  const double read = node.sample_bytes > 0
                          ? node.read_cpu_seconds * sample_bytes(node, requirement) / node.sample_bytes
                          : node.read_cpu_seconds;
  return read + (decodes(node, requirement) ? node.decode_cpu_seconds + node.augment_cpu_seconds : 0);
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
  if (decodes(node, requirement)) rates.push_back({threads_stage(node), cores_rate(node)});
  return rates;
}

}  // namespace shardkit
