#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "core/error.hpp"
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

class CufileFile final : public DirectFile {
 public:
  CufileFile(const CufileLibrary& cufile, const DeviceSpan& registered, int device, CufileLibrary::Handle handle,
             std::string path)
      : cufile_(cufile), registered_(registered), device_(device), handle_(handle), path_(std::move(path)) {}
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
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  const CufileLibrary& cufile_;
  const DeviceSpan& registered_;
  int device_;
  CufileLibrary::Handle handle_;
  std::string path_;
};

class CufileStorage final : public DirectStorage {
 public:
  explicit CufileStorage(int device) : device_(device) {
    select_cuda_device(device_);
    const CufileError result = cufile_.driver_open();
    if (result.error != kCufileSuccess) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("no GPUDirect Storage: cuFileDriverOpen failed: {}", cufile_text(result)));
    }
    // Level 3 counts the paths of reads.
    if (cufile_.set_stats_level && cufile_.stats_start && cufile_.stats &&
        cufile_.set_stats_level(3).error == kCufileSuccess && cufile_.stats_start().error == kCufileSuccess) {
      counts_at_ = find_counts();
    }
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
    return std::make_unique<CufileFile>(cufile_, registered_, device_, handle, path);
  }

  bool register_memory(DeviceSpan memory) override {
    select_cuda_device(device_);
    const bool done = cufile_.buffer_register(memory.data, memory.size, 0).error == kCufileSuccess;
    if (done) registered_ = memory;
    return done;
  }

  std::optional<DirectReads> reads() const override {
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
  std::optional<std::size_t> find_counts() const {
    int version = 0;
    if (!cufile_.version || cufile_.version(&version).error != kCufileSuccess) return std::nullopt;
    return gpu_stats_offset(version);
  }

  const CufileLibrary cufile_;
  DeviceSpan registered_;
  int device_;
  std::optional<std::size_t> counts_at_;  ///< offset of the counts of reads; empty if this library has none we know
};

}  // namespace

std::unique_ptr<DirectStorage> open_direct_storage(const Device& device) {
  return std::make_unique<CufileStorage>(static_cast<int>(device.facts().index));
}

}  // namespace shardkit::gpu
