#include <doctest/doctest.h>

#include "bench/run/run.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"
#include "support/fake_gpu_monitor.hpp"
#include "support/recorded_tree.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit_test;
using doctest::Approx;

namespace {

const RecordedTree kBareMachine;

GpuMachine gpus_of(std::vector<Device*> devices) { return {kBareMachine, std::move(devices)}; }

/// Batches of 1 MB to at most `gpus`.
BatchCopies megabytes(std::uint64_t gpus = 8) { return {gpus, 1000, 1000, 0.01}; }

}  // namespace

TEST_CASE("a batch and parts of it are copied to the GPU; the whole batch is what counts") {
  FakeDevice device({.to_device = 50e9, .copy_seconds = 1e-5});
  Context context;
  const TransferStage stage = measure_transfer(gpus_of({&device}), megabytes(), context);
  CHECK(stage.measured);
  CHECK(stage.gpu == "fake GPU");
  CHECK(stage.gpus == 1);
  CHECK(stage.copy_bytes == 1'000'000);
  REQUIRE(stage.rows.size() == 3);
  CHECK(stage.rows[0].bytes == 62'500);
  CHECK(stage.rows[1].bytes == 250'000);
  CHECK(stage.rows[2].bytes == 1'000'000);
  CHECK(*stage.pinned_h2d == Approx(1e6 / 3e-5));  // 20 microseconds of bytes, 10 of what each copy costs
  CHECK(stage.interval->low <= *stage.pinned_h2d);
  CHECK(stage.interval->high >= *stage.pinned_h2d);
  CHECK(stage.text == "pinned memory to one GPU: 33.3 GB/s, batches of 977 KiB");
  CHECK(device.allocations() == 0);
}

TEST_CASE("of several GPUs each is measured, as many as the job has, and the slowest counts") {
  FakeDevice fast({.to_device = 50e9, .copy_seconds = 0});
  FakeDevice slow({.to_device = 12e9, .copy_seconds = 0, .index = 1});
  FakeDevice unused({.to_device = 1e9, .copy_seconds = 0, .index = 2});
  Context context;
  const TransferStage stage = measure_transfer(gpus_of({&fast, &slow, &unused}), megabytes(2), context);
  CHECK(stage.gpus == 2);
  CHECK(stage.devices.size() == 2);
  CHECK(stage.rows.size() == 6);
  CHECK(*stage.pinned_h2d == Approx(12e9));
  CAPTURE(stage.text);
  CHECK(stage.text.starts_with("pinned memory to each of 2 GPUs at once, the slowest: 12.0 GB/s"));
  CHECK(unused.copies() == 0);
}

TEST_CASE("the link is the driver's, and is named") {
  FakeDevice device;
  const FakeGpuMonitor monitor({healthy_gpu()});
  GpuMachine gpus = gpus_of({&device});
  gpus.monitor = &monitor;
  Context context;
  const TransferStage stage = measure_transfer(gpus, megabytes(), context);
  CHECK(stage.text.ends_with(", PCIe 5 x16"));
  CHECK(stage.rows.back().wire_share);
}

TEST_CASE("without GPUs the stage says why") {
  GpuMachine none = gpus_of({});
  none.missing = "no GPU here";
  Context context;
  const TransferStage stage = measure_transfer(none, megabytes(), context);
  CHECK_FALSE(stage.measured);
  CHECK(stage.text == "no GPU here");
  CHECK_FALSE(stage.pinned_h2d);
  CHECK(context.warnings().empty());
}

TEST_CASE("a batch that is larger than the GPU's free memory is copied as far as it fits") {
  FakeDevice device({.copy_seconds = 0, .memory = 1U << 20U});
  Context context;
  const TransferStage stage = measure_transfer(gpus_of({&device}), {1, 100'000, 602'112, 0.01}, context);
  CHECK(stage.measured);
  CHECK(stage.copy_bytes == (1U << 20U) / 10 * 8 / 4096 * 4096);
}

TEST_CASE("a batch of a single byte is a copy all the same") {
  FakeDevice device;
  Context context;
  const TransferStage stage = measure_transfer(gpus_of({&device}), {1, 1, 0.5, 0.01}, context);
  CHECK(stage.rows.size() == 1);
  CHECK(stage.copy_bytes == 1);
}

TEST_CASE("a GPU that cannot be used leaves the run going, with a warning") {
  FakeDevice full({.memory = 100});
  Context context;
  const TransferStage stage = measure_transfer(gpus_of({&full}), megabytes(), context);
  CHECK_FALSE(stage.measured);
  CHECK(stage.text == "not measured: GPU 0 has no free memory");
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings().front().code == "transfer_not_measured");
  CHECK(stage.rows.empty());
}

TEST_CASE("bytes that arrive wrong, and a stop, end the run") {
  FakeDevice damaging({.damaged_copy = 51});
  Context context;
  CHECK(failure_of([&] { measure_transfer(gpus_of({&damaging}), megabytes(), context); }) == ErrorCode::corrupt);
  std::stop_source stop;
  stop.request_stop();
  Context stopped(stop.get_token());
  FakeDevice device;
  CHECK(failure_of([&] { measure_transfer(gpus_of({&device}), megabytes(), stopped); }) == ErrorCode::cancelled);
}
