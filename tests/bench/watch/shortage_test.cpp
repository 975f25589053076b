// What was short in one interval.

#include <doctest/doctest.h>

#include "bench/watch/shortage.hpp"
#include "support/fake_gpu_monitor.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using shardkit_test::healthy_gpu;

namespace {

/// An interval in which a job of 4 cores ran undisturbed.
WatchRow calm() {
  WatchRow row;
  row.seconds = 2;
  row.node.cpu_busy = 0.3;
  row.node.busy_cores = 1.2;
  row.node.blocked_tasks = 0;
  row.node.pressure = {0.02, 0.03, 0.01, 0.0, 0.0};
  row.node.memory = 1000;
  row.node.memory_available = 500;
  row.node.dev_shm_size = 1000;
  row.node.dev_shm_free = 900;
  row.job = JobRow();
  row.job->cores = 1;
  row.job->processors = 4;
  row.job->threads = 8;
  return row;
}

WatchRow waiting_for_storage() {
  WatchRow row = calm();
  row.node.pressure.io = 0.6;
  row.node.pressure.io_full = 0.5;
  row.job->blocked_threads = 3;
  return row;
}

GpuRow gpu_with(double busy) {
  GpuRow gpu{healthy_gpu(), std::nullopt};
  gpu.state.gpu_busy = busy;
  gpu.state.memory_used = *gpu.state.memory / 2;
  return gpu;
}

}  // namespace

TEST_CASE("an interval without signs is short of nothing, and so is one of which nothing is known") {
  CHECK(shortage_of(calm()) == Shortage::nothing);
  CHECK(shortage_of(WatchRow()) == Shortage::nothing);
}

TEST_CASE("a CPU limit that cuts in in a tenth of its periods is short") {
  WatchRow row = calm();
  row.group.throttled = 0.09;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.group.throttled = 0.1;
  CHECK(shortage_of(row) == Shortage::cpu_limit);
}

TEST_CASE("memory is the bottleneck by its pressure; if that is unknown, by what is available") {
  WatchRow row = calm();
  row.node.memory_available = 10;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.node.pressure.memory = 0.1;
  CHECK(shortage_of(row) == Shortage::memory);
  row.node.pressure = {};
  CHECK(shortage_of(row) == Shortage::memory);
  row.node.memory_available = 60;
  CHECK(shortage_of(row) == Shortage::nothing);
}

TEST_CASE("a job that keeps all cores busy that it may use is short of them, though it has no more threads") {
  WatchRow row = calm();
  row.job->cores = 3.5;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.job->cores = 3.7;
  row.job->queued_threads = 0;
  CHECK(shortage_of(row) == Shortage::cores);
}

TEST_CASE("cores are short when the node's are busy and tasks wait for them") {
  WatchRow row = calm();
  row.node.cpu_busy = 0.95;  // by others
  CHECK(shortage_of(row) == Shortage::nothing);
  row.node.pressure.cpu = 0.3;
  CHECK(shortage_of(row) == Shortage::cores);
  row.node.cpu_busy = 0.8;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.node.cpu_busy = 0.95;
  row.node.pressure = {};
  CHECK(shortage_of(row) == Shortage::cores);
}

TEST_CASE("where a job's own waiting for cores is reported, that of others on the node does not count") {
  WatchRow row = calm();
  row.node.cpu_busy = 1;
  row.node.pressure.cpu = 0.9;
  row.job->queued_threads = 0.05;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.job->queued_threads = 0.2;
  CHECK(shortage_of(row) == Shortage::cores);
}

TEST_CASE("a job that wants next to no processor time is not short of cores, however busy others keep them") {
  WatchRow row = calm();
  row.node.cpu_busy = 1;
  row.job->cores = 0;
  row.job->queued_threads = 0;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.job->cores = 0.1;
  row.job->queued_threads = 0.3;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.job->queued_threads = 0.5;
  CHECK(shortage_of(row) == Shortage::cores);
}

TEST_CASE("where others keep the cores busy, a job that waits for storage more than for cores is short of storage") {
  WatchRow row = waiting_for_storage();
  row.node.cpu_busy = 1;
  row.job->queued_threads = 2;
  CHECK(shortage_of(row) == Shortage::storage);
  row.job->queued_threads = 4;
  CHECK(shortage_of(row) == Shortage::cores);
  row.job->queued_threads = 2;
  row.node.pressure.io = 0.1;  // then it is something else that blocks them
  CHECK(shortage_of(row) == Shortage::cores);
}

TEST_CASE("the blocked share is of those that wait and those that work: of the job, without one of the node") {
  WatchRow row = calm();
  CHECK(blocked_share(row) == 0.0);
  row.job->blocked_threads = 3;
  CHECK(blocked_share(row) == 0.75);  // beside one busy core
  row.job->cores = 3;
  CHECK(blocked_share(row) == 0.5);
  row.job->cores = 0;
  CHECK(blocked_share(row) == 1.0);
  row.job->cores.reset();
  CHECK_FALSE(blocked_share(row));
  row.job.reset();
  CHECK(blocked_share(row) == 0.0);
  row.node.blocked_tasks = 0.4;  // a mean
  CHECK(blocked_share(row).value() == doctest::Approx(0.25));
  row.node.busy_cores.reset();
  CHECK_FALSE(blocked_share(row));
}

