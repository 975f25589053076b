#pragma once

#include <string>

#include "bench/sweep/sweep.hpp"

namespace shardkit {

/// `iobench sweep` in text: the settings and the lines that use them, then every curve with its knee.
std::string render_sweep(const SweepResult& result, bool colour);

}  // namespace shardkit
