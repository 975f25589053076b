#include "bench/read/read_hints.hpp"

#include <doctest/doctest.h>

#include "bench/read/read_data.hpp"
#include "io/read_engine.hpp"

using namespace shardkit;
using namespace shardkit::test;

namespace {

constexpr std::uint64_t kBytes = 1000 * kMiB;

/// The hints at a direct reading of blocks of `block` beside which the device did `device`.
ReadResult with_hints(const DeviceActivity& device, std::uint64_t block = 256U << 10U) {
  ReadResult result;
  result.direct = true;
  result.bytes = kBytes;
  result.block = block;
  result.read_seconds = 10;
  result.device = device;
  const auto engine = make_read_engine("pread", {});
  const ReadOptions options;
  add_read_hints(options, {}, {{}, *engine, options, nullptr}, result);
  return result;
}

DeviceActivity activity(std::uint64_t bytes, double request, double wait) {
  DeviceActivity device;
  device.read_bytes = bytes;
  device.mean_request = request;
  device.mean_wait = wait;
  device.mean_queue = 64;
  return device;
}

}  // namespace

TEST_CASE("a device that answers late or in small pieces is pointed at, with what waited") {
  const ReadResult result = with_hints(activity(kBytes, 8192, 0.02));
  CHECK(has_hint(result, "answered after 20 ms on average, 64 requests waiting"));
  CHECK(has_hint(result, "requests to the device were 8192 bytes"));
  CHECK(with_hints(activity(kBytes, 262'144, 0.001)).hints.empty());
}

TEST_CASE("small requests that were asked for are no news") {
  CHECK(with_hints(activity(kBytes, 4096, 0.001), 4096).hints.empty());
}

TEST_CASE("what the device did for others is not held against it") {
  const ReadResult result = with_hints(activity(kBytes / 100, 4096, 0.05));
  CHECK(result.hints.size() == 1);
  CHECK(has_hint(result, "something between has a copy"));
}
