#pragma once

#include <string>

#include "bench/read/read.hpp"

namespace shardkit {

/// `iobench read` in text: of a store first whether to stream or to stage, or without a job what it gives; then, as of
/// local files from the start, all fields.
std::string render_read(const ReadResult& result, bool colour);

}  // namespace shardkit
