// The whole verb over a recorded node that changes from one interval to the next.

#include "bench/watch/watch.hpp"

#include <doctest/doctest.h>

#include "bench/watch/watch_machine.hpp"
#include "support/errors.hpp"
#include "support/fake_gpu_monitor.hpp"
#include "support/files.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit::test;
using shardkit_test::failure_of;
using shardkit_test::FakeClock;

namespace {

struct Watched {
  WatchResult result;
  std::vector<Shortage> lines;
  std::vector<shardkit::Finding> warnings;
};

/// A watch over the moments of a node, each 2 s after the one before.
Watched watch_moments(std::vector<RecordedTree> moments, WatchOptions options, const GpuMonitor* gpus = nullptr,
                      bool keep_rows = true) {
  FakeClock clock;
  const MovingNode node(clock, options.interval, std::move(moments));
  const WatchTarget target = find_watch_target(options, node);
  const WatchedFiles none;
  Context context;
  StringSink sink;
  if (!keep_rows) context.lend_output(sink, false);
  Watched watched;
  const auto take = [&](const WatchRow& row) {
    watched.lines.push_back(row.short_of);
    return true;
  };
  watched.result = watch(options, context, take, target, {node, clock, gpus, none});
  watched.warnings = context.warnings();
  return watched;
}

/// Storage for which all tasks wait the whole interval, also a thread of the job.
RecordedTree storage_stalls(const RecordedTree& before, int microseconds) {
  const std::string total = "total=" + std::to_string(2000000 + microseconds);
  RecordedTree tree =
      changed(before, "/proc/pressure/io:\n  some avg10=0.00 " + total + "\n  full avg10=0.00 " + total + "\n");
  tree.add("proc/4712/task/4712/stat", process_stat(4712, 4711, 300, "D"));
  return tree;
}

WatchOptions intervals(std::uint64_t count) {
  WatchOptions options = watch_of("/");
  options.count = count;
  return options;
}

}  // namespace

TEST_CASE("each interval is handed on as it ends, and the verdict is of all of them") {
  const RecordedTree calm = job_node();
  const RecordedTree stalled = storage_stalls(calm, 2000000);
  const Watched watched =
      watch_moments({calm, stalled, storage_stalls(calm, 4000000), storage_stalls(calm, 4000000)}, intervals(3));
  CHECK(watched.lines == std::vector{Shortage::storage, Shortage::storage, Shortage::nothing});
  CHECK(watched.result.verdict.short_of == Shortage::storage);
  CHECK(watched.result.verdict.text == "storage was the bottleneck 67 % of the time");
  CHECK(watched.result.ended == WatchEnd::count);
  CHECK(watched.result.rows.size() == 3);
  CHECK(watched.result.command == "python");
  CHECK(watched.result.path == "/");
  CHECK(watched.result.storage.device == "nvme0n1p2");
  CHECK(watched.warnings.empty());
}

TEST_CASE("rows are kept only for who wants the result") {
  CHECK(watch_moments({job_node()}, intervals(2), nullptr, false).result.rows.empty());
}

TEST_CASE("of a long watch the last rows are kept, and all of it is summed up") {
  const Watched watched = watch_moments({job_node()}, intervals(WatchResult::kMostRows + 2));
  CHECK(watched.result.rows.size() == WatchResult::kMostRows);
  CHECK(watched.result.rows.front().time == "2023-11-14T22:13:26Z");  // the third
  CHECK(watched.result.summary.intervals == WatchResult::kMostRows + 2);
}

TEST_CASE("a process that ends while it is watched ends the watch with a verdict") {
  const Watched watched = watch_moments({job_node(), job_node(), job_node().without("/proc/4711")}, watch_of("/"));
  CHECK(watched.result.ended == WatchEnd::process);
  CHECK(watched.result.summary.intervals == 1);
  CHECK_FALSE(watched.result.verdict.text.empty());
}

TEST_CASE("another user's process: what it reads is unknown, and one warning says so") {
  const RecordedTree closed = job_node().without("/proc/4711/io").without("/proc/4712/io");
  const Watched watched = watch_moments({closed}, intervals(3));
  REQUIRE(watched.warnings.size() == 1);
  CHECK(watched.warnings[0].code == "process_hidden");
  REQUIRE(watched.result.rows[0].job);
  CHECK(watched.result.rows[0].job->cores == 0.0);
}

