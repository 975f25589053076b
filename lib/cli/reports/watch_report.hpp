#pragma once

#include <string>

#include "bench/watch/watch.hpp"

namespace shardkit {

/// The end of `iobench watch`: the verdict, its figures, what to do, shares of the time by what was short, and
/// findings. Behind JSON lines it is one more of them, {"event":"verdict",...}, with all of the result but its rows.
std::string render_watch(const WatchResult& result, bool colour);

}  // namespace shardkit
