#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "gpu/cuda_queue.hpp"
#include "gpu/cufile_library.hpp"
#include "gpu/direct_storage.hpp"

namespace shardkit::gpu {
namespace {

/// cuFile reports numbers only.
std::string_view meaning(int error) {
  if (error == 5001 || error == 5033)
    return "the kernel module nvidia-fs is not loaded, and cufile.json does not allow compatibility mode";
  if (error == 5004 || error == 5005) return "libcufile and the kernel module nvidia-fs have different versions";
  return "see CUfileOpError in NVIDIA's cuFile API reference";
}

/// "5033: the kernel module nvidia-fs is not loaded"
std::string cufile_text(CufileError error) {
  if (error.error == kCufileCudaError) return fmt::format("CUDA driver error {}", error.cuda_error);
  return fmt::format("{}: {}", error.error, meaning(error.error));
}

/// Reads by nvidia-fs for all processes; empty where the module is not loaded or counts nothing (rw_stats_enabled=0).
/// The line is "Reads : n=54 ok=54 err=0 readMiB=432 io_state_err=0" (nvfs-stat.c of gds-nvidia-fs).
std::optional<std::uint64_t> nvidia_fs_reads(const system::Probe& probe) {
  const std::string statistics = probe.text("/proc/driver/nvidia-fs/stats").value_or("");
  const std::string_view line = system::line_value(statistics, "Reads");
  const std::size_t at = line.find("n=");
  if (at == std::string_view::npos || line.substr(0, at).find_first_not_of(": \t") != std::string_view::npos) return {};
  const std::string_view number = line.substr(at + 2);
  return parse_count(number.substr(0, number.find(' ')));
}

class CufileFile final : public DirectFile {
 public:
  CufileFile(const CufileLibrary& cufile, const DeviceSpan& registered, std::atomic<std::uint64_t>& reads, int device,
             CufileLibrary::Handle handle, std::string path)
      : cufile_(cufile),
        registered_(registered),
        reads_(reads),
        device_(device),
        handle_(handle),
        path_(std::move(path)) {}
  ~CufileFile() override { cufile_.handle_deregister(handle_); }
  CufileFile(const CufileFile&) = delete;
  CufileFile& operator=(const CufileFile&) = delete;

  void read(DeviceSpan to, std::uint64_t offset) override {
    select_cuda_device(device_);  // cuFile asks for a CUDA context in the calling thread
    // Of registered memory the start and an offset: for other addresses cuFile reads through a buffer of its own.
    const bool inside = to.data >= registered_.data && to.data < registered_.data + registered_.size;
    std::byte* const base = inside ? registered_.data : to.data;
    for (std::size_t done = 0; done < to.size;) {
      const ssize_t got = cufile_.read(handle_, base, to.size - done, static_cast<off_t>(offset + done),
                                       to.data - base + static_cast<off_t>(done));
      if (got <= 0) {
        const std::string why = got == 0    ? "the file ends before its reported size"
                                : got == -1 ? std::strerror(errno)
                                            : cufile_text({static_cast<int>(-got), 0});
        throw Error(ErrorCode::io, fmt::format("cuFile cannot read '{}' at byte {}: {}", path_, offset + done, why),
                    path_, offset + done);
      }
      reads_.fetch_add(1, std::memory_order_relaxed);
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  const CufileLibrary& cufile_;
  const DeviceSpan& registered_;
  std::atomic<std::uint64_t>& reads_;
  int device_;
  CufileLibrary::Handle handle_;
  std::string path_;
};

class CufileStorage final : public DirectStorage {
 public:
  CufileStorage(int device, const system::Probe& probe) : probe_(probe), device_(device) {
    select_cuda_device(device_);
    const CufileError result = cufile_.driver_open();
    if (result.error != kCufileSuccess) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("no GPUDirect Storage: cuFileDriverOpen failed: {}", cufile_text(result)));
    }
    start_counting();
  }
  ~CufileStorage() override {
    if (registered_.data) cufile_.buffer_deregister(registered_.data);
    cufile_.driver_close();
  }
  CufileStorage(const CufileStorage&) = delete;
  CufileStorage& operator=(const CufileStorage&) = delete;

  std::unique_ptr<DirectFile> open(int fd, const std::string& path) override {
    select_cuda_device(device_);
    CufileFileDescription description{};
    description.type = kCufileDescriptor;
    description.fd = fd;
    CufileLibrary::Handle handle = nullptr;
    const CufileError result = cufile_.handle_register(&handle, &description);
    if (result.error != kCufileSuccess) {
      throw Error(ErrorCode::unsupported, At{path}, "cuFile does not support '{}': {}", path, cufile_text(result));
    }
    return std::make_unique<CufileFile>(cufile_, registered_, reads_, device_, handle, path);
  }

  bool register_memory(DeviceSpan memory) override {
    select_cuda_device(device_);
    const bool done = cufile_.buffer_register(memory.data, memory.size, 0).error == kCufileSuccess;
    if (done) registered_ = memory;
    return done;
  }

  std::optional<DirectReads> reads() const override {
    if (nvidia_fs_before_) return reads_by_driver();
    const auto all = std::make_unique<CufileStats>();
    if (!counts_at_ || cufile_.stats(all.get()).error != kCufileSuccess) return std::nullopt;
    CufileGpuStats stats;
    std::memcpy(&stats, all->bytes + *counts_at_, sizeof(stats));
    DirectReads sum;
    for (std::uint32_t gpu = 0; gpu < stats.gpu_count && gpu < std::size(stats.gpus); ++gpu) {
      sum.nvidia_fs += stats.gpus[gpu].nvidia_fs;
      sum.peer_to_peer += stats.gpus[gpu].peer_to_peer;
      sum.posix += stats.gpus[gpu].posix;
    }
    return sum;
  }

 private:
  /// By libcufile's own statistics, of which level 3 has the paths of reads. Libraries before those did not have the
  /// kernel's peer-to-peer reads either: what nvidia-fs did not read was read to the host.
  void start_counting() {
    int version = 0;
    if (cufile_.version && cufile_.version(&version).error != kCufileSuccess) return;
    if (version < kFirstWithStats) {
      nvidia_fs_before_ = nvidia_fs_reads(probe_);
    } else if (cufile_.set_stats_level && cufile_.stats_start && cufile_.stats &&
               cufile_.set_stats_level(3).error == kCufileSuccess && cufile_.stats_start().error == kCufileSuccess) {
      counts_at_ = gpu_stats_offset(version);
    }
  }

  std::optional<DirectReads> reads_by_driver() const {
    const auto now = nvidia_fs_reads(probe_);
    if (!now || *now < *nvidia_fs_before_) return std::nullopt;
    const std::uint64_t own = reads_.load(std::memory_order_relaxed);
    DirectReads reads;
    reads.nvidia_fs = std::min(own, *now - *nvidia_fs_before_);
    reads.posix = own - reads.nvidia_fs;
    return reads;
  }

  const CufileLibrary cufile_;
  const system::Probe& probe_;
  DeviceSpan registered_;
  std::atomic<std::uint64_t> reads_{0};
  std::optional<std::uint64_t> nvidia_fs_before_;  ///< its reads when this was opened, if they show the mode
  int device_;
  std::optional<std::size_t> counts_at_;  ///< offset of the counts of reads; empty if this library has none we know
};

}  // namespace

std::unique_ptr<DirectStorage> open_direct_storage(const Device& device, const system::Probe& probe) {
  return std::make_unique<CufileStorage>(static_cast<int>(device.facts().index), probe);
}

}  // namespace shardkit::gpu
