#pragma once

#include <string>

#include "bench/run/run.hpp"

namespace shardkit {

/// `iobench run` in text: the verdict first, what would close the gap, the ladder of required, measured and headroom,
/// the DataLoader line, the environment.
std::string render_run(const RunResult& result, bool colour);

}  // namespace shardkit
