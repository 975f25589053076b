// From intervals to a verdict, its figures and findings.

#include <algorithm>

#include <doctest/doctest.h>

#include "bench/watch/watch_findings.hpp"
#include "bench/watch/watch_verdict.hpp"
#include "support/fake_gpu_monitor.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::system;
using doctest::Approx;
using shardkit_test::healthy_gpu;

namespace {

using Codes = std::vector<std::string>;

WatchRow interval(Shortage short_of, double seconds = 1) {
  WatchRow row;
  row.seconds = seconds;
  row.short_of = short_of;
  return row;
}

WatchSummary summary_of(const std::vector<WatchRow>& rows) {
  WatchSummary summary;
  for (const WatchRow& row : rows) summary.add(row);
  return summary;
}

WatchTarget data_on_disk() {
  WatchTarget target;
  target.path = "/data";
  target.storage.device = "nvme0n1";
  return target;
}

WatchVerdict verdict_of(const std::vector<WatchRow>& rows, const WatchTarget& target = {}) {
  return judge_watch(target, summary_of(rows));
}

Codes codes(const std::vector<WatchRow>& rows) {
  Codes codes;
  for (const MachineFinding& finding : watch_findings(summary_of(rows))) codes.push_back(finding.code);
  return codes;
}

bool has_line(const WatchVerdict& verdict, const std::string& part) {
  return std::ranges::any_of(verdict.evidence,
                             [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

WatchRow with_gpu(double busy, Shortage short_of = Shortage::nothing) {
  WatchRow row = interval(short_of);
  GpuRow gpu{healthy_gpu(), std::nullopt};
  gpu.state.gpu_busy = busy;
  gpu.state.memory_used = *gpu.state.memory / 2;
  row.gpus = {gpu};
  return row;
}

}  // namespace

TEST_CASE("means are weighted by time, waits by requests, and missing values do not count") {
  WatchRow slow = interval(Shortage::storage, 1);
  slow.disk = DiskRow();
  slow.disk->reads = 1;
  slow.disk->read_wait = 0.5;
  slow.node.cpu_busy = 0.2;
  WatchRow fast = interval(Shortage::nothing, 3);
  fast.disk = DiskRow();
  fast.disk->reads = 333;
  fast.disk->read_wait = 0.001;
  fast.node.cpu_busy = 0.6;
  const WatchSummary summary = summary_of({slow, fast, interval(Shortage::nothing, 4)});
  CHECK(summary.intervals == 3);
  CHECK(summary.seconds == 8);
  CHECK(summary.cpu_busy.value() == Approx(0.5));
  CHECK(summary.disk_read_wait.value() == Approx(1.499 / 1000));
  CHECK(summary.disk_reads.value() == Approx(250));
  CHECK(summary.share(Shortage::storage) == Approx(0.125));
  CHECK_FALSE(summary.gpu_busy.value());
}

TEST_CASE("levels are kept at their worst") {
  WatchRow first = interval(Shortage::nothing);
  first.node.memory_available = 100;
  first.node.dev_shm_free = 7;
  WatchRow second = interval(Shortage::nothing);
  second.node.memory_available = 300;
  second.node.dev_shm_free = 5;
  second.group.memory = 9;
  const WatchSummary summary = summary_of({first, second});
  CHECK(summary.least_memory_available == 100);
  CHECK(summary.least_dev_shm_free == 5);
  CHECK(summary.most_group_memory == 9);
}

TEST_CASE("the shortage that took the most time is the verdict, from a tenth of it on") {
  const WatchVerdict verdict =
      verdict_of({interval(Shortage::storage, 5), interval(Shortage::cores, 2), interval(Shortage::nothing, 3)});
  CHECK(verdict.short_of == Shortage::storage);
  CHECK(verdict.share == Approx(0.5));
  CHECK(verdict.text == "storage was the bottleneck 50 % of the time");
  CHECK(verdict_of({interval(Shortage::storage, 1), interval(Shortage::nothing, 9.5)}).short_of == Shortage::nothing);
  CHECK(verdict_of({interval(Shortage::cores, 17), interval(Shortage::nothing, 83)}).text ==
        "no bottleneck 83 % of the time; CPU 17 % of the time");
  CHECK(verdict_of({interval(Shortage::cores, 1)}).text == "CPU was the bottleneck 100 % of the time");
}

TEST_CASE("busy GPUs are the verdict when nothing is short for a tenth of the time") {
  const WatchVerdict busy = verdict_of({with_gpu(0.95, Shortage::compute), with_gpu(0.85, Shortage::compute)});
  CHECK(busy.short_of == Shortage::compute);
  CHECK(busy.text == "no bottleneck: GPUs were busy 90 % of the time");
  CHECK(busy.remedy.empty());
  CHECK(has_line(busy, "1 GPU in use: busy 90 %"));
  CHECK(verdict_of({interval(Shortage::compute, 8), interval(Shortage::storage, 2)}).short_of == Shortage::storage);
}

TEST_CASE("GPUs that wait although nothing is short: what a node does not tell") {
  const WatchVerdict verdict = verdict_of({with_gpu(0.3)});
  CHECK(verdict.short_of == Shortage::nothing);
  CHECK(verdict.text.find("GPUs were busy only 30 % of the time") != std::string::npos);
  CHECK(verdict.remedy.find("num_workers") != std::string::npos);
  CHECK(verdict_of({interval(Shortage::nothing)}).remedy.empty());
}

TEST_CASE("no interval is no verdict") {
  const WatchVerdict verdict = judge_watch({}, {});
  CHECK(verdict.short_of == Shortage::nothing);
  CHECK_FALSE(verdict.share);
  CHECK(verdict.text == "nothing was measured: the watch ended before its first interval");
  CHECK(verdict.remedy.empty());
}

TEST_CASE("slow storage comes with its figures") {
  WatchRow row = interval(Shortage::storage);
  row.node.pressure = {0.1, 0.64, 0.58, 0.0, 0.0};
  row.disk = DiskRow{"nvme0n1", 4100, 512e6, 131072, 0.012, 3, 1e6, 0.001, 0.99, 7};
  row.cached = 0.12;
  const WatchVerdict verdict = verdict_of({row}, data_on_disk());
  CHECK(has_line(verdict, "waiting for storage: some task 64 %, all tasks 58 %"));
  CHECK(has_line(verdict,
                 "disk nvme0n1: read 512 MB/s, 4100 reads/s, of 128 KiB, each 12 ms, written 1.00 MB/s, busy 99 %"));
  CHECK(has_line(verdict, "sampled files of PATH: in the page cache 12 %"));
  CHECK(verdict.remedy.find("`iobench read /data --cache cold`") != std::string::npos);
  CHECK(verdict.remedy.find("or a faster disk") != std::string::npos);
}

TEST_CASE("pressure of the node is named as the node's in a verdict about a job") {
  WatchRow row = interval(Shortage::memory);
  row.node.pressure = {0.1, 0.64, 0.58, 0.4, 0.0};
  CHECK(verdict_of({row}).text == "memory was the bottleneck 100 % of the time");
  row.job = JobRow();
  CHECK(verdict_of({row}).text == "memory of the node was the bottleneck 100 % of the time");
  CHECK(has_line(verdict_of({row}), "memory: some task of the node waits 40 %"));
  row.short_of = Shortage::storage;
  CHECK(has_line(verdict_of({row}), "some task of the node 64 %, all tasks of the node 58 %, 0.0 threads of the job"));
  row.group.pressure = {0.1, 0.3, 0.2, 0.0, 0.0};
  CHECK(has_line(verdict_of({row}), "waiting for storage: some task 30 %, all tasks 20 %, 0.0 threads of the job"));
}

TEST_CASE("a disk that is written more than read has another remedy, and so has NFS") {
  WatchRow row = interval(Shortage::storage);
  row.disk = DiskRow();
  row.disk->read_bytes = 1e6;
  row.disk->written_bytes = 5e8;
  CHECK(verdict_of({row}, data_on_disk()).remedy.find("iobench checkpoint") != std::string::npos);
  WatchTarget target;
  target.storage.storage_class = StorageClass::fuse;
  CHECK(verdict_of({interval(Shortage::storage)}, target).remedy.find("shardctl stage") != std::string::npos);
  target.nfs_mount = Mount();
  CHECK(verdict_of({interval(Shortage::storage)}, target).remedy.find("nconnect") != std::string::npos);
}

TEST_CASE("cores: the job's own load, or that of others") {
  WatchRow row = interval(Shortage::cores);
  row.node.busy_cores = 8;
  row.job = JobRow();
  row.job->cores = 7;
  CHECK(verdict_of({row}).remedy.find("use more cores") == 0);
  row.job->cores = 1;
  CHECK(verdict_of({row}).remedy.find("other processes use 7.0 of the 8.0 busy cores") == 0);
  row.node.cpu_busy = 0.5;
  row.job->processors = 1;
  CHECK(verdict_of({row}).remedy.find("the job may run on 1 of 16 processors and uses them all") == 0);
  row.job->processors = 16;
  CHECK(verdict_of({row}).remedy.find("other processes") == 0);
}

TEST_CASE("the CPU limit is named in cores") {
  WatchRow row = interval(Shortage::cpu_limit);
  row.group.cpu_limit = 7.65;
  row.group.throttled = 0.34;
  const WatchVerdict verdict = verdict_of({row});
  CHECK(verdict.text == "the CPU limit was the bottleneck 100 % of the time");
  CHECK(verdict.remedy.find("above 7.65 cores") != std::string::npos);
  CHECK(has_line(verdict, "CPU limit: 7.65 cores, throttles 34 %"));
}

TEST_CASE("memory and /dev/shm tell how little was left") {
  WatchRow row = interval(Shortage::memory);
  row.node.memory = 64ULL << 30U;
  row.node.memory_available = 1ULL << 30U;
  row.node.pressure.memory = 0.4;
  CHECK(has_line(verdict_of({row}), "memory: some task waits 40 %, lowest available 1.00 GiB, of 64.0 GiB"));
  row = interval(Shortage::dev_shm);
  row.node.dev_shm_size = 64 << 20U;
  row.node.dev_shm_free = 1 << 20U;
  CHECK(has_line(verdict_of({row}), "/dev/shm: lowest free 1.00 MiB, of 64.0 MiB"));
  CHECK(verdict_of({row}).text == "space in /dev/shm was the bottleneck 100 % of the time");
}

TEST_CASE("findings: a disk that answers late, in small pieces") {
  WatchRow row = interval(Shortage::nothing);
  row.disk = DiskRow();
  row.disk->reads = 150;
  row.disk->read_size = 4096;
  row.disk->read_wait = 0.011;
  CHECK(codes({row}) == Codes{"disk_wait", "small_reads"});
  row.disk->reads = 50;
  row.disk->read_wait = 0.009;
  CHECK(codes({row}).empty());
}

TEST_CASE("findings: NFS that answers late and is asked again") {
  WatchRow row = interval(Shortage::nothing);
  row.nfs = NfsRow();
  row.nfs->operations = 1000;
  row.nfs->retransmitted = 0.002;
  row.nfs->round_trip = 0.02;
  CHECK(codes({row}) == Codes{"nfs_round_trip", "nfs_retransmissions"});
  row.nfs->retransmitted = 0.001;
  row.nfs->round_trip = 0.002;
  CHECK(codes({row}).empty());
}

TEST_CASE("findings: a GPU that waits, is hot, has lost lanes") {
  CHECK(codes({with_gpu(0.79)}) == Codes{"gpu_idle"});
  WatchRow row = with_gpu(0.9);
  CHECK(codes({row}).empty());
  row.gpus[0].state.clock_limits = gpu::clock_limit::kHardwareHeat;
  row.gpus[0].state.pcie_lanes = 8;
  CHECK(codes({row}) == Codes{"gpu_slowdown", "gpu_link_degraded"});
  row.gpus[0].state.clock_limits = gpu::clock_limit::kPowerCap;
  row.gpus[0].state.pcie_lanes = 16;
  row.gpus[0].state.pcie_generation = 4;
  CHECK(codes({row}) == Codes{"gpu_link_degraded"});
  row.gpus[0].state.performance_state = 8;  // it saves power
  CHECK(codes({row}).empty());
}

TEST_CASE("findings: a GPU that is lost, which nothing else is known of") {
  WatchRow row = with_gpu(0.9);
  row.gpus.emplace_back();
  row.gpus[1].state.index = 1;
  row.gpus[1].state.fault = gpu::GpuFault::lost;
  CHECK(codes({row, with_gpu(0.9)}) == Codes{"gpu_lost"});
}

TEST_CASE("findings: throttling, /dev/shm and the memory limit, the worst first") {
  WatchRow row = interval(Shortage::nothing);
  row.group.memory = 96;
  row.group.memory_limit = 100;
  row.group.throttled = 0.02;
  row.node.dev_shm_size = 100;
  row.node.dev_shm_free = 5;
  CHECK(codes({row}) == Codes{"cpu_throttled", "dev_shm_low", "memory_limit"});
  row.group.memory = 90;
  row.group.throttled = 0.005;
  row.node.dev_shm_free = 50;
  CHECK(codes({row}).empty());
}

TEST_CASE("findings: processes with a core each beside idle ones, unless GPUs are fed or a limit cuts in") {
  WatchRow row = interval(Shortage::nothing);
  row.node.cpu_busy = 0.2;
  row.job = JobRow();
  row.job->cores = 4;
  row.job->saturated_processes = 4;
  CHECK(codes({row}) == Codes{"few_processes"});
  row.short_of = Shortage::compute;
  CHECK(codes({row}).empty());
  row.short_of = Shortage::cpu_limit;
  CHECK(codes({row}).empty());
  row.short_of = Shortage::nothing;
  row.node.cpu_busy = 0.8;
  CHECK(codes({row}).empty());
}
