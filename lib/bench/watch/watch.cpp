#include "bench/watch/watch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "catalog/object_location.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"

namespace shardkit::bench {
namespace {

constexpr double kLeastInterval = 0.1;

/// False after a stop.
bool sleep_until(double moment, system::Clock& clock, const std::stop_token& stop) {
  try {
    clock.sleep(system::Seconds(std::max(0.0, moment - clock.monotonic().count())), stop);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    return false;
  }
}

void warn_of_hidden_bytes(const WatchResult& result, Context& context) {
  if (!result.summary.hides_bytes) return;
  context.warn("process_hidden",
               fmt::format("the reads and writes of process {} and its descendants are not visible all the time: "
                           "/proc/PID/io is for the user of the process and for root with CAP_SYS_PTRACE",
                           result.pid.value_or(0)));
}

void keep(const WatchRow& row, std::vector<WatchRow>& rows) {
  if (rows.size() == WatchResult::kMostRows) rows.erase(rows.begin());
  rows.push_back(row);
}

}  // namespace

void check_watch_options(const WatchOptions& options) {
  check_ranges(options);
  if (options.budget && *options.budget < options.interval) {
    throw usage_error("--budget must be at least --interval, which is {}", format_duration(options.interval));
  }
  if (options.path && catalog::is_address(*options.path)) {
    throw usage_error("{}", "watch checks storage that is mounted on this machine, not '" +
                                without_secrets(*options.path) +
                                "'; use `iobench read` to measure s3:// and http(s)://");
  }
}

WatchEnd watch_loop(const WatchOptions& options, system::Clock& clock, const std::stop_token& stop,
                    const WatchLook& look, const WatchInterval& take) {
  WatchSample before = look();
  const double end = before.moment + options.budget.value_or(1e12);
  double next = before.moment;
  for (std::uint64_t taken = 1;; ++taken) {
    next = std::max(next + options.interval, clock.monotonic().count());
    const bool last = next > end - kLeastInterval;
    const bool slept = sleep_until(std::min(next, end), clock, stop);
    if (!slept && clock.monotonic().count() - before.moment < kLeastInterval) return WatchEnd::stopped;
    WatchSample after = look();
    if (after.process_ended) return WatchEnd::process;
    if (!take(before, after)) return WatchEnd::stopped;
    before = std::move(after);
    if (!slept) return WatchEnd::stopped;
    if (last) return WatchEnd::duration;
    if (taken == options.count) return WatchEnd::count;
  }
}

WatchResult watch(const WatchOptions& options, Context& context, const WatchRowSink& sink) {
  check_watch_options(options);
  const system::Probe& probe = system::live_probe();
  const WatchTarget target = find_watch_target(options, probe);
  const gpu::GpuMonitorSearch gpus = gpu::find_gpu_monitor();
  const WatchedFiles files = target.path.empty() ? WatchedFiles() : WatchedFiles(target.path);
  WatchResult result =
      watch(options, context, sink, target, {probe, system::system_clock(), gpus.monitor.get(), files});
  result.gpus_missing = gpus.missing;
  return result;
}

WatchResult watch(const WatchOptions& options, Context& context, const WatchRowSink& sink, const WatchTarget& target,
                  const WatchSources& sources) {
  context.progress().start("watching", options.count.value_or(0));
  WatchResult result;
  result.pid = target.pid;
  result.command = target.command;
  result.path = target.path;
  result.storage = target.storage;
  result.files = sources.files.count();
  result.lines = options.lines;
  const auto look = [&] { return take_watch_sample(target, sources); };
  const auto take = [&](const WatchSample& before, const WatchSample& after) {
    const WatchRow row = watch_row(target, before, after);
    result.summary.add(row);
    if (context.keeps_result()) keep(row, result.rows);
    context.progress().items.fetch_add(1, std::memory_order_relaxed);
    return sink(row);
  };
  result.ended = watch_loop(options, sources.clock, context.stop_token(), look, take);
  result.verdict = judge_watch(target, result.summary);
  result.findings = watch_findings(result.summary);
  warn_of_hidden_bytes(result, context);
  return result;
}

void WatchResult::describe(FieldList& v) {
  describe_end(v);
  v.field({"rows", "the last 1800 intervals"}, rows);
}

void WatchResult::describe_end(FieldList& v) {
  v.field({"verdict", "bottleneck"}, verdict);
  v.field({"ended", "why it ended: a signal, the end of the process, --budget or --count"}, ended);
  v.field({"pid", Unit::count, "process that was watched"}, pid);
  v.field({"command", "name of that process"}, command);
  v.field({"path", "path of the data with links resolved"}, path);
  v.field({"storage", "storage of the data"}, storage);
  v.field({"files", Unit::count, "files of the data whose share in the page cache was sampled"}, files);
  v.field({"gpus_missing", "why GPU metrics are not available; null if they are"}, gpus_missing);
  v.field({"summary", "summary of all intervals"}, summary);
  v.field({"findings", "findings, most severe first"}, findings);
}

}  // namespace shardkit::bench
