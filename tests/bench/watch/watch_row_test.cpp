// Rates from two looks at a recorded node.

#include "bench/watch/watch_row.hpp"

#include <doctest/doctest.h>

#include "bench/watch/watch_machine.hpp"
#include "support/fake_gpu_monitor.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::system;
using namespace shardkit::test;
using doctest::Approx;
using shardkit_test::FakeClock;

namespace {

constexpr double kSeconds = 2;

/// What lies between two moments of a node, 2 s apart.
WatchRow between(const RecordedTree& first, const RecordedTree& second, const WatchOptions& options) {
  FakeClock clock;
  const WatchedFiles none;
  const WatchTarget target = find_watch_target(options, first);
  const WatchSample before = take_watch_sample(target, {first, clock, nullptr, none});
  clock.advance(Seconds(kSeconds));
  return watch_row(target, before, take_watch_sample(target, {second, clock, nullptr, none}));
}

WatchRow after(const std::string& changes, const std::string& path = "/") {
  return between(job_node(), changed(job_node(), changes), watch_of(path));
}

}  // namespace

TEST_CASE("an interval has its end and its length") {
  const WatchRow row = after("");
  CHECK(row.time == "2023-11-14T22:13:22Z");
  CHECK(row.seconds == Approx(2));
}

TEST_CASE("processors: busy shares of the interval alone") {
  const WatchRow row = after(
      "/proc/stat:\n  cpu  1400 0 200 9100 50 0 0 50 0 0\n  cpu0 0\n  cpu1 0\n  cpu2 0\n  cpu3 0\n"
      "  procs_blocked 3\n");
  CHECK(row.node.cpu_busy == Approx(650.0 / 800));
  CHECK(row.node.busy_cores == Approx(3.25));
  CHECK(row.node.stolen == Approx(50.0 / 800));
  CHECK(row.node.blocked_tasks == 3);
}

TEST_CASE("pressure is the totals' growth over the interval, never above all of it") {
  const WatchRow row = after(
      "/proc/pressure/io:\n  some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\n"
      "  full avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n"
      "/proc/pressure/memory: some avg10=0.00 avg60=0.00 avg300=0.00 total=2000900\n");
  CHECK(row.node.pressure.io == Approx(0.5));
  CHECK(row.node.pressure.io_full == Approx(0.25));
  CHECK(row.node.pressure.cpu == 0.0);
  CHECK(row.node.pressure.memory == 1.0);
}

TEST_CASE("memory: levels at the end, and how the page cache changed") {
  const WatchRow row = after(
      "/proc/meminfo:\n  MemTotal: 1048576 kB\n  MemAvailable: 400000 kB\n  Cached: 51200 kB\n  Buffers: 1024 kB\n"
      "/proc/vmstat:\n  pswpin 20\n  pswpout 4\n  pgmajfault 50\n"
      "answer statfs /dev/shm: magic=1021994 total=1000000 free=50000\n");
  CHECK(row.node.memory_available == 400000 * 1024);
  CHECK(row.node.page_cache_growth == Approx(-51200 * 1024 / 2.0));
  CHECK(row.node.major_faults == 20);
  CHECK(row.node.swapped_pages == 12);
  CHECK(row.node.dev_shm_size == 1000000);
  CHECK(row.node.dev_shm_free == 50000);
}

TEST_CASE("the control group of the process: throttled periods of those of the interval, and cores") {
  const WatchRow row = after(
      "/sys/fs/cgroup/job/cpu.stat:\n  usage_usec 6000000\n  nr_periods 120\n  nr_throttled 15\n"
      "/sys/fs/cgroup/job/memory.current: 1900000\n");
  CHECK(row.group.cpu_limit == 3);
  CHECK(row.group.throttled == Approx(0.25));
  CHECK(row.group.cores == Approx(2.5));
  CHECK(row.group.memory == 1900000);
  CHECK(row.group.memory_limit == 2000000);
  CHECK_FALSE(row.group.pressure.io);
}

