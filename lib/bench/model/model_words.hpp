#pragma once

#include <optional>
#include <string>

#include "bench/model/model.hpp"
#include "bench/requirement/requirement.hpp"

namespace shardkit::bench {

/// The conclusion of a model in one line, from the rating of its supply: whether the supply is enough, the
/// bottleneck, and stages that were not measured. Without a supply: what the job needs. Also the share of checkpoints.
/// Without a job: what the supply can feed. Without either: that presets are listed.
std::string model_text(const ModelResult& result, const std::optional<JobRequirement>& requirement);

}  // namespace shardkit::bench
