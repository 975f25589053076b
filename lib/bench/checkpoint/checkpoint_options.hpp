#pragma once

#include <optional>
#include <string>

#include "bench/checkpoint/checkpoint.hpp"

/// What the options of `iobench checkpoint` stand for, and which are refused.
namespace shardkit {

/// `options` with what --job stands for: fio's own example of a sequential write, as platform teams run it; --scale
/// makes its files smaller. Throws Error{usage} for a job that there is not, or one beside what it fixes.
CheckpointOptions with_job(const CheckpointOptions& options);

/// The fio command that the job stands for; empty without one. Of options that with_job() returned.
std::optional<std::string> fio_command(const CheckpointOptions& options);

/// Throws Error{usage} for what makes no sense.
void check_options(const CheckpointOptions& options);

}  // namespace shardkit
