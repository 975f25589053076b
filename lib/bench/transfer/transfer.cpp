#include "bench/transfer/transfer.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "bench/timing/timed_run.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"
#include "system/memory.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kMostPinned = std::uint64_t{1} << 30U;

constexpr unsigned kMostTimings = 5;
constexpr unsigned kFileReaders = 4;

/// One of the GPUs that copy at the same time, and its memory for the kind that is being measured.
struct CopyingGpu {
  CopyingGpu(gpu::Device& own, TransferDevice own_facts) : device(own), facts(std::move(own_facts)) {}

  gpu::Device& device;
  TransferDevice facts;
  std::vector<Placement> placements;
  Placement placement;
  std::optional<gpu::DeviceBuffer> memory;
  std::optional<gpu::HostBuffer> host;
  CopyTiming timing;
  std::vector<TransferRow> rows;
};

/// A thread that ends, for whatever reason, is not waited for by the others.
class Attendance {
 public:
  explicit Attendance(std::barrier<>& barrier) : barrier_(barrier) {}
  ~Attendance() { barrier_.arrive_and_drop(); }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

 private:
  std::barrier<>& barrier_;
};

/// Measures all GPUs at the same time, because they may share a switch or the memory of the host.
class CopiesRun {
 public:
  CopiesRun(const TransferPlan& plan, std::span<gpu::Device* const> devices, const GpuMachine& machine,
            Context& context)
      : plan_(plan), probe_(machine.probe), monitor_(machine.monitor), context_(context) {
    for (gpu::Device* const device : devices) {
      CopyingGpu& gpu = gpus_.emplace_back(*device, look_at_device(device->facts(), probe_, monitor_));
      gpu.placements = placements(plan_.numa, gpu.facts.numa_node, probe_, context_);
      turns_ = std::max(turns_, gpu.placements.size());
    }
  }

  void run(TransferResult& result) {
    choose_jobs();
    context_.progress().start("copying", jobs_.size() * turns_);
    for (std::size_t turn = 0; turn < turns_; ++turn) {
      for (CopyingGpu& gpu : gpus_) choose_node(gpu, turn);
      for (const gpu::HostMemory kind : plan_.kinds) measure_kind(kind, result);
    }
    for (CopyingGpu& gpu : gpus_) {
      for (TransferRow& row : gpu.rows) add_wire_share(gpu.facts, row);
      std::ranges::move(gpu.rows, std::back_inserter(result.rows));
      warn_of_device(gpu.facts, context_);
      result.devices.push_back(gpu.facts);
    }
  }

 private:
  /// Those whose memory is there, on both sides.
  void choose_jobs() {
    const std::uint64_t host = system::usable_memory(probe_) / 4 / gpus_.size();
    std::uint64_t own = std::numeric_limits<std::uint64_t>::max();
    for (const CopyingGpu& gpu : gpus_) own = std::min(own, gpu.device.free_memory() / 10 * 8);
    for (const CopyJob& job : plan_.jobs) {
      if (job.memory() <= std::min(host, own)) jobs_.push_back(job);
    }
    if (jobs_.size() == plan_.jobs.size()) return;
    const std::string limits =
        fmt::format("{} of host memory (a quarter of what is available{}) or {} of the GPU (of its free memory)",
                    format_size(host), gpus_.size() > 1 ? ", divided by the GPUs" : "", format_size(own));
    if (jobs_.empty()) throw Error(ErrorCode::no_space, fmt::format("every copy size needs more than {}", limits));
    context_.warn("copies_left_out", fmt::format("{} of {} copies are left out: they need more than {}",
                                                 plan_.jobs.size() - jobs_.size(), plan_.jobs.size(), limits));
  }

  /// Chooses the node of a GPU's host memory; warns if it cannot be used.
  void choose_node(CopyingGpu& gpu, std::size_t turn) {
    gpu.placement = gpu.placements[std::min(turn, gpu.placements.size() - 1)];
    bind(gpu.placement, plan_.numa, probe_, context_);
  }

