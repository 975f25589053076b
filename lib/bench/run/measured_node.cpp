#include "bench/run/measured_node.hpp"

#include <algorithm>
#include <array>

namespace shardkit {
namespace {

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

bool decodes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  return (!requirement || requirement->is_of_images()) && node.decode_samples_per_second.has_value();
}

double sample_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  return requirement && !requirement->is_of_images() ? requirement->job.sample_bytes : node.sample_bytes;
}

double cpu_seconds(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  const double read = node.sample_bytes > 0
                          ? node.read_cpu_seconds * sample_bytes(node, requirement) / node.sample_bytes
                          : node.read_cpu_seconds;
  return read + (decodes(node, requirement) ? node.decode_cpu_seconds + node.augment_cpu_seconds : 0);
}

std::vector<StageRate> stage_rates(const MeasuredNode& node, const std::optional<JobRequirement>& requirement) {
  const double bytes = sample_bytes(node, requirement);
  std::vector<StageRate> rates{{stage::kRead, bytes > 0 ? node.read_bytes_per_second / bytes : 0}};
  if (decodes(node, requirement)) rates.push_back({threads_stage(node), cores_rate(node)});
  return rates;
}

}  // namespace shardkit
