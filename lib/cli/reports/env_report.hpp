#pragma once

#include <string>

#include "bench/env/env.hpp"

namespace shardkit {

/// `iobench env` in text: how many findings there are, each with what was measured, what is normal and what to do, then
/// the machine in a line for each part.
std::string render_env(const EnvResult& result, bool colour);

}  // namespace shardkit
