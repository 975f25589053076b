#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/watch/watch.hpp"
#include "bench/watch/watch_row.hpp"
#include "support/fake_clock.hpp"
#include "support/recorded_tree.hpp"

/// A node with a training job, at one moment and at others.
namespace shardkit::test {

/// /proc/PID/stat of a process whose own time is `ticks` hundredths of a second.
inline std::string process_stat(int pid, int parent, int ticks, const std::string& state = "S") {
  return std::to_string(pid) + " (python) " + state + " " + std::to_string(parent) + " 1 1 0 -1 0 0 0 0 0 " +
         std::to_string(ticks) + " 0 0 0 20 0 2 0 777 1 1";
}

/// 4 processors, data on nvme0n1p2 and on NFS at /data, process 4711 with a loader 4712 below it, in a control group of
/// version 2 that allows 3 cores. Nothing has happened yet: all counters are at their first value.
inline RecordedTree job_node() {
  RecordedTree tree;
  tree.record(R"(
/proc/stat:
  cpu  1000 0 0 9000 0 0 0 0 0 0
  cpu0 250 0 0 2250 0 0 0 0 0 0
  cpu1 250 0 0 2250 0 0 0 0 0 0
  cpu2 250 0 0 2250 0 0 0 0 0 0
  cpu3 250 0 0 2250 0 0 0 0 0 0
  procs_blocked 0
/proc/meminfo:
  MemTotal:       1048576 kB
  MemAvailable:    524288 kB
  Buffers:           1024 kB
  Cached:          102400 kB
/proc/vmstat:
  pswpin 0
  pswpout 0
  pgmajfault 10
/proc/pressure/cpu: some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000
/proc/pressure/io:
  some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000
  full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000
/proc/pressure/memory:
  some avg10=0.00 avg60=0.00 avg300=0.00 total=0
  full avg10=0.00 avg60=0.00 avg300=0.00 total=0
/proc/diskstats:
  259 2 nvme0n1p2 1000 0 2000 500 100 0 200 50 0 1000 600
/proc/self/mountinfo:
  21 1 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw
  30 21 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
  40 21 0:53 / /data rw - nfs4 filer:/export rw,vers=4.2
/proc/self/mountstats:
  device filer:/export mounted on /data with fstype nfs4 statvers=1.1
  	per-op statistics
  	        READ: 1000 1000 0 20000 1048576000 0 5000 6000 0
  	     GETATTR: 1000 1000 0 20000 20000 0 1000 1000 0
/sys/dev/block/259:2 -> ../../devices/nvme0n1/nvme0n1p2
/sys/devices/nvme0n1/nvme0n1p2/uevent: DEVNAME=nvme0n1p2
/proc/self/cgroup: 0::/shell
/proc/4711/cgroup: 0::/job
/sys/fs/cgroup/job/cpu.max: 300000 100000
/sys/fs/cgroup/job/cpu.stat:
  usage_usec 1000000
  nr_periods 100
  nr_throttled 10
/sys/fs/cgroup/job/memory.current: 1000000
/sys/fs/cgroup/job/memory.max: 2000000
/proc/4711/status: Cpus_allowed_list:	0-3
/proc/4711/io:
  rchar: 1000000
  read_bytes: 500000
  write_bytes: 0
/proc/4712/io:
  rchar: 2000000
  read_bytes: 1500000
  write_bytes: 0
answer statfs /dev/shm: magic=1021994 total=1000000 free=900000
)");
  tree.add("proc/4711/stat", process_stat(4711, 1, 100)).add("proc/4711/task/4711/stat", process_stat(4711, 1, 100));
  tree.add("proc/4712/stat", process_stat(4712, 4711, 300));
  tree.add("proc/4712/task/4712/stat", process_stat(4712, 4711, 300));
  return tree;
}

/// The same node 2 s later, after a look at which nothing but what `changes` says has moved.
inline RecordedTree changed(RecordedTree tree, const std::string& changes) {
  tree.record(changes);
  return tree;
}

inline bench::WatchOptions watch_of(const std::string& path, std::optional<std::uint64_t> pid = 4711) {
  bench::WatchOptions options;
  if (!path.empty()) options.path = path;
  options.pid = pid;
  return options;
}

/// A node that is another one from one interval to the next, by a clock that stands still until somebody sleeps.
class MovingNode final : public system::Probe {
 public:
  MovingNode(system::Clock& clock, double interval, std::vector<RecordedTree> moments)
      : clock_(clock), interval_(interval), moments_(std::move(moments)) {}

  std::optional<std::string> text(const std::string& path) const override { return now().text(path); }
  std::vector<std::string> names(const std::string& folder) const override { return now().names(folder); }
  std::optional<std::string> resolve(const std::string& path) const override { return now().resolve(path); }
  std::optional<system::PathFacts> stat(const std::string& path) const override { return now().stat(path); }
  std::optional<std::uint64_t> mount_id(const std::string& path) const override { return now().mount_id(path); }
  std::optional<system::SpaceFacts> space(const std::string& path) const override { return now().space(path); }
  std::optional<std::string> attribute(const std::string& path, const std::string& name) const override {
    return now().attribute(path, name);
  }
  int try_call(system::SystemCall call) const override { return now().try_call(call); }

 private:
  const RecordedTree& now() const {
    const auto moment = static_cast<std::size_t>(clock_.monotonic().count() / interval_ + 0.01);
    return moments_[std::min(moment, moments_.size() - 1)];
  }

  system::Clock& clock_;
  double interval_;
  std::vector<RecordedTree> moments_;
};

}  // namespace shardkit::test