TEST_CASE("a process and all below it") {
  RecordedTree second =
      changed(job_node(), "/proc/4712/io:\n  rchar: 6000000\n  read_bytes: 2500000\n  write_bytes: 10\n");
  second.add("proc/4711/stat", process_stat(4711, 1, 120));
  second.add("proc/4712/stat", process_stat(4712, 4711, 490, "D"));
  second.add("proc/4712/task/4712/stat", process_stat(4712, 4711, 490, "D"));
  const WatchRow row = between(job_node(), second, watch_of("/"));
  REQUIRE(row.job);
  CHECK(row.job->processes == 2);
  CHECK(row.job->threads == 4);
  CHECK(row.job->blocked_threads == 1);
  CHECK(row.job->cores == Approx(1.05));
  CHECK(row.job->saturated_processes == 1);
  CHECK(row.job->processors == 4);
  CHECK(row.job->asked_bytes == Approx(2e6));
  CHECK(row.job->from_storage_bytes == Approx(5e5));
  CHECK(row.job->to_storage_bytes == Approx(5));
}

TEST_CASE("threads that wait for a core: what each waited since the look before, or since it began") {
  RecordedTree first = job_node();
  first.add("proc/4711/task/4711/schedstat", "1 5000000000 1").add("proc/4712/task/4712/schedstat", "1 700000000 1");
  RecordedTree second = job_node().without("/proc/4712");
  second.add("proc/4711/task/4711/schedstat", "1 8000000000 1").add("proc/4711/task/4800/schedstat", "1 1000000000 1");
  const WatchRow row = between(first, second, watch_of("/"));
  REQUIRE(row.job);
  CHECK(row.job->queued_threads == Approx(2));
  CHECK_FALSE(after("").job->queued_threads);
}

TEST_CASE("a child that is waited for hands its counters to its parent: the sum goes on") {
  RecordedTree second = job_node();
  second.without("/proc/4712");
  // 400 ticks of parent and child before, of which the child's 300 are now the parent's, and 20 more.
  second.add("proc/4711/stat", "4711 (python) S 1 1 1 0 -1 0 0 0 0 0 100 0 320 0 20 0 2 0 777 1 1");
  second.record("/proc/4711/io:\n  rchar: 3200000\n  read_bytes: 2000000\n  write_bytes: 0\n");
  const WatchRow row = between(job_node(), second, watch_of("/"));
  REQUIRE(row.job);
  CHECK(row.job->processes == 1);
  CHECK(row.job->cores == Approx(0.1));
  CHECK(row.job->asked_bytes == Approx(1e5));
}

TEST_CASE("a child that vanishes with its counters leaves no rate, rather than a wrong one") {
  const WatchRow row = between(job_node(), job_node().without("/proc/4712"), watch_of("/"));
  REQUIRE(row.job);
  CHECK_FALSE(row.job->cores);
  CHECK_FALSE(row.job->asked_bytes);
}

TEST_CASE("bytes of a process that does not tell are unknown for the whole job") {
  const RecordedTree closed = job_node().without("/proc/4712/io");
  const WatchRow row = between(closed, closed, watch_of("/"));
  REQUIRE(row.job);
  CHECK(row.job->cores == 0.0);
  CHECK_FALSE(row.job->asked_bytes);
  CHECK_FALSE(row.job->from_storage_bytes);
}

TEST_CASE("another process under the number of the one that ended is not the job") {
  RecordedTree second = job_node();
  second.add("proc/4711/stat", "4711 (python) S 1 1 1 0 -1 0 0 0 0 0 100 0 320 0 20 0 2 0 99999 1 1");
  FakeClock clock;
  const WatchedFiles none;
  const WatchTarget target = find_watch_target(watch_of("/"), job_node());
  CHECK(take_watch_sample(target, {second, clock, nullptr, none}).process_ended);
  CHECK_FALSE(between(job_node(), second, watch_of("/")).job);
}