  /// Calls `work` for each GPU in a thread of its own, on the GPU's node; returns when all are done.
  void for_each_gpu(const std::function<void(CopyingGpu&, std::barrier<>& others)>& work) {
    std::barrier<> others(static_cast<std::ptrdiff_t>(gpus_.size()));
    sync::TaskGroup group(context_.stop_token());
    for (CopyingGpu& gpu : gpus_) {
      group.spawn([&](const std::stop_token&) {
        const Attendance attendance(others);
        std::optional<system::NumaBinding> binding;
        if (gpu.placement.node) binding.emplace(*gpu.placement.node, probe_);
        work(gpu, others);
      });
    }
    group.wait();
    context_.throw_if_stopped();
  }

  std::uint64_t most_memory(gpu::HostMemory kind) const {
    std::uint64_t most = 0;
    for (const CopyJob& job : jobs_) {
      if (job.kind == kind) most = std::max(most, job.memory());
    }
    return most;
  }

  void measure_kind(gpu::HostMemory kind, TransferResult& result) {
    const std::uint64_t bytes = most_memory(kind);
    if (bytes == 0) return;
    for_each_gpu([&](CopyingGpu& gpu, std::barrier<>&) {
      gpu.memory.emplace(gpu.device, bytes);
      gpu.host.emplace(gpu.device, kind, bytes);
    });
    for (const CopyJob& job : jobs_) {
      if (job.kind == kind) measure(job);
    }
    for (CopyingGpu& gpu : gpus_) {
      gpu.host.reset();
      gpu.memory.reset();
    }
    if (!plan_.times_pinning) return;
    for (CopyingGpu& gpu : gpus_) time_pinning_of(gpu, kind, std::min(bytes, kMostPinned), result);
  }

  /// Of one GPU at a time.
  void time_pinning_of(const CopyingGpu& gpu, gpu::HostMemory kind, std::uint64_t bytes, TransferResult& result) {
    std::optional<system::NumaBinding> binding;
    if (gpu.placement.node) binding.emplace(*gpu.placement.node, probe_);
    auto pinning = time_pinning(gpu.device, kind, bytes, context_);
    if (!pinning) return;
    pinning->device = gpu.facts.device;
    pinning->numa = gpu.placement.location;
    result.pinning.push_back(*pinning);
  }

  void measure(const CopyJob& job) {
    const auto end = moment_in(plan_.seconds_per_copy);
    for (CopyingGpu& gpu : gpus_) gpu.timing = {};
    time(job);
    for (unsigned i = 1; i < kMostTimings && std::chrono::steady_clock::now() < end; ++i) time(job);
    for (CopyingGpu& gpu : gpus_) {
      look_at_link(probe_, monitor_, gpu.facts);
      TransferRow row = timed_row(job, gpu.timing, gpu.placement);
      row.device = gpu.facts.device;
      gpu.rows.push_back(row);
    }
    context_.progress().items.fetch_add(1, std::memory_order_relaxed);
  }

  void time(const CopyJob& job) {
    ++seed_;
    for_each_gpu([&](CopyingGpu& gpu, std::barrier<>& others) {
      const CopyTiming more =
          time_copies(gpu.device, gpu.host->bytes(), gpu.memory->span(), job, seed_, context_.stop_token(), &others);
      gpu.timing.copies = more.copies;
      std::ranges::copy(more.copy_seconds, std::back_inserter(gpu.timing.copy_seconds));
    });
  }

  const TransferPlan& plan_;
  const system::Probe& probe_;
  const gpu::GpuMonitor* monitor_;
  Context& context_;
  std::deque<CopyingGpu> gpus_;
  std::size_t turns_ = 0;
  std::vector<CopyJob> jobs_;
  std::uint64_t seed_ = 0;
};

TransferResult measure_file(const TransferOptions& options, const std::vector<gpu::Device*>& chosen,
                            const GpuMachine& machine, Context& context) {
  if (chosen.size() != 1) throw usage_error("--gds needs one GPU: --device N");
  gpu::Device& device = *chosen.front();
  TransferDevice facts = look_at_device(device.facts(), machine.probe, machine.monitor);
  Placement placement = placements(NumaChoice::automatic, facts.numa_node, machine.probe, context).front();
  const auto binding = bind(placement, NumaChoice::automatic, machine.probe, context);
  TransferResult result;
  result.file = transfer_file(*options.gds, kFileReaders, device, machine, context);
  look_at_link(machine.probe, machine.monitor, facts);
  warn_of_device(facts, context);
  result.devices.push_back(facts);
  return result;
}

