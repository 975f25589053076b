#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/neighbors.hpp"
#include "bench/machine/placement.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device.hpp"
#include "gpu/direct_storage.hpp"
#include "gpu/gpu_monitor.hpp"
#include "image/tensor_type.hpp"
#include "system/pcie.hpp"
#include "system/probe.hpp"

/// `iobench transfer`: how fast data is copied from host memory to a GPU and back (docs/explain/gpu.md).
namespace shardkit::bench {

/// Direction of a copy: host to device, device to host, both at once.
enum class CopyDirection { h2d, d2h, both };
constexpr auto enum_names(CopyDirection) { return std::to_array<std::string_view>({"h2d", "d2h", "both"}); }

/// Source of the link data.
enum class LinkSource { none, sys, driver };
constexpr auto enum_names(LinkSource) { return std::to_array<std::string_view>({"none", "sys", "driver"}); }

struct TransferOptions {
  std::string kinds = "pageable,pinned,write-combined,registered";
  std::string bytes;        ///< sizes; empty: powers of 4 from 4 KiB to 1 GiB
  std::string depth = "1";  ///< streams in each direction
  std::string device = "0";
  NumaChoice numa = NumaChoice::automatic;
  std::optional<std::string> gds;
  std::optional<std::uint64_t> threads;  ///< with gds; 4

  void describe(FieldList& v);
};

/// A GPU and its link right after copies, because an idle link is often slowed down to save power.
struct TransferDevice {
  std::uint64_t device = 0;
  std::string name;
  std::uint64_t memory = 0;
  std::optional<std::uint64_t> numa_node;
  system::PcieLink pcie;
  std::optional<std::uint64_t> pcie_generation;
  std::optional<std::uint64_t> max_pcie_generation;
  std::optional<double> wire_limit;      ///< bytes per second after line coding
  std::optional<double> payload_limit;   ///< the same without packet headers
  std::optional<double> max_wire_limit;  ///< of what device and slot can do
  LinkSource link_source = LinkSource::none;
  std::vector<std::string> slowdowns;  ///< of slowdowns() in gpu/gpu_monitor.hpp, right after copies

  void describe(FieldList& v);
};

struct TransferRow {
  std::uint64_t device = 0;
  gpu::HostMemory kind = gpu::HostMemory::pageable;
  CopyDirection direction = CopyDirection::h2d;
  std::uint64_t bytes = 0;
  std::uint64_t streams = 1;
  NumaLocation numa = NumaLocation::unbound;
  std::optional<std::uint64_t> numa_node;
  std::uint64_t copies = 0;
  double copy_seconds = 0;
  double bytes_per_second = 0;
  double lowest_bytes_per_second = 0;
  double highest_bytes_per_second = 0;
  stats::Interval interval;  ///< 95 % interval of the median; for callers that measure more than three times
  std::optional<double> wire_share;

  void describe(FieldList& v);
};

/// Cost of pinned memory.
struct PinningRow {
  std::uint64_t device = 0;
  gpu::HostMemory kind = gpu::HostMemory::pinned;
  NumaLocation numa = NumaLocation::unbound;
  std::uint64_t bytes = 0;
  double prepare_seconds = 0;
  double release_seconds = 0;
  double prepare_seconds_per_gib = 0;
  double release_seconds_per_gib = 0;

  void describe(FieldList& v);
};

/// How a file gets to the GPU: by reading into pinned memory and copying, or with cuFile.
enum class FileReader { pread, cufile };
constexpr auto enum_names(FileReader) { return std::to_array<std::string_view>({"pread", "cufile"}); }

/// One method from a file to the GPU.
struct FileWay {
  FileReader way = FileReader::pread;
  bool direct = true;
  double transfer_seconds = 0;
  double bytes_per_second = 0;

  void describe(FieldList& v);
};

/// How cuFile's reads were made.
enum class GdsMode { unknown, native, peer_to_peer, compatibility, mixed };
constexpr auto enum_names(GdsMode) {
  return std::to_array<std::string_view>({"unknown", "native", "peer-to-peer", "compatibility", "mixed"});
}

struct FileTransfer {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t block = 0;
  std::uint64_t threads = 0;
  std::optional<std::string> missing;  ///< why there is no row for cuFile
  GdsMode mode = GdsMode::unknown;
  bool registered = false;
  std::vector<FileWay> rows;

  void describe(FieldList& v);
};

struct TransferResult {
  std::string verdict;
  std::string gpu;  ///< model of the first one
  std::optional<double> pinned_h2d;
  std::optional<double> pinned_d2h;
  std::vector<TransferDevice> devices;
  std::vector<TransferRow> rows;
  std::vector<PinningRow> pinning;
  std::optional<FileTransfer> file;
  Neighbors neighbors;

