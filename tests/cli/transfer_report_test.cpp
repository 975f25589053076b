#include <doctest/doctest.h>

#include "bench/transfer/transfer.hpp"
#include "cli/report_text.hpp"
#include "iobench/verbs.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;
using namespace shardkit::gpu;

namespace {

TransferResult example() {
  TransferResult result;
  result.verdict = "pinned host to device 50.0 GB/s, 79 % of PCIe 5 x16's wire limit";
  TransferDevice device;
  device.name = "Made-up GPU";
  device.memory = std::uint64_t{80} << 30U;
  device.numa_node = 1;
  device.pcie.speed = 32;
  device.pcie.width = 16;
  device.pcie_generation = 5;
  device.wire_limit = 63e9;
  device.payload_limit = 57.6e9;
  device.max_wire_limit = 63e9;
  result.devices = {device};
  TransferRow row;
  row.kind = HostMemory::write_combined;
  row.direction = CopyDirection::both;
  row.bytes = 1U << 20U;
  row.streams = 2;
  row.numa = NumaLocation::remote;
  row.bytes_per_second = 50e9;
  row.lowest_bytes_per_second = 49e9;
  row.highest_bytes_per_second = 51e9;
  row.wire_share = 0.4;
  result.rows = {row};
  PinningRow pinning;
  pinning.bytes = 1U << 30U;
  pinning.prepare_seconds_per_gib = 0.25;
  pinning.release_seconds_per_gib = 0.125;
  result.pinning = {pinning};
  return result;
}

bool says(const TransferResult& result, const std::string& text) {
  return report_text(answer_transfer(result), false).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("the first line of a transfer is its verdict") {
  CHECK(report_text(answer_transfer(example()), false).starts_with("pinned host to device 50.0 GB/s, 79 %"));
  CHECK(report_text(answer_transfer(example()), true).starts_with("\x1b[1mpinned"));
}

TEST_CASE("a line for each copy, with what it reached of the link") {
  CHECK(says(
      example(),
      "  0  write-combined both        1MiB        2   remote    50.0 GB/s    49.0 GB/s to 51.0 GB/s      40 %\n"));
  TransferResult result = example();
  result.rows.front().wire_share.reset();
  CHECK(says(result, "to 51.0 GB/s         -\n"));
}

TEST_CASE("what pinning costs, and the link") {
  CHECK(says(example(), "allocating 1.00 GiB of pinned memory: 0.25 s per GiB, 0.125 s to release it\n"));
  CHECK(says(example(),
             "GPU 0: Made-up GPU, 80.0 GiB, NUMA node 1, PCIe 5 x16: 63.0 GB/s on the wire, 57.6 GB/s after packet "
             "headers\n"));
  TransferResult result = example();
  result.devices.front().max_wire_limit = 126e9;
  CHECK(says(result, "(device and slot support 126 GB/s)"));
  result.devices.front().c2c_rate = 447e9;
  result.devices.front().pcie_generation.reset();
  CHECK(says(result, "NUMA node 1, NVLink-C2C: "));
  result.devices.front().wire_limit.reset();
  CHECK(says(result, "PCIe link unknown\n"));
}

TEST_CASE("a file has a line for each way, and says of each whether the page cache took part") {
  TransferResult result;
  result.verdict = "pread and pinned copies 3.00 GB/s";
  result.file.emplace();
  result.file->path = "/nvme/a\x1b.tar";
  result.file->bytes = 1U << 30U;
  result.file->block = 8U << 20U;
  result.file->threads = 4;
  result.file->rows = {{bench::FileReader::pread, false, 0.5, 3e9}, {bench::FileReader::cufile, true, 0.25, 6e9}};
  CHECK(says(result, "pread        3.00 GB/s in 0.50 s, through the page cache in its current state\n"));
  CHECK(says(result, "cufile       6.00 GB/s in 0.25 s, bypassing the page cache\n"));
  CHECK(says(result, "1.00 GiB of /nvme/a\\x1b.tar, 8MiB per read, 4 threads; all bytes correct\n"));
}