constexpr std::uint64_t kSmallestByDefault = std::uint64_t{4} << 10U;
constexpr std::uint64_t kLargestByDefault = std::uint64_t{1} << 30U;
constexpr std::uint64_t kLargestCopy = std::uint64_t{1} << 40U;

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view expected) {
  throw usage_error("{}: '{}' is not {}", option, text, expected);
}

std::vector<std::string_view> pieces(std::string_view option, std::string_view list, std::string_view expected) {
  const bool gap = list.starts_with(',') || list.ends_with(',') || list.find(",,") != std::string_view::npos;
  const auto words = system::split(list, ',');
  if (words.empty() || gap) refuse(option, list, expected);
  return words;
}

template <NamedEnum E>
std::vector<E> choices(std::string_view option, std::string_view list) {
  const auto& names = kEnumNames<E>;
  const std::string expected = fmt::format("a list of {}", fmt::join(names, ", "));
  std::vector<E> chosen;
  for (const std::string_view word : pieces(option, list, expected)) {
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) refuse(option, word, fmt::format("one of {}", fmt::join(names, ", ")));
    chosen.push_back(static_cast<E>(found - names.begin()));
  }
  return chosen;
}

std::vector<std::uint64_t> sizes(const std::string& list) {
  std::vector<std::uint64_t> all;
  if (list.empty()) {
    for (std::uint64_t bytes = kSmallestByDefault; bytes <= kLargestByDefault; bytes *= 4) all.push_back(bytes);
    return all;
  }
  for (const std::string_view word : pieces("--bytes", list, "a list of sizes such as 4KiB,1MiB")) {
    const auto bytes = parse_size(word);
    if (!bytes) throw usage_error("--bytes: {}", bytes.error().what());
    if (*bytes == 0 || *bytes > kLargestCopy) refuse("--bytes", word, "a size from 1 byte to 1 TiB");
    all.push_back(*bytes);
  }
  return all;
}

std::vector<std::uint64_t> stream_counts(const std::string& list) {
  std::vector<std::uint64_t> counts;
  for (const std::string_view word : pieces("--depth", list, "a list of numbers")) {
    const auto count = parse_count(word);
    if (!count || *count < 1 || *count > kMostTransferStreams) refuse("--depth", word, "a number from 1 to 8");
    counts.push_back(*count);
  }
  return counts;
}

/// Removes measurements that would be repeated.
template <class T>
void check_once(std::string_view option, std::string_view list, const std::vector<T>& values) {
  for (auto at = values.begin(); at != values.end(); ++at) {
    if (std::find(values.begin(), at, *at) != at) refuse(option, list, "a list without repetitions");
  }
}

void check_device(const std::string& option) {
  if (option != "all" && !parse_count(option)) refuse("--device", option, "the number of a GPU, or all");
}

/// The fastest row of a GPU, kind and direction; null when there is none.
const TransferRow* best_row(const TransferResult& result, std::uint64_t device, gpu::HostMemory kind,
                            CopyDirection direction, bool remote) {
  const TransferRow* best = nullptr;
  for (const TransferRow& row : result.rows) {
    if (row.device != device || row.kind != kind || row.direction != direction) continue;
    if ((row.numa == NumaLocation::remote) != remote) continue;
    if (!best || row.bytes_per_second > best->bytes_per_second) best = &row;
  }
  return best;
}

/// The fastest row of this kind and direction that is not from a remote node; for several GPUs that of the slowest.
std::optional<double> best_rate(const TransferResult& result, gpu::HostMemory kind, CopyDirection direction) {
  std::optional<double> slowest;
  for (const TransferDevice& device : result.devices) {
    const TransferRow* const row = best_row(result, device.device, kind, direction, false);
    if (row) slowest = std::min(slowest.value_or(row->bytes_per_second), row->bytes_per_second);
  }
  return slowest;
}

std::string_view direction_text(CopyDirection direction) {
  constexpr std::array<std::string_view, 3> kTexts{"host to device", "device to host", "both directions at once"};
  return kTexts.at(static_cast<std::size_t>(direction));
}

