#include "bench/model/verdict.hpp"

#include <algorithm>

#include "core/units.hpp"

namespace shardkit {

std::string_view stage_activity(std::string_view stage) {
  if (stage == stage::kRead) return "reading";
  if (stage == stage::kDecode) return "decoding";
  if (stage == stage::kAugment) return "augmenting";
  return stage;
}

std::string sample_rate_text(double samples_per_second) {
  const std::string count = format_rounded_count(samples_per_second);
  return count + (count == "1" ? " sample/s" : " samples/s");
}

Judgement judge(const TrainingJob& job, double min_au, std::span<const StageRate> rates) {
  const StageRate& slowest = *std::min_element(rates.begin(), rates.end(), [](const StageRate& a, const StageRate& b) {
    return a.samples_per_second < b.samples_per_second;
  });
  const double supply = slowest.samples_per_second;
  const double demand = samples_per_second(job);
  Judgement judgement;
  judgement.limiting_stage = supply < demand ? slowest.stage : stage::kCompute;
  judgement.supply_per_second = supply;
  judgement.headroom_ratio = supply / demand;
  judgement.overlapped_au = overlapped_au(supply, demand);
  judgement.serial_au = serial_au(job, supply);
  judgement.gpus_fed = gpus_fed(job, supply, min_au);
  judgement.ok = judgement.overlapped_au >= min_au;
  return judgement;
}

}  // namespace shardkit
