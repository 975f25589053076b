#include "bench/transfer/transfer.hpp"

namespace shardkit {

void TransferOptions::describe(FieldVisitor& v) {
  v.field({"kinds", Unit::none, "kinds of host memory, separated by commas", Role::option, "LIST"}, kinds);
  v.field(
      {"directions", Unit::none, "h2d (host to device), d2h, both at once; separated by commas", Role::option, "LIST"},
      directions);
  v.field({"bytes", Unit::none, "sizes of a copy, separated by commas; default: powers of 4 from 4KiB to 1GiB",
           Role::option, "LIST"},
          bytes);
  v.field({"streams", Unit::none,
           "copies in flight at once in each direction, 1 to 8; several values are measured in "
           "turn",
           Role::option, "LIST"},
          streams);
  v.field({"batch", Unit::count, "samples of a batch: copies have the size of one, in place of --bytes"}, batch);
  v.field({"shape", Unit::none, "with --batch, of a sample: its sides; 3x224x224", Role::option, "CxHxW"}, shape);
  v.field({"dtype", Unit::none, "with --batch, of a value"}, dtype);
  v.field({"device", Unit::none, "number of the GPU, or all, one after the other", Role::option, "N|all"}, device);
  v.field(
      {"numa", Unit::none,
       "NUMA node that host memory comes from: the GPU's own, the farthest, or each in turn; auto: its own where that "
       "is known"},
      numa);
  v.field({"gds", Unit::none, "measure how fast this file comes to the GPU: by cuFile, and by reading and copying",
           Role::option, "FILE"},
          gds);
  v.field({"threads", Unit::count, "threads that read the file of --gds; 4"}, threads);
}

void TransferDevice::describe(FieldVisitor& v) {
  v.field({"device", Unit::count, "number of the GPU, as CUDA counts"}, device);
  v.field({"name", Unit::none, "model"}, name);
  v.field({"memory", Unit::bytes, "its memory"}, memory);
  v.field({"numa_node", Unit::count, "NUMA node of the host that is nearest"}, numa_node);
  v.field({"pcie", Unit::none, "its link right after copies"}, pcie);
  v.field({"pcie_generation", Unit::count, "of that link"}, pcie_generation);
  v.field({"max_pcie_generation", Unit::count, "that device and slot can do"}, max_pcie_generation);
  v.field({"wire_limit", Unit::bytes_per_second, "rate of a lane x lanes x line coding, in one direction"}, wire_limit);
  v.field({"payload_limit", Unit::bytes_per_second,
           "of that what is left for bytes, in packets of 256 bytes with 24 bytes around each"},
          payload_limit);
  v.field({"max_wire_limit", Unit::bytes_per_second, "wire limit of what device and slot can do"}, max_wire_limit);
  v.field({"link_source", Unit::none, "who told of the link: the GPU's driver (NVML), /sys, or none"}, link_source);
  v.field({"slowdowns", Unit::none, "what slowed the GPU down right after copies, by NVML's names"}, slowdowns);
}

void TransferRow::describe(FieldVisitor& v) {
  v.field({"device", Unit::count, "number of the GPU"}, device);
  v.field({"kind", Unit::none, "kind of host memory"}, kind);
  v.field({"direction", Unit::none, "h2d: host to device; d2h: back; both: at once"}, direction);
  v.field({"bytes", Unit::bytes, "of one copy"}, bytes);
  v.field({"streams", Unit::count, "copies in flight at once in each direction"}, streams);
  v.field({"numa", Unit::none, "where the host memory lies: local, remote, or unbound"}, numa);
  v.field({"numa_node", Unit::count, "the node that is"}, numa_node);
  v.field({"copies", Unit::count, "copies of each stream that one measurement took"}, copies);
  v.field({"copy_seconds", Unit::seconds, "time of a copy, or of as many as are in flight at once"}, copy_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "median of three measurements; both: the two directions' sum"},
          bytes_per_second);
  v.field({"lowest_bytes_per_second", Unit::bytes_per_second, "the slowest of the three"}, lowest_bytes_per_second);
  v.field({"highest_bytes_per_second", Unit::bytes_per_second, "the fastest of the three"}, highest_bytes_per_second);
  v.field({"wire_share", Unit::ratio, "share of the link's wire limit; both: of the two directions' sum"}, wire_share);
  v.field({"samples_per_second", Unit::per_second, "with --batch"}, samples_per_second);
}

void PinningRow::describe(FieldVisitor& v) {
  v.field({"device", Unit::count, "number of the GPU"}, device);
  v.field({"kind", Unit::none, "kind of host memory"}, kind);
  v.field({"numa", Unit::none, "where it lies"}, numa);
  v.field({"bytes", Unit::bytes, "that were prepared"}, bytes);
  v.field(
      {"prepare_seconds", Unit::seconds, "to allocate pinned memory, or to register what is there; median of three"},
      prepare_seconds);
  v.field({"release_seconds", Unit::seconds, "to give that back"}, release_seconds);
  v.field({"prepare_seconds_per_gib", Unit::none, "seconds per GiB"}, prepare_seconds_per_gib);
  v.field({"release_seconds_per_gib", Unit::none, "seconds per GiB"}, release_seconds_per_gib);
}

void FileWay::describe(FieldVisitor& v) {
  v.field({"way", Unit::none, "cufile, or pread: into pinned memory, and copied from there meanwhile"}, way);
  v.field({"direct", Unit::none, "past the page cache; false: whatever that held"}, direct);
  v.field({"transfer_seconds", Unit::seconds, "until the last byte was there; median of three"}, transfer_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over that time"}, bytes_per_second);
}

void FileTransfer::describe(FieldVisitor& v) {
  v.field({"path", Unit::none, "the file"}, path);
  v.field({"bytes", Unit::bytes, "from its beginning that were brought to the GPU, whole pages"}, bytes);
  v.field({"block", Unit::bytes, "bytes per read"}, block);
  v.field({"threads", Unit::count, "reading threads"}, threads);
  v.field({"missing", Unit::none, "why cuFile was not measured"}, missing);
  v.field({"mode", Unit::none,
           "native: nvidia-fs brought the bytes; peer-to-peer: the kernel did; compatibility: cuFile read to the host "
           "and copied"},
          mode);
  v.field({"registered", Unit::none, "the GPU's memory was registered with cuFile"}, registered);
  v.field({"rows", Unit::none, "each way"}, rows);
}

void TransferResult::describe(FieldVisitor& v) {
  v.field({"verdict", Unit::none, "the result in one line"}, verdict);
  v.field({"gpu", Unit::none, "model of the first GPU"}, gpu);
  v.field({"pinned_h2d", Unit::bytes_per_second,
           "the fastest row of pinned memory to the GPU, not from a remote node; of several GPUs the slowest one's"},
          pinned_h2d);
  v.field({"pinned_d2h", Unit::bytes_per_second, "the same from the GPU"}, pinned_d2h);
  v.field({"devices", Unit::none, "GPUs that were measured"}, devices);
  v.field({"rows", Unit::none, "each kind, direction, size and number of streams"}, rows);
  v.field({"pinning", Unit::none, "what it costs to have memory that is pinned"}, pinning);
  v.field({"file", Unit::none, "from a file to the GPU"}, file);
}

}  // namespace shardkit
