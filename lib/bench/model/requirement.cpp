#include "bench/model/requirement.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardkit {

double samples_per_second(const TrainingJob& job) {
  return static_cast<double>(job.gpus) * static_cast<double>(job.batch) / job.step_seconds;
}

double bytes_per_second(const TrainingJob& job) { return samples_per_second(job) * job.sample_bytes; }

std::uint64_t tensor_bytes(std::uint64_t side, std::uint64_t value_bytes) { return 3 * side * side * value_bytes; }

double decode_rate_of(double rate, double measured_bytes, double bytes) {
  constexpr double kNoDifference = 1.25;
  return measured_bytes > 0 && bytes > kNoDifference * measured_bytes ? rate * measured_bytes / bytes : rate;
}

double prefetch_bytes(std::uint64_t ranks, std::uint64_t workers, std::uint64_t prefetch, std::uint64_t batch,
                      double decoded_sample_bytes) {
  return static_cast<double>(ranks) * static_cast<double>(workers) * static_cast<double>(prefetch) *
         static_cast<double>(batch) * decoded_sample_bytes;
}

double checkpoint_share(double blocked_seconds, double interval_steps, double step_seconds) {
  return blocked_seconds / (interval_steps * step_seconds + blocked_seconds);
}

bool checkpoint_fits(double write_seconds, double interval_steps, double step_seconds) {
  return write_seconds <= interval_steps * step_seconds;
}

double overlapped_au(double supply_per_second, double demand_per_second) {
  return std::min(1.0, supply_per_second / demand_per_second);
}

double serial_au(const TrainingJob& job, double supply_per_second) {
  if (supply_per_second <= 0) return 0;
  const double fetch = static_cast<double>(job.gpus) * static_cast<double>(job.batch) / supply_per_second;
  return job.step_seconds / (job.step_seconds + fetch);
}

std::uint64_t gpus_fed(const TrainingJob& job, double supply_per_second, double au) {
  TrainingJob one = job;
  one.gpus = 1;
  constexpr double kRounding = 1e-9;  // 3 * (1 / 3) GPUs are one
  const double gpus = std::floor(supply_per_second / (au * samples_per_second(one)) + kRounding);
  return static_cast<std::uint64_t>(std::min(gpus, 1e18));
}

double shared_cores_rate(double cores, std::span<const double> cpu_seconds_per_sample) {
  const double sum = std::accumulate(cpu_seconds_per_sample.begin(), cpu_seconds_per_sample.end(), 0.0);
  return sum > 0 ? cores / sum : 0;
}

}  // namespace shardkit
