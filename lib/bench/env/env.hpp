#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/requirement/requirement.hpp"
#include "bench/results/finding.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/gpu_monitor.hpp"
#include "image/tensor_type.hpp"
#include "system/block_device.hpp"
#include "system/cpu.hpp"
#include "system/host.hpp"
#include "system/limits.hpp"
#include "system/memory.hpp"
#include "system/network_storage.hpp"
#include "system/pcie.hpp"
#include "system/probe.hpp"
#include "system/storage.hpp"

/// `iobench env`: the machine, and what about it slows training down. Measures nothing.
namespace shardkit::bench {

/// A PyTorch DataLoader on this node.
struct LoaderJob {
  std::uint64_t gpus = 1;
  std::uint64_t workers = 8;  ///< per GPU
  std::uint64_t prefetch = 2;
  std::uint64_t batch = 256;
  double sample_bytes = 0;  ///< size of a decoded sample

  std::uint64_t processes() const { return gpus * workers; }
  /// Minimum memory that it needs in /dev/shm.
  double shared_memory() const { return prefetch_bytes(gpus, workers, prefetch, batch, sample_bytes); }
};

/// What hardware of this kind usually delivers, for comparison: sequential reads in large blocks, one direction.
struct NormalRate {
  std::string part;  ///< "hdd", "nvme", "network", "gpu"
  std::optional<double> low;
  double high = 0;
  std::string note;

  void describe(FieldList& v) {
    v.field({"part", "storage class, network or gpu"}, part);
    v.field({"low_bytes_per_second", Unit::bytes_per_second, "lower end of the range"}, low);
    v.field({"high_bytes_per_second", Unit::bytes_per_second, "upper end of the range, or the limit of a link"}, high);
    v.field({"note", "hardware that the range applies to"}, note);
  }
};

/// What a run has to work with: the machine, the limits of this process, and the storage of the data.
struct Environment {
  std::uint64_t usable_threads = 0;
  std::optional<double> cpu_limit;
  std::uint64_t throttled_periods = 0;
  std::uint64_t usable_memory = 0;       ///< 0 if unknown
  std::optional<std::uint64_t> dev_shm;  ///< free
  std::optional<std::uint64_t> dev_shm_size;
  std::uint64_t gpus = 0;
  std::string gpu_driver;
  std::string path;              ///< path of the data without links; empty without data
  system::StorageFacts storage;  ///< empty without a path
  std::optional<system::SpaceFacts> space;
  std::optional<std::uint64_t> file_size;  ///< bytes, if the path is a file
  std::optional<system::BlockDevice> block_device;
  std::optional<system::NfsFacts> nfs;
  std::optional<system::LustreFacts> lustre;
  std::optional<system::GpfsFacts> gpfs;
  std::optional<system::FuseFacts> fuse;
  system::CpuFacts cpu;
  system::CgroupUse control_group;
  system::MemoryFacts memory;
  std::vector<system::NumaNode> numa_nodes;
  std::vector<system::NetworkCard> network;
  std::vector<system::RdmaPort> rdma;
  std::vector<system::GpuDevice> gpu_devices;
  gpu::GpuSight gpu_monitor;
  bool gds_driver = false;     ///< nvidia-fs is loaded
  std::string nvme_multipath;  ///< "Y" or "N": parameter of nvme_core
  system::KernelFacts kernel;
  std::vector<std::string> hidden;  ///< "/proc", "/sys": what could not be read here
  std::vector<NormalRate> normal;
  std::vector<MachineFinding> findings;

  void describe(FieldList& v);
};

/// All findings of the rules, most severe first, then in the order of the rules. `job`: the loader, if known. A rule
/// checks one fact and reports nothing if that fact is unknown.
std::vector<MachineFinding> find_findings(const Environment& environment, const std::optional<LoaderJob>& job);

/// The fastest active link of cards and RDMA ports; empty if none reports its speed.
std::optional<double> fastest_network(const Environment& environment);

/// Checks this machine and the storage of `path`, and returns the findings. `path` is empty without data, `job` if the
/// loader is unknown. Throws Error{not_found, denied} for a missing path, and Error{usage} for one that contains no
/// data, such as a FIFO.
Environment look_at_environment(const std::string& path, const std::optional<LoaderJob>& job);
/// The same for any machine and GPU monitor.
Environment look_at_environment(const std::string& path, const std::optional<LoaderJob>& job,
                                const system::Probe& probe, const gpu::GpuSight& gpus = {});

struct EnvOptions {
  std::optional<std::string> path;
  bool strict = false;
  std::optional<std::uint64_t> workers;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;

  void describe(FieldList& v) {
    v.field({"PATH", "the data: a folder, a file or a block device", Role::optional_positional}, path);
    v.field({"strict", "exit code 3 if there are errors or warnings"}, strict);
    v.field({"workers", Unit::count, "planned loader processes per GPU", between(1, 1'000'000)}, workers);
    v.field({"gpus", Unit::count, "GPUs that train together on this node; default: 1", between(1, 1'000'000)}, gpus);
    v.field({"batch", Unit::count, "samples per GPU and training step; default: 256", between(1, 1'000'000)}, batch);
  }
};

struct EnvResult {
  std::uint64_t errors = 0;
  std::uint64_t warnings = 0;
  bool strict = false;      ///< from the options; used by has_findings()
  Environment environment;  ///< its members are members of the result itself

  bool has_findings() const { return strict && errors + warnings > 0; }

  void describe(FieldList& v) {
    v.field({"errors", Unit::count, "number of errors: findings that make the described loader fail"}, errors);
    v.field({"warnings", Unit::count, "number of warnings: findings that cost speed or distort measurements"},
            warnings);
    environment.describe(v);
  }
};

/// Throws Error{usage} for invalid options or a path that contains no data, Error{not_found, denied} for a missing
/// path.
EnvResult env(const EnvOptions& options, Context& context);

}  // namespace shardkit::bench
