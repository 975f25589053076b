#include "bench/read/read_hints.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/machine/cache_state.hpp"
#include "bench/read/read_data.hpp"
#include "io/read_engine.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::io;
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
  const auto engine = make_read_engine(EngineKind::pread, {});
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
  CHECK(has_hint(result, "answered after 20 ms on average, with 64 requests waiting"));
  CHECK(has_hint(result, "requests to the device were 8192 bytes"));
  CHECK(with_hints(activity(kBytes, 262'144, 0.001)).hints.empty());
}

TEST_CASE("small requests that were asked for are no news") {
  CHECK(with_hints(activity(kBytes, 4096, 0.001), 4096).hints.empty());
}

TEST_CASE("what the device did for others is not held against it") {
  const ReadResult result = with_hints(activity(kBytes / 100, 4096, 0.05));
  CHECK(result.hints.size() == 1);
  CHECK(has_hint(result, "another layer caches the data"));
}

TEST_CASE("the hint for a reading too short for a steady rate names options of its command: run has no --min-time") {
  const auto engine = make_read_engine(EngineKind::pread, {});
  const auto hints_of = [&](const ReadOptions& options) {
    ReadResult result;
    result.read_seconds = 0.5;
    add_read_hints(options, {}, {{}, *engine, options, nullptr}, result);
    return result;
  };
  ReadOptions options;
  CHECK(has_hint(hints_of(options), "--min-time 2s with --cache cold"));
  options.prepare_seconds = 1;  // set by run
  CHECK(has_hint(hints_of(options), "reading took only 0.50 s; more data, or --cache direct, gives a steadier rate"));
  options.direct = true;
  CHECK(has_hint(hints_of(options), "a longer --budget gives a steadier rate"));
  CHECK_FALSE(has_hint(hints_of(options), "--min-time"));
}

TEST_CASE("why there are no samples: nothing was read, nothing whole, or there are none") {
  const std::vector<InputFile> tensors{{"a.bin", kBytes, false, 1}};
  const std::vector<InputFile> shards{{"a.tar", kBytes, true, {}}};
  ReadOptions options;
  ReadResult result;
  const auto why = [&](const std::vector<InputFile>& files) { return why_no_samples(options, files, result); };
  CHECK(why(tensors).find("nothing was read within the time limit; use a longer --budget") != std::string::npos);
  result.bytes = 10 * kMiB;
  CHECK(why(tensors).find("none of 1 file was read to its end, and each counts as one sample") == 0);
  CHECK(why(tensors).find("--sample-bytes") != std::string::npos);
  CHECK(why(shards).find("no sample of the shards was read completely; use a longer --budget") == 0);
  result.bytes = kBytes;
  CHECK(why(shards).find("the shards contain no samples") == 0);
  options.sample_bytes = 2 * kBytes;
  CHECK(why(tensors) == "only 1000 MiB were read, less than one sample of 2000MiB; use a longer --budget");
}

TEST_CASE("cold data may be in memory elsewhere, depending on its storage") {
  using enum system::StorageClass;
  const auto says = [](CacheState state, system::StorageClass storage, std::string_view owner) {
    return cold_elsewhere(state, storage).find(owner) != std::string::npos;
  };
  CHECK(says(CacheState::client_cold, network, "the server may still have the data in memory"));
  CHECK(says(CacheState::client_cold, fuse, "the FUSE process, or the store behind it"));
  CHECK(says(CacheState::cold, virtual_disk, "the host of this virtual disk"));
  CHECK(says(CacheState::direct, virtual_disk, "the host of this virtual disk"));
  CHECK(cold_elsewhere(CacheState::cold, nvme).empty());
  CHECK(cold_elsewhere(CacheState::warm, virtual_disk).empty());
}