  void describe(FieldList& v);
};

/// What transfer uses: GPUs, a function to open cuFile for one of them, the rest of the machine, and the GPU driver if
/// available. Borrowed.
struct TransferMachine {
  std::vector<gpu::Device*> devices;
  std::function<std::unique_ptr<gpu::DirectStorage>(const gpu::Device&)> open_storage;
  const system::Probe& probe;
  const gpu::GpuMonitor* monitor = nullptr;
};

/// Copies every kind of memory in every requested direction, size and number of streams, and checks every byte; or with
/// options.gds reads a file into GPU memory. Throws Error{usage}, Error{unsupported} without a GPU, CUDA or a requested
/// node, Error{no_space} if none of the sizes fits, Error{corrupt} if bytes arrive wrong.
TransferResult transfer(const TransferOptions& options, Context& context);
TransferResult transfer(const TransferOptions& options, const TransferMachine& machine, Context& context);

/// Throws the errors of transfer_file() for an unsuitable file, before a GPU is opened.
void check_transfer_file(const std::string& path);

/// From a file to GPU memory: by reading into pinned memory while copying, and with cuFile. Both bypass the page cache
/// if the file system allows that, with the same number of threads, three times each, and compare every byte with the
/// file. Throws Error{not_found, denied, io}, Error{usage} for a file of less than a page, Error{corrupt}. If cuFile is
/// not available, the result has the reason.
FileTransfer transfer_file(const std::string& path, unsigned threads, gpu::Device& device,
                           const TransferMachine& machine, Context& context);

/// Maximum number of copies in flight in one direction.
inline constexpr std::uint64_t kMostTransferStreams = 8;

/// One kind of copy to measure.
struct CopyJob {
  gpu::HostMemory kind = gpu::HostMemory::pageable;
  CopyDirection direction = CopyDirection::h2d;
  std::uint64_t bytes = 0;
  std::uint64_t streams = 1;

  /// Blocks of memory that it needs on either side: one for each stream and direction.
  std::uint64_t lanes() const { return streams * (direction == CopyDirection::both ? 2 : 1); }
  /// From the start of one block to that of the next, so that each starts on a page.
  std::uint64_t stride() const { return (bytes + 4095) / 4096 * 4096; }
  std::uint64_t memory() const { return lanes() * stride(); }
};

/// The measurements for the options, kind by kind.
struct TransferPlan {
  std::vector<gpu::HostMemory> kinds;
  std::vector<CopyJob> jobs;  ///< in order of the kinds, then of sizes, streams, directions
  NumaChoice numa = NumaChoice::automatic;
  bool times_pinning = true;    ///< also the cost of each kind of memory
  double seconds_per_copy = 0;  ///< time for each measurement, which is made at least once and at most five times
};

/// Throws Error{usage} that names the option.
TransferPlan plan_transfer(const TransferOptions& options);

/// The GPUs of --device. Throws Error{usage} for an invalid number, and Error{unsupported} for a GPU that does not
/// exist.
std::vector<gpu::Device*> chosen_devices(const std::string& option, std::span<gpu::Device* const> devices);

/// Measures the plan's copies on one GPU and adds its rows and facts to the result. Throws like transfer().
void measure_copies(const TransferPlan& plan, gpu::Device& device, const TransferMachine& machine, Context& context,
                    TransferResult& result);

struct CopyTiming {
  std::uint64_t copies = 0;          ///< of each stream and direction in a measurement
  std::vector<double> copy_seconds;  ///< one per measurement: its time divided by `copies`
};

/// Copies between `host` and `memory`, each of at least job.memory() bytes, and then compares every byte of the last
/// copies with a pattern from `seed`, which differs between calls. Throws Error{corrupt} if one is wrong,
/// Error{cancelled}.
CopyTiming time_copies(gpu::Device& device, MutableBytes host, gpu::DeviceSpan memory, const CopyJob& job,
                       std::uint64_t seed, const std::stop_token& stop);

/// The measured times as a row of the result; the caller fills in its device, share of the link.
TransferRow timed_row(const CopyJob& job, const CopyTiming& timing, const Placement& placement);

/// Relative to the link at its fastest.
void add_wire_share(const TransferDevice& device, TransferRow& row);

/// Bytes per second left for data on a link of `wire_rate`: in packets of 256 bytes, the usual payload of servers' root
/// ports, each with 24 bytes of overhead (framing 4, header 16 with 64-bit addresses, checksum 4; PCI Express Base
/// Specification 5.0, 2.2 and 4.2). Empty above generation 5, which uses other packets.
std::optional<double> payload_rate(double wire_rate, unsigned generation);

/// The GPU's facts, its node and its link: from the driver if `monitor` is given and reports it, else from /sys;
/// without a link if neither knows.
TransferDevice look_at_device(const gpu::DeviceFacts& facts, const system::Probe& probe,
                              const gpu::GpuMonitor* monitor = nullptr);

/// Reads the link again: keeps its fastest state, and the reasons for throttling. Call right after copies.
void look_at_link(const system::Probe& probe, const gpu::GpuMonitor* monitor, TransferDevice& device);

/// Warns of a link below what device and slot support, and of a throttled GPU. Call when everything is measured.
void warn_of_device(const TransferDevice& device, Context& context);

/// "PCIe 5 x16"; empty if the link is unknown.
std::string link_name(const TransferDevice& device);
/// The same for the maximum of device and slot.
std::string max_link_name(const TransferDevice& device);

/// The result in one line: for pinned memory to the GPU (or what was measured instead) the best rate of all sizes and
/// its share of the link, then the other kinds. For several GPUs the slowest. For a file each method.
std::string transfer_verdict(const TransferResult& result);

/// The fastest row of this kind and direction that is not from a remote node; for several GPUs that of the slowest.
std::optional<double> best_rate(const TransferResult& result, gpu::HostMemory kind, CopyDirection direction);

/// Measures allocating pinned memory, or registering existing memory, and releasing it: the median of three. Empty for
/// pageable memory. The caller fills in the row's device and place.
std::optional<PinningRow> time_pinning(gpu::Device& device, gpu::HostMemory kind, std::size_t bytes, Context& context);

}  // namespace shardkit::bench
