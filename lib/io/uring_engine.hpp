#pragma once

#include <memory>

#include "io/read_engine.hpp"

namespace shardkit::io {

/// Reads by io_uring(7), through the page cache or directly. Each lane has a ring and `depth` buffers, registered where
/// the limit of locked memory allows it (see ReadEngine::remark()). A request goes to the kernel at the next wait(),
/// with those submitted since the last one. Throws Error{unsupported} where the kernel or a filter refuses, before
/// anything is read.
std::unique_ptr<ReadEngine> make_uring_engine(const ReadEngineOptions& options);

}  // namespace shardkit::io
