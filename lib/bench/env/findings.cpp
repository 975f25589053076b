#include "bench/env/findings.hpp"

#include <algorithm>

namespace shardkit {

std::vector<Finding> find_findings(const Environment& environment, const std::optional<LoaderJob>& job) {
  std::vector<Finding> findings;
  judge_limits(environment, job, findings);
  judge_memory(environment, job, findings);
  judge_storage(environment, findings);
  judge_remote_storage(environment, findings);
  judge_devices(environment, findings);
  judge_gpus(environment, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  return findings;
}

}  // namespace shardkit
