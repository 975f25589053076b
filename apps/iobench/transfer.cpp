#include "bench/transfer/transfer.hpp"

#include <iterator>
#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/units.hpp"
#include "iobench/cells.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

void add_rows(const bench::TransferResult& result, std::string& out) {
  if (result.rows.empty()) return;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{:>3}  {:<15}{:<6}{:>10}{:>9}{:>9}{:>13}{:>26}{:>10}\n", "GPU", "memory", "way", "size",
                 "streams", "NUMA", "rate", "from to", "of link");
  for (const bench::TransferRow& row : result.rows) {
    fmt::format_to(to, "{:>3}  {:<15}{:<6}{:>10}{:>9}{:>9}{:>13}{:>26}{:>10}", row.device, enum_name(row.kind),
                   enum_name(row.direction), typed_size(row.bytes), row.streams, enum_name(row.numa),
                   format_rate(row.bytes_per_second),
                   format_rate(row.lowest_bytes_per_second) + " to " + format_rate(row.highest_bytes_per_second),
                   percent_cell(row.wire_share));
    out += '\n';
  }
  out += '\n';
}

void add_pinning(const bench::TransferResult& result, std::string& out) {
  for (const bench::PinningRow& row : result.pinning) {
    fmt::format_to(std::back_inserter(out), "{} {} of {} memory: {:.3g} s per GiB, {:.3g} s to release it\n",
                   row.kind == gpu::HostMemory::registered ? "registering" : "allocating", format_size(row.bytes),
                   enum_name(row.kind), row.prepare_seconds_per_gib, row.release_seconds_per_gib);
  }
}

void add_file(const bench::FileTransfer& file, std::string& out) {
  auto to = std::back_inserter(out);
  for (const bench::FileWay& way : file.rows) {
    fmt::format_to(to, "{:<10}{:>12} in {}{}\n", enum_name(way.way), format_rate(way.bytes_per_second),
                   format_duration(way.transfer_seconds),
                   way.direct ? ", bypassing the page cache" : ", through the page cache in its current state");
  }
  fmt::format_to(to, "\n{} of {}, {} per read, {}; all bytes correct\n", format_size(file.bytes),
                 cli::printable(file.path), typed_size(file.block), format_count(file.threads, "thread"));
}

void add_links(const bench::TransferResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  for (const bench::TransferDevice& device : result.devices) {
    fmt::format_to(to, "\nGPU {}: {}, {}", device.device, cli::printable(device.name), format_size(device.memory));
    if (device.numa_node) fmt::format_to(to, ", NUMA node {}", *device.numa_node);
    if (!device.wire_limit) {
      out += ", PCIe link unknown\n";
      continue;
    }
    fmt::format_to(to, ", {}: {} on the wire", bench::link_name(device), format_rate(*device.wire_limit));
    if (device.payload_limit) fmt::format_to(to, ", {} after packet headers", format_rate(*device.payload_limit));
    if (device.max_wire_limit && *device.wire_limit < *device.max_wire_limit) {
      fmt::format_to(to, " (device and slot support {})", format_rate(*device.max_wire_limit));
    }
    out += '\n';
  }
}

}  // namespace

cli::Answer answer_transfer(const bench::TransferResult& result) {
  cli::Answer answer{.headline = result.verdict};
  std::string& out = answer.body;
  add_rows(result, out);
  add_pinning(result, out);
  if (result.file) add_file(*result.file, out);
  add_links(result, out);
  return answer;
}

cli::Command transfer_command() {
  return cli::make_command<bench::TransferOptions, bench::TransferResult>(
      {.name = "transfer",
       .summary = "measure copies from host memory to a GPU and back",
       .description = "Copies pageable, pinned, write-combined and registered memory to a GPU, back, and both at once, "
                      "in sizes from 4 KiB to 1 GiB. Compares the rates with the limit of the PCIe link. Host memory "
                      "comes from the GPU's own NUMA node if that is known. The cost of allocating pinned memory and "
                      "of registering memory is measured separately. Every byte of the last copies is checked. A wrong "
                      "byte ends the command.\n\nWith --gds, measures reading a file into GPU memory in two ways: with "
                      "cuFile, whose mode is reported, and by reading into pinned memory while copying. Exit code 4 if "
                      "there is no GPU or driver, or this build has no CUDA, with one line that names what is missing.",
       .examples = {{"iobench transfer", "everything, on GPU 0"},
                    {"iobench transfer --device all --kinds pinned --bytes 64MiB,1GiB --numa both",
                     "each GPU from its own and from its farthest NUMA node"},
                    {"iobench transfer --kinds pinned --bytes 38535168 --depth 1,2,4",
                     "batches of 256 x 3 x 224 x 224 bytes, on several streams"},
                    {"iobench transfer --gds /nvme/shard-000000.tar", "cuFile compared with pread and pinned copies"}},
       .main = {"kinds", "bytes", "depth", "device", "numa", "gds"},
       .labels = true},
      bench::transfer, answer_transfer);
}

}  // namespace shardkit::apps
