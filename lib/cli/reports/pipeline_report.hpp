#pragma once

#include <string>

#include "bench/pipeline/pipeline.hpp"

namespace shardkit {

/// `iobench pipeline` in text: the stage that sets the pace, rates and utilisation, then the stages' threads, epochs
/// and prefetch values as tables.
std::string render_pipeline(const PipelineResult& result, bool colour);

}  // namespace shardkit
