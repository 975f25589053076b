#pragma once

#include <string>

#include "bench/torch/loader_advice.hpp"

namespace shardkit::apps {

/// The Python code of a DataLoader, what it delivers as a comment below, and what would allow more processes.
/// `can_calibrate`: the verb has --python. `is_disturbed`: others made the measured rates lower, but what a loader
/// delivers follows from CPU times.
std::string loader_text(const bench::LoaderAdvice& loader, bool can_calibrate, bool is_disturbed);

/// One line: the number of processes and what they deliver; and what would allow more. For data without a job, whose
/// report also names the published workloads.
std::string short_loader_text(const bench::LoaderAdvice& loader, bool is_disturbed);

}  // namespace shardkit::apps
