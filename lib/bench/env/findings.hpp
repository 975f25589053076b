#pragma once

#include <optional>
#include <vector>

#include "bench/env/env.hpp"
#include "bench/results/finding.hpp"

namespace shardkit::bench {

/// All findings of the rules, most severe first, then in the order of the rules. `job`: the loader, if known. A rule
/// checks one fact and reports nothing if that fact is unknown.
std::vector<MachineFinding> find_findings(const Environment& environment, const std::optional<LoaderJob>& job);

}  // namespace shardkit::bench