/// The row for the verdict: pinned memory to the GPU, or the first row if that was not measured.
struct Lead {
  gpu::HostMemory kind;
  CopyDirection direction;
  bool remote;
};

Lead lead_of(const TransferResult& result) {
  const TransferRow& first = result.rows.front();
  const auto wanted = std::find_if(result.rows.begin(), result.rows.end(), [](const TransferRow& row) {
    return row.kind == gpu::HostMemory::pinned && row.direction == CopyDirection::h2d;
  });
  const TransferRow& row = wanted == result.rows.end() ? first : *wanted;
  return {row.kind, row.direction, row.numa == NumaLocation::remote};
}

const TransferDevice& slowest_device(const TransferResult& result, const Lead& lead) {
  const auto rate = [&](const TransferDevice& device) {
    const TransferRow* const row = best_row(result, device.device, lead.kind, lead.direction, lead.remote);
    return row ? row->bytes_per_second : 0;
  };
  return *std::min_element(result.devices.begin(), result.devices.end(),
                           [&](const TransferDevice& a, const TransferDevice& b) { return rate(a) < rate(b); });
}

std::string share_text(const TransferRow& row, const TransferDevice& device) {
  if (!row.wire_share) return " (PCIe link unknown)";
  return fmt::format(", {:.0f} % of {}'s wire limit", *row.wire_share * 100, link_name(device));
}

std::string copies_verdict(const TransferResult& result) {
  const Lead lead = lead_of(result);
  const TransferDevice& device = slowest_device(result, lead);
  const auto best = [&](gpu::HostMemory kind, bool remote) {
    return best_row(result, device.device, kind, lead.direction, remote);
  };
  const TransferRow& row = *best(lead.kind, lead.remote);
  std::string text;
  if (result.devices.size() > 1) {
    text = fmt::format("{} GPUs at once, the slowest is number {}: ", result.devices.size(), device.device);
  }
  text += fmt::format("{} {} {}{}", enum_name(lead.kind), direction_text(lead.direction),
                      format_rate(row.bytes_per_second), share_text(row, device));
  for (std::size_t i = 0; i < kEnumNames<gpu::HostMemory>.size(); ++i) {
    const auto kind = static_cast<gpu::HostMemory>(i);
    const TransferRow* const other = kind == lead.kind ? nullptr : best(kind, lead.remote);
    if (other) text += fmt::format("; {} {}", enum_name(kind), format_rate(other->bytes_per_second));
  }
  if (const TransferRow* const far = lead.remote ? nullptr : best(lead.kind, true)) {
    text += fmt::format("; from NUMA node {} {}", far->numa_node.value_or(0), format_rate(far->bytes_per_second));
  }
  return text;
}

std::string file_verdict(const FileTransfer& file) {
  std::string text;
  for (const FileWay& way : file.rows) {
    if (!text.empty()) text += "; ";
    if (way.way == FileReader::cufile) {
      text += fmt::format("cuFile ({} mode) ", enum_name(file.mode));
    } else {
      text += "pread and pinned copies ";
    }
    text += format_rate(way.bytes_per_second);
  }
  return file.missing ? fmt::format("{}; {}", text, *file.missing) : text;
}

/// The result in one line: for pinned memory to the GPU (or what was measured instead) the best rate of all sizes and
/// its share of the link, then the other kinds. For several GPUs the slowest. For a file each method.
std::string transfer_verdict(const TransferResult& result) {
  return result.file ? file_verdict(*result.file) : copies_verdict(result);
}

}  // namespace

void measure_copies(const TransferPlan& plan, std::span<gpu::Device* const> devices, const GpuMachine& machine,
                    Context& context, TransferResult& result) {
  CopiesRun(plan, devices, machine, context).run(result);
}

TransferResult transfer(const TransferOptions& options, Context& context) {
  plan_transfer(options);  // a wrong option is reported before a missing device
  if (options.gds) check_transfer_file(*options.gds);
  TransferResult result = transfer(options, OpenGpus(GpuUse::needed).with_monitor(), context);
  warn_of_neighbors(result.neighbors, context);
  return result;
}

