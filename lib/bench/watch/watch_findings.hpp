#pragma once

#include <vector>

#include "bench/results/finding.hpp"
#include "bench/watch/watch_summary.hpp"

namespace shardkit::bench {

/// Remarkable figures, whatever the verdict; they never become the verdict.
std::vector<MachineFinding> watch_findings(const WatchSummary& summary);

}  // namespace shardkit::bench
