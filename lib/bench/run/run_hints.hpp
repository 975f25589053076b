#pragma once

#include <string>
#include <vector>

namespace shardkit {

/// Advice of the pipeline (bench/pipeline/pipeline_verdict.hpp) with run's options for the pipeline's; what run has
/// none for is left out. Pure.
std::vector<std::string> in_words_of_run(std::vector<std::string> advice);

}  // namespace shardkit
