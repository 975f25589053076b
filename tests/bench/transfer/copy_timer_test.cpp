#include <doctest/doctest.h>

#include "bench/transfer/transfer.hpp"
#include "gpu/device.hpp"
#include "gpu/pattern.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit_test;

namespace {

constexpr double kLatency = 1e-5;

CopyTiming time_on(FakeDevice& device, const CopyJob& job, const std::stop_token& stop = {}) {
  const DeviceBuffer memory(device, job.memory());
  const HostBuffer host(device, job.kind, job.memory());
  return time_copies(device, host.bytes(), memory.span(), job, 1, stop);
}

FakeDevice::Settings settings() { return {.to_device = 1e9, .to_host = 5e8, .copy_seconds = kLatency}; }

}  // namespace

TEST_CASE("three measurements of 16 copies by the GPU's clock, after 4 to warm up") {
  FakeDevice device(settings());
  const CopyTiming timing = time_on(device, {HostMemory::pinned, CopyDirection::h2d, 1'000'000, 1});
  CHECK(timing.copies == 16);
  REQUIRE(timing.copy_seconds.size() == 3);
  for (const double seconds : timing.copy_seconds) CHECK(seconds == doctest::Approx(1e-3 + kLatency));
  CHECK(device.copies() == 4 + 3 * 16);
  CHECK(device.allocations() == 0);
}

TEST_CASE("back to the host by the rate of that direction") {
  FakeDevice device(settings());
  const CopyTiming timing = time_on(device, {HostMemory::registered, CopyDirection::d2h, 1'000'000, 1});
  CHECK(timing.copy_seconds.front() == doctest::Approx(2e-3 + kLatency));
}

TEST_CASE("both directions at once end with the slower one") {
  FakeDevice device(settings());
  const CopyTiming timing = time_on(device, {HostMemory::pinned, CopyDirection::both, 1'000'000, 1});
  CHECK(timing.copy_seconds.front() == doctest::Approx(2e-3 + kLatency));
  CHECK(device.copies() == 2 * (4 + 3 * 16));
}

TEST_CASE("streams that share a link share its time") {
  FakeDevice device(settings());
  const CopyTiming timing = time_on(device, {HostMemory::pinned, CopyDirection::h2d, 100'000, 4});
  CHECK(timing.copy_seconds.front() == doctest::Approx(4 * (1e-4 + kLatency)));
}

TEST_CASE("pageable memory goes by the host's clock, on every stream") {
  FakeDevice device(settings());
  const CopyTiming timing = time_on(device, {HostMemory::pageable, CopyDirection::both, 4096, 3});
  for (const double seconds : timing.copy_seconds) CHECK(seconds > 0);
  CHECK(device.copies() == 6 * (4 + 3 * 16));
}

TEST_CASE("write-combined memory is checked by way of the GPU") {
  FakeDevice device(settings());
  time_on(device, {HostMemory::write_combined, CopyDirection::d2h, 4099, 2});
  CHECK(device.copies() == 2 * (4 + 3 * 16 + 1));
}

TEST_CASE("one wrong byte of the last copies is an error, whatever the kind and direction") {
  for (const HostMemory kind :
       {HostMemory::pageable, HostMemory::pinned, HostMemory::write_combined, HostMemory::registered}) {
    for (const CopyDirection direction : {CopyDirection::h2d, CopyDirection::d2h}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(static_cast<int>(direction));
      auto broken = settings();
      broken.damaged_copy = 4 + 3 * 16 - 1;
      FakeDevice device(broken);
      const auto failure = failure_of([&] { time_on(device, {kind, direction, 5000, 1}); });
      CHECK(failure == ErrorCode::corrupt);
      CHECK(failure.says("1 byte of 5,000 arrived wrong"));
      CHECK(device.allocations() == 0);
    }
  }
}

TEST_CASE("bytes that were there before do not pass for copied ones") {
  FakeDevice device(settings());
  const CopyJob job{HostMemory::pinned, CopyDirection::h2d, 4096, 1};
  const DeviceBuffer memory(device, job.memory());
  const HostBuffer host(device, job.kind, job.memory());
  time_copies(device, host.bytes(), memory.span(), job, 1, {});
  const std::uint64_t first = pattern_word(1, 0);
  CHECK(device.count_mismatches(memory.span().part(0, 4096), first) == 0);
  time_copies(device, host.bytes(), memory.span(), job, 2, {});
  CHECK(device.count_mismatches(memory.span().part(0, 4096), first) > 4000);
}

TEST_CASE("where the GPU gave up waiting for the copies there is no time to tell") {
  auto impatient = settings();
  impatient.gates_give_up = true;
  FakeDevice device(impatient);
  const auto failure = failure_of([&] { time_on(device, {HostMemory::pinned, CopyDirection::h2d, 4096, 1}); });
  CHECK(failure == ErrorCode::io);
  CHECK(failure.says("CUDA_LAUNCH_BLOCKING"));
}

TEST_CASE("a stop ends it, with all memory given back") {
  std::stop_source stop;
  stop.request_stop();
  FakeDevice device(settings());
  for (const HostMemory kind : {HostMemory::pageable, HostMemory::pinned}) {
    CHECK(failure_of([&] {
            time_on(device, {kind, CopyDirection::both, 4096, 2}, stop.get_token());
          }) == ErrorCode::cancelled);
  }
  CHECK(device.allocations() == 0);
}
