#include "gpu/device.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

#include "gpu/pattern.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit_test;

namespace {

constexpr std::size_t kBytes = 100'003;

/// What any device does; the fake one below, and a real one where there is one.
void check_device(Device& device) {
  const DeviceBuffer memory(device, kBytes);
  for (const HostMemory kind :
       {HostMemory::pageable, HostMemory::pinned, HostMemory::write_combined, HostMemory::registered}) {
    HostBuffer host(device, kind, kBytes);
    CHECK(host.kind() == kind);
    CHECK(host.bytes().front() == std::byte{0});

    const auto stream = device.make_stream();
    fill_pattern(host.bytes(), 1);
    device.fill_pattern(memory.span(), 2);
    CHECK(device.count_mismatches(memory.span(), 2) == 0);
    CHECK(device.count_mismatches(memory.span(), 1) > kBytes / 2);
    stream->copy_to_device(memory.span(), host.bytes());
    stream->synchronize();
    CHECK(device.count_mismatches(memory.span(), 1) == 0);

    device.fill_pattern(memory.span(), 3);
    stream->copy_to_host(host.bytes(), memory.span());
    stream->synchronize();
    CHECK(count_mismatches(host.bytes(), 3) == 0);
  }
}

}  // namespace

TEST_CASE("bytes go to the device and back from every kind of host memory") {
  FakeDevice fake;
  check_device(fake);
  CHECK(fake.allocations() == 0);
}

TEST_CASE("a real GPU, where there is one, does as the fake one") {
  std::vector<std::unique_ptr<Device>> devices;
  const auto failure = failure_of([&] { devices = open_devices(); });
  if (failure.failed) {
    MESSAGE("SKIPPED: " << failure.text);
    return;
  }
  check_device(*devices.front());
  const auto stream = devices.front()->make_stream();
  const auto start = devices.front()->make_event();
  const auto end = devices.front()->make_event();
  const auto gate = devices.front()->make_gate();
  stream->hold(*gate);
  stream->record(*start);
  stream->record(*end);
  gate->open();
  stream->synchronize();
  CHECK(gate->held());
  CHECK(end->seconds_since(*start) >= 0);
}

TEST_CASE("the fake device's clock: a latency and a rate, one copy at a time in each direction") {
  FakeDevice device({.to_device = 1e9, .to_host = 2e9, .copy_seconds = 0.5});
  const DeviceBuffer memory(device, 1'000'000);
  const DeviceBuffer others(device, 1'000'000);
  const HostBuffer host(device, HostMemory::pinned, 1'000'000);
  const auto one = device.make_stream();
  const auto other = device.make_stream();
  const auto start = device.make_event();
  const auto end = device.make_event();
  one->record(*start);
  other->wait(*start);
  one->copy_to_device(memory.span(), host.bytes());
  other->copy_to_device(others.span(), host.bytes());
  one->copy_to_host(host.bytes(), memory.span());
  other->record(*end);
  one->wait(*end);
  one->synchronize();
  CHECK(end->seconds_since(*start) == doctest::Approx(2 * (0.5 + 0.001)));
}

TEST_CASE("the fake device refuses what would hang or break a real one") {
  FakeDevice device;
  const auto stream = device.make_stream();
  const auto gate = device.make_gate();
  const auto event = device.make_event();
  CHECK_THROWS_AS(stream->wait(*event), std::logic_error);
  stream->hold(*gate);
  CHECK_THROWS_AS(stream->synchronize(), std::logic_error);
  CHECK_THROWS_AS(device.free({nullptr, 0}), std::logic_error);
  CHECK(failure_of([&] { device.allocate(std::size_t{1} << 40U); }) == ErrorCode::no_space);
}
