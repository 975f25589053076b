#pragma once

#include <string>

#include "bench/watch/watch.hpp"

namespace shardkit {

/// The names above the columns of watch_line(), for rows like this one: columns of what no row tells are left out.
std::string watch_heading(const WatchRow& row);

/// An interval as a line for people; "-" stands for what was not told this time. `shape` is the row whose heading
/// stands above.
std::string watch_line(const WatchRow& row, const WatchRow& shape);

/// watch() with its intervals as lines on Context::output(), of the form that the options ask for; the heading comes
/// again after each 20 lines.
WatchResult watch_to_output(const WatchOptions& options, Context& context);

}  // namespace shardkit
