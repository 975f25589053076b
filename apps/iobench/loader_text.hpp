#pragma once

#include <string>

#include "bench/torch/loader_advice.hpp"

namespace shardkit::apps {

/// The Python code of a DataLoader, what it delivers as a comment below, and what would allow more processes.
/// `can_calibrate`: the verb has --python.
std::string loader_text(const bench::LoaderAdvice& loader, bool can_calibrate);

}  // namespace shardkit::apps
