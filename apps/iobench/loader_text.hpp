#pragma once

#include <string>

#include "bench/torch/loader_advice.hpp"

namespace shardkit::apps {

/// The Python code of a DataLoader, and what it delivers as a comment below. `can_calibrate`: the verb has --python.
/// `is_disturbed`: others made the measured rates lower, but what a loader delivers follows from CPU times.
std::string loader_text(const bench::LoaderAdvice& loader, bool can_calibrate, bool is_disturbed);

/// One line: the number of processes and what they deliver. Empty if there is no loader.
std::string short_loader_text(const bench::LoaderAdvice& loader, bool is_disturbed);

/// The command for more shards, in a sentence. Empty if there are enough.
std::string reshard_hint(const bench::LoaderAdvice& loader);

}  // namespace shardkit::apps