TransferResult transfer(const TransferOptions& options, const GpuMachine& machine, Context& context) {
  const TransferPlan plan = plan_transfer(options);
  const auto chosen = chosen_devices(options.device, machine.devices);
  TransferResult result;
  NeighborWatch watch({});
  if (options.gds) {
    result = measure_file(options, chosen, machine, context);
  } else {
    measure_copies(plan, chosen, machine, context, result);
  }
  result.neighbors = watch.so_far();
  result.gpu = result.devices.front().name;
  result.pinned_h2d = best_rate(result, gpu::HostMemory::pinned, CopyDirection::h2d);
  result.pinned_d2h = best_rate(result, gpu::HostMemory::pinned, CopyDirection::d2h);
  result.verdict = transfer_verdict(result);
  return result;
}

void TransferOptions::describe(FieldList& v) {
  v.topic("Copies");
  v.field({"kinds", "kinds of host memory", "pageable,pinned,write-combined,registered"}, kinds);
  v.field({"bytes", "copy sizes, separated by commas; default: powers of 4 from 4KiB to 1GiB", "LIST",
           Misnomers{"batch shape dtype"}},
          bytes);
  v.field({"depth", "copies in flight in each direction, 1 to 8; several values are measured one after the other",
           "LIST", Misnomers{"streams"}},
          depth);
  v.topic("GPUs");
  v.field({"device", "number of the GPU, or all, at the same time", "N|all"}, device);
  v.field({"numa", "NUMA node of the host memory: local to the GPU, the farthest, or both; auto: local if known"},
          numa);
  v.topic("Files");
  v.field({"gds", "measure how fast this file is read into GPU memory: with cuFile, and by reading and copying",
           Role::input_file},
          gds);
}

void TransferDevice::describe(FieldList& v) {
  v.field({"device", Unit::count, "number of the GPU, as counted by CUDA"}, device);
  v.field({"name", "model"}, name);
  v.field({"memory", Unit::bytes, "memory of the GPU"}, memory);
  v.field({"numa_node", Unit::count, "nearest NUMA node of the host"}, numa_node);
  v.field({"pcie", "PCIe link right after copies"}, pcie);
  v.field({"pcie_generation", Unit::count, "PCIe generation of that link"}, pcie_generation);
  v.field({"max_pcie_generation", Unit::count, "PCIe generation that device and slot support"}, max_pcie_generation);
  v.field({"wire_limit", Unit::bytes_per_second,
           "lane rate x lanes x line coding, in one direction, of the slowest link up to the root port"},
          wire_limit);
  v.field({"payload_limit", Unit::bytes_per_second,
           "wire limit without packet headers: 256 bytes of payload per 24 bytes of header"},
          payload_limit);
  v.field({"max_wire_limit", Unit::bytes_per_second, "wire limit that device, slot and switches support"},
          max_wire_limit);
  v.field({"c2c", Unit::bytes_per_second, "rate of NVLink-C2C, which copies use instead of PCIe; then it is the limit"},
          c2c_rate);
  v.field({"link_source", "source of the link data: the driver (NVML), /sys, or none"}, link_source);
  std::vector<std::string> names = gpu::clock_limit_names(slowdowns);
  v.field({"slowdowns", "reasons for throttling right after copies, as named by NVML"}, names);
}

void TransferRow::describe(FieldList& v) {
  v.field({"device", Unit::count, "number of the GPU"}, device);
  v.field({"kind", "kind of host memory"}, kind);
  v.field({"direction", "h2d: host to device; d2h: device to host; both: at once"}, direction);
  v.field({"bytes", Unit::bytes, "bytes per copy"}, bytes);
  v.field({"streams", Unit::count, "copies in flight in each direction"}, streams);
  v.field({"numa", "NUMA location of the host memory: local, remote, or unbound"}, numa);
  v.field({"numa_node", Unit::count, "NUMA node of the host memory"}, numa_node);
  v.field({"copies", Unit::count, "copies per stream in one measurement"}, copies);
  v.field({"copy_seconds", Unit::seconds, "time of a copy, or of all copies in flight"}, copy_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "median of three measurements; both: sum of the two directions"},
          bytes_per_second);
  v.field({"lowest_bytes_per_second", Unit::bytes_per_second, "slowest of the three"}, lowest_bytes_per_second);
  v.field({"highest_bytes_per_second", Unit::bytes_per_second, "fastest of the three"}, highest_bytes_per_second);
  v.field({"wire_share", Unit::ratio, "share of the link's wire limit; both: share of two directions"}, wire_share);
}

