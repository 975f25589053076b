#pragma once

#include <string>

#include "bench/model/job_requirement.hpp"
#include "bench/model/verdict.hpp"
#include "bench/run/measured_node.hpp"

namespace shardkit {

/// What would close the gap that a judgement found, in cores or bytes per second, and what else would help. Pure.
std::string remedy(const MeasuredNode& node, const JobRequirement& requirement, const Judgement& judgement);

}  // namespace shardkit