TEST_CASE("storage is short when all tasks wait, or when many wait beside those that work") {
  WatchRow row = waiting_for_storage();
  CHECK(shortage_of(row) == Shortage::storage);
  row.node.pressure.io_full = 0.02;  // the training itself spins meanwhile
  CHECK(shortage_of(row) == Shortage::storage);
  row.job->blocked_threads = 0;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.node.pressure.io_full = 0.9;  // of other processes
  CHECK(shortage_of(row) == Shortage::nothing);
  row.group.pressure = {0.0, 0.4, 0.2, 0.0, 0.0};
  CHECK(shortage_of(row) == Shortage::storage);
  row.group.pressure.io = 0.19;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.job.reset();
  CHECK(shortage_of(row) == Shortage::storage);
}

TEST_CASE("a job that does nothing has no bottleneck, whatever others on the node or in its control group do") {
  WatchRow row = calm();
  row.job->cores = 0;
  row.node.pressure = {0.9, 0.9, 0.9, 0.9, 0.9};
  row.node.dev_shm_free = 1;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.group.pressure = row.node.pressure;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.job->blocked_threads = 1;
  CHECK(shortage_of(row) == Shortage::memory);
}

TEST_CASE("of many loaders some task waits nearly always: that alone is no shortage") {
  WatchRow row = calm();
  row.node.pressure.io = 0.4;
  row.node.pressure.io_full = 0.0;
  row.job->cores = 15.5;
  row.job->processors = 64;
  row.job->blocked_threads = 1;
  CHECK(shortage_of(row) == Shortage::nothing);
}

TEST_CASE("without pressure, threads that wait are the sign of slow storage") {
  WatchRow row = calm();
  row.node.pressure = {};
  CHECK(shortage_of(row) == Shortage::nothing);
  row.job->blocked_threads = 1;
  CHECK(shortage_of(row) == Shortage::storage);
  row.job.reset();
  CHECK(shortage_of(row) == Shortage::nothing);
  row.node.blocked_tasks = 2;
  CHECK(shortage_of(row) == Shortage::storage);
}

TEST_CASE("the waiting of the job's own control group counts, where it is reported") {
  WatchRow row = waiting_for_storage();
  row.group.pressure = {0.0, 0.01, 0.0, 0.0, 0.0};
  CHECK(shortage_of(row) == Shortage::nothing);
  row.job.reset();  // the whole node is watched
  row.node.blocked_tasks = 3;
  CHECK(shortage_of(row) == Shortage::storage);
}

TEST_CASE("what hides another shortage is asked for first") {
  WatchRow row = waiting_for_storage();
  row.node.dev_shm_free = 10;
  CHECK(shortage_of(row) == Shortage::storage);
  row.node.cpu_busy = 1;
  row.node.pressure.cpu = 0.9;
  CHECK(shortage_of(row) == Shortage::cores);
  row.node.pressure.memory = 0.5;
  CHECK(shortage_of(row) == Shortage::memory);
  row.group.throttled = 0.5;
  CHECK(shortage_of(row) == Shortage::cpu_limit);
}

TEST_CASE("/dev/shm is short when less than a tenth of it is free") {
  WatchRow row = calm();
  row.node.dev_shm_free = 99;
  CHECK(shortage_of(row) == Shortage::dev_shm);
  row.node.dev_shm_size = 0;
  CHECK(shortage_of(row) == Shortage::nothing);
}

TEST_CASE("GPUs that are busy wait for nothing, whatever else shows") {
  WatchRow row = waiting_for_storage();
  row.gpus = {gpu_with(0.9), gpu_with(0.75)};
  CHECK(shortage_of(row) == Shortage::compute);
  row.gpus = {gpu_with(0.9), gpu_with(0.1)};
  CHECK(shortage_of(row) == Shortage::storage);
}

TEST_CASE("GPUs that nobody uses have no say") {
  WatchRow row = waiting_for_storage();
  row.gpus = {gpu_with(0.9), {healthy_gpu(), std::nullopt}};
  CHECK(mean_gpu_busy(row) == doctest::Approx(0.9));
  CHECK(shortage_of(row) == Shortage::compute);
  row.gpus = {{healthy_gpu(), std::nullopt}};
  CHECK_FALSE(mean_gpu_busy(row));
  CHECK(shortage_of(row) == Shortage::storage);
}

TEST_CASE("a link is short when it carries four fifths of what it can now") {
  WatchRow row = calm();
  row.gpus = {gpu_with(0.3)};
  row.gpus[0].intake = 50e9;  // of 63 that 16 lanes of generation 5 carry
  CHECK(shortage_of(row) == Shortage::nothing);
  row.gpus[0].intake = 52e9;
  CHECK(shortage_of(row) == Shortage::gpu_link);
  row.gpus[0].intake = 26e9;
  CHECK(shortage_of(row) == Shortage::nothing);
  row.gpus[0].state.pcie_lanes = 8;
  CHECK(shortage_of(row) == Shortage::gpu_link);
  row.gpus[0].state.pcie_generation.reset();
  CHECK(shortage_of(row) == Shortage::nothing);
}