void PinningRow::describe(FieldList& v) {
  v.field({"device", Unit::count, "number of the GPU"}, device);
  v.field({"kind", "kind of host memory"}, kind);
  v.field({"numa", "NUMA location of the memory"}, numa);
  v.field({"bytes", Unit::bytes, "bytes allocated or registered"}, bytes);
  v.field({"prepare_seconds", Unit::seconds,
           "time to allocate pinned memory, or to register existing memory; median of three"},
          prepare_seconds);
  v.field({"release_seconds", Unit::seconds, "time to release it"}, release_seconds);
  v.field({"prepare_seconds_per_gib", "time per GiB to allocate or register"}, prepare_seconds_per_gib);
  v.field({"release_seconds_per_gib", "time per GiB to release"}, release_seconds_per_gib);
}

void FileWay::describe(FieldList& v) {
  v.field({"way", "cufile; or pread: into pinned memory, copied to the GPU while reading"}, way);
  v.field({"direct", "whether reads bypassed the page cache; false: through the cache in its current state"}, direct);
  v.field({"transfer_seconds", Unit::seconds, "time until the last byte was in GPU memory; median of three"},
          transfer_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by that time"}, bytes_per_second);
}

void FileTransfer::describe(FieldList& v) {
  v.field({"path", "path of the file"}, path);
  v.field({"bytes", Unit::bytes, "bytes read from the start of the file, whole pages"}, bytes);
  v.field({"block", Unit::bytes, "bytes per read"}, block);
  v.field({"threads", Unit::count, "reading threads"}, threads);
  v.field({"missing", "why cuFile was not measured"}, missing);
  v.field(
      {"mode", "native: by nvidia-fs; peer-to-peer: by the kernel; compatibility: cuFile read to the host and copied"},
      mode);
  v.field({"registered", "whether the GPU's memory was registered with cuFile"}, registered);
  v.field({"rows", "one row per method"}, rows);
}

void TransferResult::describe(FieldList& v) {
  v.field({"verdict", "the result in one line"}, verdict);
  v.field({"gpu", "model of the first GPU", kCondition}, gpu);
  v.field(
      {"pinned_h2d", Unit::bytes_per_second,
       "the fastest copy of pinned memory to the GPU, not from a remote node; with several GPUs that of the slowest",
       metric(Better::higher)},
      pinned_h2d);
  v.field({"pinned_d2h", Unit::bytes_per_second, "the fastest copy from the GPU", metric(Better::higher)}, pinned_d2h);
  v.field({"devices", "GPUs that were measured"}, devices);
  v.field({"rows", "one row per kind, direction, size and number of streams"}, rows);
  v.field({"pinning", "cost of pinned memory"}, pinning);
  v.field({"file", "from a file to the GPU"}, file);
  v.field({"neighbors", "what other processes used meanwhile"}, neighbors);
}

TransferPlan plan_transfer(const TransferOptions& options) {
  check_device(options.device);
  TransferPlan plan;
  plan.kinds = choices<gpu::HostMemory>("--kinds", options.kinds);
  const auto streams = stream_counts(options.depth);
  check_once("--kinds", options.kinds, plan.kinds);
  check_once("--depth", options.depth, streams);
  const auto all_sizes = sizes(options.bytes);
  check_once("--bytes", options.bytes, all_sizes);
  plan.numa = options.numa;
  for (const gpu::HostMemory kind : plan.kinds) {
    for (const std::uint64_t bytes : all_sizes) {
      for (const std::uint64_t count : streams) {
        for (const auto direction : {CopyDirection::h2d, CopyDirection::d2h, CopyDirection::both}) {
          plan.jobs.push_back({kind, direction, bytes, count});
        }
      }
    }
  }
  return plan;
}

std::vector<gpu::Device*> chosen_devices(const std::string& option, std::span<gpu::Device* const> devices) {
  check_device(option);
  if (option == "all") return {devices.begin(), devices.end()};
  return {&gpu::numbered_device(devices, *parse_count(option))};
}

}  // namespace shardkit::bench
