#pragma once

#include <string>

#include "bench/checkpoint/checkpoint.hpp"

namespace shardkit {

/// `iobench checkpoint` in text: first how long training waits, then a row for each mode, and what else was asked for.
std::string render_checkpoint(const CheckpointResult& result, bool colour);

}  // namespace shardkit
