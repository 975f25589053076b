#include "gpu/device.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit::gpu {

std::vector<Device*> lent(const std::vector<std::unique_ptr<Device>>& devices) {
  std::vector<Device*> all;
  for (const auto& device : devices) all.push_back(device.get());
  return all;
}

Device& numbered_device(std::span<Device* const> devices, std::uint64_t number) {
  if (number < devices.size()) return *devices[number];
  throw Error(ErrorCode::unsupported,
              fmt::format("--device {}: there is no such GPU; this process can use {}, counted from 0", number,
                          format_count(devices.size(), "GPU")));
}

FreshPages::FreshPages(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorCode::no_space, fmt::format("no {} of memory: {}", format_size(bytes), std::strerror(errno)));
  }
  bytes_ = {static_cast<std::byte*>(memory), bytes};
  std::memset(memory, 0, bytes);
}

FreshPages::~FreshPages() { ::munmap(bytes_.data(), bytes_.size()); }

HostBuffer::HostBuffer(Device& device, HostMemory kind, std::size_t bytes) : device_(device), kind_(kind) {
  if (kind == HostMemory::pinned || kind == HostMemory::write_combined) {
    bytes_ = device_.allocate_pinned(bytes, kind == HostMemory::write_combined);
    std::memset(bytes_.data(), 0, bytes_.size());
    return;
  }
  pages_ = std::make_unique<FreshPages>(bytes);
  bytes_ = pages_->bytes();
  if (kind == HostMemory::registered) device_.register_memory(bytes_);
}

HostBuffer::~HostBuffer() {
  if (kind_ == HostMemory::registered) device_.unregister_memory(bytes_);
  if (!pages_) device_.free_pinned(bytes_);
}

namespace {

// Of cudaError in driver_types.h, which a build without CUDA lacks.
constexpr int kInsufficientDriver = 35;
constexpr int kNoDevice = 100;

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string reason(int error, std::string_view error_name, int driver, int runtime) {
  if (error == kInsufficientDriver && driver == 0) return "there is no NVIDIA driver";
  if (error == kInsufficientDriver) {
    return fmt::format("the NVIDIA driver is too old: it supports CUDA up to {}, this program needs {}",
                       version_text(driver), version_text(runtime));
  }
  if (error == kNoDevice || error == 0) {
    return "there is a driver, but no GPU that this process may use (CUDA_VISIBLE_DEVICES, the container's devices, "
           "MIG "
           "mode without instances: nvidia-smi -L)";
  }
  return cuda_text(error, error_name);
}

}  // namespace

std::string cuda_text(int error, std::string_view error_name) {
  constexpr std::array<std::pair<int, std::string_view>, 5> kRemedies{
      {{46, ": compute mode Exclusive or Prohibited refuses this process (nvidia-smi -q -d COMPUTE)"},
       {209,
        ": this program has no code for this GPU: it needs compute capability 7.5 (Turing) or later, and the one that "
        "was "
        "given if it was built with -DCMAKE_CUDA_ARCHITECTURES"},
       {214, ": GPU memory is damaged; nvidia-smi -q -d ECC,ROW_REMAPPER shows details, and the GPU needs a reset"},
       {802, ": the NVLink switches are not set up; nvidia-fabricmanager must run, in the version of the driver"},
       {999, ": often a driver whose device nodes /dev/nvidia* are missing or not accessible to this user"}}};
  const auto known = std::ranges::find(kRemedies, error, &std::pair<int, std::string_view>::first);
  return fmt::format("{}{}", error_name, known == kRemedies.end() ? "" : known->second);
}

std::string cuda_absence(int error, std::string_view error_name, int driver, int runtime) {
  return fmt::format("no GPU is available: cudaGetDeviceCount returned {}: {}", error,
                     reason(error, error_name, driver, runtime));
}

}  // namespace shardkit::gpu
