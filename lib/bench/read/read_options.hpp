#pragma once

#include <cstdint>
#include <string>

#include "bench/read/read.hpp"

/// What the options of `iobench read` mean for local files, defaults included, and which are refused.
namespace shardkit {

std::string engine_of(const ReadOptions& options);
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

}  // namespace shardkit