TEST_CASE("the disk below the path: rates, size and wait of a read, busy share, queue") {
  const WatchRow row = after("/proc/diskstats:\n  259 2 nvme0n1p2 1400 0 822200 900 110 0 220 70 0 1500 1020\n");
  REQUIRE(row.disk);
  CHECK(row.disk->name == "nvme0n1p2");
  CHECK(row.disk->reads == 200);
  CHECK(row.disk->read_bytes == Approx(820200 * 512 / 2.0));
  CHECK(row.disk->read_size == Approx(820200 * 512 / 400.0));
  CHECK(row.disk->read_wait == Approx(0.001));
  CHECK(row.disk->writes == 5);
  CHECK(row.disk->written_bytes == Approx(20 * 512 / 2.0));
  CHECK(row.disk->write_wait == Approx(0.002));
  CHECK(row.disk->busy == Approx(0.25));
  CHECK(row.disk->queue == Approx(0.21));
}

TEST_CASE("a disk that did nothing has no mean wait, one whose counter wrapped no busy share, one that went no row") {
  const WatchRow idle = after("");
  REQUIRE(idle.disk);
  CHECK(idle.disk->reads == 0.0);
  CHECK_FALSE(idle.disk->read_wait);
  const WatchRow wrapped = after("/proc/diskstats:\n  259 2 nvme0n1p2 1010 0 2080 510 100 0 200 50 0 3 610\n");
  REQUIRE(wrapped.disk);
  CHECK(wrapped.disk->reads == 5);
  CHECK_FALSE(wrapped.disk->busy);
  CHECK_FALSE(after("/proc/diskstats:\n  8 0 sda 1010 0 2080 510 100 0 200 50 0 3 610\n").disk);
}

TEST_CASE("the NFS mount of the path: requests, round trips, what was sent again") {
  const WatchRow row = after(
      "/proc/self/mountstats:\n  device filer:/export mounted on /data with fstype nfs4 statvers=1.1\n"
      "  \tper-op statistics\n  \t        READ: 1100 1102 0 20000 1148576000 0 7000 8000 0\n"
      "  \t     GETATTR: 1100 1100 0 20000 20000 0 1100 1100 0\n",
      "/data");
  REQUIRE(row.nfs);
  CHECK_FALSE(row.disk);
  CHECK(row.nfs->operations == 100);
  CHECK(row.nfs->read_bytes == Approx(5e7));
  CHECK(row.nfs->retransmissions == 1);
  CHECK(row.nfs->retransmitted == Approx(0.01));
  CHECK(row.nfs->round_trip == Approx(2.1 / 200));
  CHECK(row.nfs->read_round_trip == Approx(0.02));
}

TEST_CASE("without a path there is no disk, without a process no job, without /proc nothing") {
  const WatchRow row = between(job_node(), job_node(), watch_of("", std::nullopt));
  CHECK_FALSE(row.disk);
  CHECK_FALSE(row.nfs);
  CHECK_FALSE(row.job);
  CHECK(row.node.cpu_busy == std::nullopt);  // no tick has passed
  const WatchRow dark = between(RecordedTree(), RecordedTree(), watch_of("", std::nullopt));
  CHECK_FALSE(dark.node.memory_available);
  CHECK_FALSE(dark.node.pressure.io);
  CHECK_FALSE(dark.node.dev_shm_free);
  CHECK_FALSE(dark.group.cores);
}

TEST_CASE("GPUs are reported as their driver sees them; the traffic of the link only for those in use") {
  FakeClock clock;
  const WatchedFiles none;
  auto training = shardkit_test::healthy_gpu("0000:17:00.0");
  training.gpu_busy = 0.4;
  const auto resting = shardkit_test::healthy_gpu("0000:ca:00.0");
  shardkit_test::FakeGpuMonitor monitor({training, resting});
  monitor.with_intake(5e9);
  const RecordedTree tree = job_node();
  const WatchTarget target = find_watch_target(watch_of("/"), tree);
  const WatchSample before = take_watch_sample(target, {tree, clock, &monitor, none});
  clock.advance(Seconds(kSeconds));
  const WatchRow row = watch_row(target, before, take_watch_sample(target, {tree, clock, &monitor, none}));
  REQUIRE(row.gpus.size() == 2);
  CHECK(row.gpus[0].state.gpu_busy == 0.4);
  CHECK(row.gpus[0].intake == 5e9);
  CHECK_FALSE(row.gpus[1].intake);
}
