#pragma once

#include <string>

namespace shardkit::apps {

/// JSON Schema of what scripts/check-gpu writes: a program of its own, whose fields no struct of ours describes.
/// tests/cli/check_gpu holds its results against it.
std::string gpu_check_schema();

}  // namespace shardkit::apps
