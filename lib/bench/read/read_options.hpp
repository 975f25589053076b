#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bench/read/read.hpp"

/// What the options of `iobench read` mean for local files, defaults included, and which are refused.
///
/// The fio jobs that platform teams know, and what fio would be asked for to read as we do.
namespace shardkit::bench {

io::EngineKind engine_of(const ReadOptions& options);
std::uint64_t depth_of(const ReadOptions& options);
std::uint64_t threads_of(const ReadOptions& options);
std::uint64_t block_of(const ReadOptions& options);

/// True when random reads are of pieces of one size at multiples of it, not of samples: --block, or --sample-bytes.
bool reads_grid(const ReadOptions& options);
/// That size.
std::uint64_t grid_of(const ReadOptions& options);

/// True when to read the same data again measures the same: past the page cache, from memory, or from caches that are
/// dropped before.
bool may_read_again(const ReadOptions& options);

/// Throws Error{usage} for what makes no sense, before anything is looked at.
void check_read_options(const ReadOptions& options);

/// Throws Error{usage} when buffers for reads of `largest` bytes at once need more than half of the memory.
void check_read_memory(const ReadOptions& options, std::uint64_t largest);

/// `options` with what --job stands for in place of what was not given. Throws Error{usage} for a job that there is
/// not, or one that --mode contradicts. Without a job the options as they are.
ReadOptions with_job(const ReadOptions& options);

/// One line on what the job stands for, as it was run; empty without a job.
std::string describe_job(const ReadOptions& options);

/// The fio command that reads these files with the same pattern, engine, depth and cache; empty where fio knows no such
/// pattern (samples, folders).
std::string fio_command(const ReadOptions& options, std::span<const InputFile> files);

}  // namespace shardkit::bench
