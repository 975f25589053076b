#pragma once

#include <memory>

#include "io/read_engine.hpp"

namespace shardkit::io {

/// Reads by copying out of a mapping of the whole file, as memory-mapped data sets do: each page comes by a fault, with
/// the kernel's read-ahead. Throws Error{unsupported} for direct reads.
std::unique_ptr<ReadEngine> make_mmap_engine(const ReadEngineOptions& options);

}  // namespace shardkit::io
