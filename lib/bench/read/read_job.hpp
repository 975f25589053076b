#pragma once

#include <span>
#include <string>

#include "bench/read/read.hpp"

/// The fio jobs that platform teams know, and what fio would be asked for to read as we do.
namespace shardkit {

/// `options` with what --job stands for in place of what was not given. Throws Error{usage} for a job that there is
/// not, or one that --mode contradicts. Without a job the options as they are.
ReadOptions with_job(const ReadOptions& options);

/// One line on what the job stands for, as it was run; empty without a job.
std::string describe_job(const ReadOptions& options);

/// The fio command that reads these files with the same pattern, engine, depth and cache; empty where fio knows no such
/// pattern (samples, folders).
std::string fio_command(const ReadOptions& options, std::span<const InputFile> files);

}  // namespace shardkit
