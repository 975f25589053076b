#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/watch/watch_findings.hpp"
#include "bench/watch/watch_verdict.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "system/clock.hpp"

/// `iobench watch`: a running job, or the whole node, interval by interval, and its bottleneck.
namespace shardkit::bench {

/// Format of the line for each interval; none with --summary.
enum class WatchLines { text, json, none };
constexpr auto enum_names(WatchLines) { return std::to_array<std::string_view>({"text", "json", "none"}); }

struct WatchOptions {
  std::optional<std::string> path = {};
  std::optional<std::uint64_t> pid = {};
  double interval = 2;                ///< seconds
  std::optional<double> budget = {};  ///< seconds; empty: until it is stopped
  std::optional<std::uint64_t> count = {};
  WatchLines lines = WatchLines::text;
  bool summary = false;

  void describe(FieldList& v) {
    v.field({"PATH", "the data that the job reads: watches its disk or NFS mount and how much is in memory",
             Role::optional_positional},
            path);
    v.field({"pid", Unit::count, "first process of the job; its descendants are watched too", "P", at_least(1)}, pid);
    v.field({"interval", Unit::seconds, "length of an interval", between(0.1, 3600)}, interval);
    v.field({"budget", Unit::seconds, "stop after this time; otherwise at Ctrl-C, SIGTERM or the end of the process",
             Misnomers{"duration min-seconds min-time seconds"}},
            budget);
    v.field({"count", Unit::count, "stop after N intervals", at_least(1)}, count);
    v.field({"lines", "lines as text, or as one JSON object each"}, lines, 2);
    v.field({"summary",
             "no lines, only the verdict with time and figures, as text for a ticket; stops after 30 s by default"},
            summary);
  }
};

/// The options that --summary implies: no lines, and an end.
WatchOptions with_summary(WatchOptions options);

/// Throws Error{usage} for invalid options.
void check_watch_options(const WatchOptions& options);

/// Why a watch ended.
enum class WatchEnd { stopped, process, duration, count };
constexpr auto enum_names(WatchEnd) {
  return std::to_array<std::string_view>({"stopped", "process", "duration", "count"});
}

using WatchLook = std::function<WatchSample()>;
/// False if no more intervals are needed.
using WatchInterval = std::function<bool(const WatchSample& before, const WatchSample& after)>;

/// Samples at once and then at every interval of the options, at times fixed by the first sample, so that delays do not
/// add up. A sample that takes longer than an interval makes intervals longer. Each pair of samples is passed to
/// `take`, but not the one in which the process ended. A stop ends it too: the time since the last sample is an
/// interval of its own if it is at least a tenth of a second. `take` can stop it as well. Throws the errors of `look`
/// and `take`.
WatchEnd watch_loop(const WatchOptions& options, system::Clock& clock, const std::stop_token& stop,
                    const WatchLook& look, const WatchInterval& take);

struct WatchResult {
  WatchVerdict verdict;
  WatchEnd ended = WatchEnd::stopped;
  std::optional<std::uint64_t> pid;
  std::string command;
  std::string path;
  system::StorageFacts storage;
  std::uint64_t files = 0;                  ///< files whose share in the page cache was sampled
  std::optional<std::string> gpus_missing;  ///< why GPU metrics are not available
  WatchSummary summary;
  std::vector<MachineFinding> findings;
  std::vector<WatchRow> rows;           ///< the last kMostRows, and only with Context::keeps_result()
  WatchLines lines = WatchLines::text;  ///< from the options: the final report has the format of the lines
  bool is_summary = false;              ///< from the options
  std::string began;                    ///< RFC 3339, UTC

  static constexpr std::size_t kMostRows = 1800;

  void describe(FieldList& v);
  /// All except the rows.
  void describe_end(FieldList& v);
};

/// Gets each interval as it ends; false if no more are needed, which stops the watch.
using WatchRowSink = std::function<bool(const WatchRow&)>;

/// Watches until a limit is reached, the process ends, or the context is stopped, which is the normal end and not a
/// failure. Only reads counters, never the data. Throws the errors of check_watch_options(), find_watch_target() and
/// the sink.
WatchResult watch(const WatchOptions& options, Context& context, const WatchRowSink& sink);

/// The same for any machine. `sources.files` are those of the target's path.
WatchResult watch(const WatchOptions& options, Context& context, const WatchRowSink& sink, const WatchTarget& target,
                  const WatchSources& sources);

}  // namespace shardkit::bench
