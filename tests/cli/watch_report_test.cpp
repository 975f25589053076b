#include <algorithm>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "bench/watch/watch.hpp"
#include "cli/report_formats.hpp"
#include "cli/report_text.hpp"
#include "core/field_tree.hpp"
#include "iobench/verbs.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;
using namespace shardkit::cli;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

WatchRow interval() {
  WatchRow row;
  row.time = "2026-01-31T10:15:02Z";
  row.seconds = 2;
  row.short_of = Shortage::storage;
  row.node.cpu_busy = 0.42;
  row.node.memory_available = 3ULL << 30U;
  row.node.pressure = {0.01, 0.64, 0.5, 0.0, 0.0};
  row.job = JobRow();
  row.job->cores = 7.64;
  row.job->queued_threads = 1.25;
  row.job->blocked_threads = 12;
  row.disk = DiskRow();
  row.disk->read_bytes = 512e6;
  row.disk->read_wait = 0.0123;
  row.disk->busy = 0.99;
  return row;
}

WatchResult watched(WatchLines lines) {
  WatchResult result;
  result.lines = lines;
  result.pid = 4711;
  result.command = "python\x1b[31m";
  result.path = "/data";
  result.summary.add(interval());
  result.rows = {interval()};
  result.verdict = {Shortage::storage, 1.0, "storage is short", {"disk vda: read 512 MB/s"}, "faster storage"};
  result.findings = {{"disk_wait", shardkit::Severity::hint, "12 ms", "below 10 ms", "look at it", "the disk is slow"}};
  result.gpus_missing = "no driver";
  return result;
}

}  // namespace

TEST_CASE("a line begins with the bottleneck, and then has what tells most") {
  CHECK(watch_heading(interval()) ==
        "bottleneck       UTC    CPU  cores  blocked       read  latency  wait:io   busy\n");
  CHECK(watch_line(interval(), interval()) ==
        "storage     10:15:02   42 %    7.6       12   512 MB/s    12 ms     64 %   99 %\n");
}

TEST_CASE("a value that is no longer reported is a dash, and so is the absence of a bottleneck") {
  WatchRow row = interval();
  row.disk.reset();
  row.node.pressure = {};
  row.short_of = Shortage::nothing;
  CHECK(watch_line(row, interval()) ==
        "-           10:15:02   42 %    7.6       12          -        -        -      -\n");
}

TEST_CASE("lines fit a terminal of 80 columns, however much there is to tell") {
  WatchRow row = interval();
  row.nfs = NfsRow();
  row.nfs->round_trip = 0.02;
  row.nfs->retransmissions = 1.5;
  row.group.cpu_limit = 4;
  row.group.throttled = 0.34;
  row.node.dev_shm_size = 100;
  row.node.dev_shm_free = 25;
  row.cached = 0.125;
  GpuRow gpu;
  gpu.state.gpu_busy = 0.6;
  row.gpus = {gpu};
  row.short_of = Shortage::cpu_limit;
  CHECK(watch_heading(row) == "bottleneck       UTC   GPUs    CPU  cores  throttled  blocked       read   PCIe\n");
  CHECK(watch_line(row, row) == "CPU limit   10:15:02   60 %   42 %    7.6       34 %       12   512 MB/s      -\n");
  CHECK(watch_heading(row).size() <= 80);
  CHECK(watch_heading(row, 60) == "bottleneck       UTC   GPUs    CPU  cores  throttled   PCIe\n");
  CHECK(watch_line(row, row, 60) == "CPU limit   10:15:02   60 %   42 %    7.6       34 %      -\n");
  row.disk.reset();
  CHECK(contains(watch_heading(row), "blocked        nfs"));
}

TEST_CASE("the end: the verdict, what to do, its figures, findings, and what was watched") {
  const std::string report = report_text(answer_watch(watched(WatchLines::none)), false);
  CHECK(report.starts_with("storage is short (1.00 s)\nfaster storage\n\n  disk vda: read 512 MB/s\n"));
  CHECK(contains(report, "hint: the disk is slow\n  do      look at it\n"));
  CHECK(contains(report, "watched   process 4711 (python\\x1b[31m), /data\n"));
  CHECK(contains(report, "time      2.00 s in 1 interval, stopped\n"));
  CHECK_FALSE(contains(report, "limits"));  // the verdict is about all of the time
  CHECK(contains(report, "gpus      none visible (no driver)\n"));
}

TEST_CASE("the end fits a terminal of 80 columns and 24 rows") {
  WatchResult result = watched(WatchLines::none);
  result.verdict.text = "storage was the bottleneck 92 % of the time";
  result.verdict.remedy =
      "use more and larger parallel reads (num_workers, shards by shardctl convert), or a faster disk";
  const std::string figures =
      "disk nvme0n1p2: read 512 MB/s, 3906 reads/s, of 128 KiB, each 3.41 ms, written 0 B/s, busy 99 %";
  result.verdict.evidence.assign(5, figures);
  result.findings.front().text =
      "the disk answers a read after 12.3 ms on average, which is longer than one that is idle";
  const std::string report = shardkit::cli::answer_text(answer_watch(result), 1, {.columns = 80});
  CHECK(std::ranges::count(report, '\n') <= 23);
  std::size_t begin = 0;
  for (std::size_t end = report.find('\n'); end != std::string::npos; end = report.find('\n', begin)) {
    CHECK(end - begin <= 80);
    begin = end + 1;
  }
}

TEST_CASE(
    "if there were several bottlenecks, or none for a while, their shares are a line in the words of the verdict") {
  WatchResult result = watched(WatchLines::none);
  WatchRow row = interval();
  row.short_of = Shortage::cores;
  result.summary.add(row);
  row.short_of = Shortage::nothing;
  row.seconds = 4;
  result.summary.add(row);
  CHECK(contains(report_text(answer_watch(result), false), "limits    none 50 %, CPU 25 %, storage 25 %\n"));
}

TEST_CASE("behind lines the verdict stands apart, and is bold where colors are") {
  CHECK(report_text(answer_watch(watched(WatchLines::text)), false).starts_with("\nstorage is short (1.00 s)\n"));
  CHECK(report_text(answer_watch(watched(WatchLines::none)), true)
            .starts_with("\x1b[1mstorage is short (1.00 s)\x1b[0m\n"));
}

TEST_CASE("behind JSON lines the end is one too, without the rows that went before") {
  const std::string line = report_text(answer_watch(watched(WatchLines::json)), false);
  CHECK(line.find('\n') == line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  CHECK(json["event"] == "verdict");
  CHECK(json["verdict"]["short_of"] == "storage");
  CHECK(json["summary"]["short_ratio"]["storage"] == 1.0);
  CHECK(json["summary"]["gpu_busy_ratio"].is_null());
  CHECK_FALSE(json.contains("rows"));
}

TEST_CASE("a line of JSON is valid for any value") {
  WatchRow row = interval();
  row.disk->name = "\xff\n";
  row.disk->read_wait = std::numeric_limits<double>::infinity();
  const std::string line = json_line("interval", field_tree([&](FieldList& v) { row.describe(v); }));
  CHECK(line.find('\n') == line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  CHECK(json["event"] == "interval");
  CHECK(json["job"]["blocked_threads"] == 12);
  CHECK(json["disk"]["read_wait_seconds"].is_null());
  CHECK(json["nfs"].is_null());
}