TEST_CASE("busy GPUs make slow storage no shortage") {
  auto gpu = shardkit_test::healthy_gpu();
  gpu.gpu_busy = 0.97;
  const shardkit_test::FakeGpuMonitor monitor({gpu});
  const Watched watched = watch_moments({job_node(), storage_stalls(job_node(), 2000000)}, intervals(1), &monitor);
  CHECK(watched.result.verdict.short_of == Shortage::compute);
}

TEST_CASE("without a path the data is that which the job has open: shards, or large files") {
  WatchOptions options;
  options.pid = 4711;
  CHECK(find_watch_target(options, job_node()).path.empty());
  RecordedTree open = changed(job_node(), "/proc/4712/fd/3 -> /data/train/a.tar");
  open = changed(open, "/proc/4712/fd/4 -> /data/train/b.tar");
  open = changed(open, "/proc/4711/fd/3 -> /usr/lib/libtorch.so");
  for (const char* const file : {"/data/train/a.tar", "/data/train/b.tar", "/usr/lib/libtorch.so"}) {
    open = changed(open, std::string("answer stat ") + file + ": kind=file size=100000000 device=0:53");
  }
  const WatchTarget target = find_watch_target(options, open);
  CHECK(target.path == "/data/train");
  CHECK(target.nfs_mount);
}

TEST_CASE("a number instead of a path is taken for a process") {
  WatchOptions options;
  options.path = "4711";
  const auto error = failure_of([&] { find_watch_target(options, job_node()); });
  CHECK(error == ErrorCode::not_found);
  CHECK(error.says("use --pid 4711"));
}

TEST_CASE("on a busy node, the job that waits for storage all the time is named") {
  RecordedTree stalled = job_node();
  stalled.add("proc/4712/stat", process_stat(4712, 4711, 300, "D"));
  WatchOptions options;
  options.count = 2;
  const Watched watched = watch_moments({stalled}, options);
  REQUIRE(watched.result.rows.front().stalled);
  CHECK(watched.result.rows.front().stalled->pid == 4711);  // whose child waits
  const auto finding = std::ranges::find(watched.result.findings, "job_stalled", &MachineFinding::code);
  REQUIRE(finding != watched.result.findings.end());
  CHECK(finding->measured == "1 process of python (process 4711)");
  CHECK(finding->advice == "watch it: iobench watch --pid 4711");
  const Watched calm = watch_moments({job_node()}, options);
  CHECK(std::ranges::find(calm.result.findings, "job_stalled", &MachineFinding::code) == calm.result.findings.end());
}

TEST_CASE("a summary prints no lines and ends by itself") {
  WatchOptions options;
  options.summary = true;
  CHECK(with_summary(options).lines == WatchLines::none);
  CHECK(with_summary(options).budget == 30.0);
  options.count = 4;
  CHECK_FALSE(with_summary(options).budget);
}

TEST_CASE("a process or a path that is not there, a path of a wrong kind") {
  CHECK(failure_of([] { find_watch_target(watch_of("/", 99), job_node()); }) == ErrorCode::not_found);
  CHECK(failure_of([] { find_watch_target(watch_of("/proc/absent", 4711), job_node()); }) == ErrorCode::not_found);
  const RecordedTree tree = changed(job_node(), "answer stat /pipe: kind=other size=0 device=0:5");
  CHECK(failure_of([&] { find_watch_target(watch_of("/pipe"), tree); }) == ErrorCode::usage);
}

TEST_CASE("options that make no sense are refused") {
  const auto refused = [](auto change) {
    WatchOptions options;
    change(options);
    return failure_of([&] { check_watch_options(options); }) == ErrorCode::usage;
  };
  CHECK(refused([](WatchOptions& options) { options.interval = 0.05; }));
  CHECK(refused([](WatchOptions& options) { options.interval = 4000; }));
  CHECK(refused([](WatchOptions& options) { options.budget = 1; }));
  CHECK(refused([](WatchOptions& options) { options.count = 0; }));
  CHECK(refused([](WatchOptions& options) { options.pid = 0; }));
  CHECK(refused([](WatchOptions& options) { options.path = "s3://bucket/train"; }));
  CHECK_NOTHROW(check_watch_options(WatchOptions()));
}
