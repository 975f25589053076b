#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/watch/watch_loop.hpp"
#include "bench/watch/watch_options.hpp"
#include "bench/watch/watch_row.hpp"
#include "bench/watch/watch_summary.hpp"
#include "bench/watch/watch_verdict.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

/// `iobench watch`: a job that runs, or the whole node, interval by interval, and what it is short of.
namespace shardkit {

struct WatchResult {
  WatchVerdict verdict;
  WatchEnd ended = WatchEnd::stopped;
  std::optional<std::uint64_t> pid;
  std::string command;
  std::string path;
  StorageFacts storage;
  std::uint64_t files = 0;                  ///< whose place in the page cache was looked at
  std::optional<std::string> gpus_missing;  ///< why GPUs were not looked at
  WatchSummary summary;
  std::vector<Finding> findings;
  std::vector<WatchRow> rows;           ///< the last kMostRows, and only with Context::keeps_result()
  WatchLines lines = WatchLines::text;  ///< from the options: the form of the end is that of the lines

  static constexpr std::size_t kMostRows = 1800;

  void describe(FieldVisitor& v);
};

/// Takes each interval as it ends; false when no more are wanted, which is a stop.
using WatchRowSink = std::function<bool(const WatchRow&)>;

/// Watches until a bound is reached, the process ends, or the context's stop comes, which is the usual end and no
/// failure. Only counters are read, nothing of the data. Throws what
/// check_watch_options(), find_watch_target() and the sink throw.
WatchResult watch(const WatchOptions& options, Context& context, const WatchRowSink& sink);

/// The same of any machine. `sources.files` are those of the target's path.
WatchResult watch(const WatchOptions& options, Context& context, const WatchRowSink& sink, const WatchTarget& target,
                  const WatchSources& sources);

}  // namespace shardkit
