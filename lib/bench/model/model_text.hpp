#pragma once

#include <optional>
#include <string>

#include "bench/model/job_requirement.hpp"
#include "bench/model/model.hpp"

namespace shardkit {

/// What comes of a model in a line: whether the supply is enough, which stage limits and which was not measured;
/// without a supply what the job takes; what checkpoints take of its time; without a job what the supply feeds; without
/// either that presets are listed.
std::string model_text(const ModelResult& result, const std::optional<JobRequirement>& requirement);

}  // namespace shardkit
