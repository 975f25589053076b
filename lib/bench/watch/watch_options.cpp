#include "bench/watch/watch_options.hpp"

#include "core/error.hpp"

namespace shardkit {
namespace {

constexpr double kShortestInterval = 0.1;  // less and a look takes a good part of it
constexpr double kLongestInterval = 3600;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

}  // namespace

void check_watch_options(const WatchOptions& options) {
  if (!(options.interval >= kShortestInterval && options.interval <= kLongestInterval)) {
    refuse("--interval: expected 100ms to 1h");
  }
  if (options.duration && *options.duration < options.interval) {
    refuse("--duration: shorter than one --interval, there would be nothing to tell");
  }
  if (options.count == 0) refuse("--count: expected at least 1");
  if (options.pid == 0) refuse("--pid: expected the number of a process, from 1 on");
  if (options.path && options.path->find("://") != std::string::npos) {
    refuse("watch looks at what is mounted on this machine; 'iobench read " + *options.path + "' measures a store");
  }
}

}  // namespace shardkit
