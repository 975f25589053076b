#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bench/read/read.hpp"

/// The meaning of the options of `iobench read`, with checks, and for local files their defaults and the fio command
/// for the same reads.
namespace shardkit::bench {

io::EngineKind engine_of(const ReadOptions& options);
std::uint64_t depth_of(const ReadOptions& options);
std::uint64_t threads_of(const ReadOptions& options);
std::uint64_t block_of(const ReadOptions& options);

/// True if random reads are blocks of one size at multiples of it, not samples: --block, or --sample-bytes.
bool reads_grid(const ReadOptions& options);
/// That size.
std::uint64_t grid_of(const ReadOptions& options);

/// True if reading the same data again measures the same: bypassing the page cache, from memory, or from caches that
/// are dropped before.
bool may_read_again(const ReadOptions& options);

/// What is read, which decides the options that have a meaning.
enum class ReadKind { files, folders, objects };

/// Throws Error{usage} for options that do not apply or exclude each other, before any file is opened.
void check_read_options(const ReadOptions& options, ReadKind kind);

/// Throws Error{usage} if buffers for concurrent reads of `largest` bytes need more than half of the memory.
void check_read_memory(const ReadOptions& options, std::uint64_t largest);

/// The fio command that reads these files with the same pattern, engine, depth and cache; empty if fio does not support
/// the pattern (samples, folders).
std::string fio_command(const ReadOptions& options, std::span<const InputFile> files);

}  // namespace shardkit::bench
