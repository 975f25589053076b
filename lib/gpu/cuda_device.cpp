#include <array>

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "gpu/cuda_stream.hpp"
#include "gpu/device.hpp"
#include "gpu/kernels.hpp"
#include "gpu/trace_range.hpp"

namespace shardkit::gpu {
namespace {

/// A GPU by CUDA's runtime. Making one asks for its facts only; its context is made with the first use.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index);

  const DeviceFacts& facts() const override { return facts_; }
  std::uint64_t free_memory() const override;
  DeviceSpan allocate(std::size_t bytes) override;
  void free(DeviceSpan memory) override;
  MutableBytes allocate_pinned(std::size_t bytes, bool write_combined) override;
  void free_pinned(MutableBytes memory) override;
  void register_memory(MutableBytes memory) override;
  void unregister_memory(MutableBytes memory) override;
  std::unique_ptr<Stream> make_stream() override;
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Gate> make_gate() override;
  void fill_pattern(DeviceSpan memory, std::uint64_t seed) override;
  std::uint64_t count_mismatches(DeviceSpan memory, std::uint64_t seed) override;

 private:
  void select() const;

  int index_;
  DeviceFacts facts_;
};

/// In /sys hexadecimal digits are in lower case.
std::string pci_address(int index) {
  std::array<char, 32> text{};
  if (cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index) != cudaSuccess) return {};
  std::string address(text.data());
  for (char& c : address) c = lower_case(c);
  return address;
}

std::optional<std::uint64_t> numa_node(int index) {
  int node = -1;
  if (cudaDeviceGetAttribute(&node, cudaDevAttrHostNumaId, index) != cudaSuccess || node < 0) return std::nullopt;
  return static_cast<std::uint64_t>(node);
}

DeviceFacts facts_of(int index) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index), "ask the GPU what it is");
  return {static_cast<std::uint64_t>(index), properties.name, properties.totalGlobalMem, pci_address(index),
          numa_node(index)};
}

CudaDevice::CudaDevice(int index) : index_(index), facts_(facts_of(index)) {}

void CudaDevice::select() const { select_cuda_device(index_); }

std::uint64_t CudaDevice::free_memory() const {
  select();
  std::size_t available = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&available, &total), "ask for the GPU's free memory");
  return available;
}

DeviceSpan CudaDevice::allocate(std::size_t bytes) {
  select();
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, bytes), "allocate memory of the GPU");
  return {static_cast<std::byte*>(memory), bytes};
}

void CudaDevice::free(DeviceSpan memory) { cudaFree(memory.data); }

MutableBytes CudaDevice::allocate_pinned(std::size_t bytes, bool write_combined) {
  select();
  void* memory = nullptr;
  const unsigned flags = write_combined ? cudaHostAllocWriteCombined : cudaHostAllocDefault;
  check_cuda(cudaHostAlloc(&memory, bytes, flags), "allocate pinned memory");
  return {static_cast<std::byte*>(memory), bytes};
}

void CudaDevice::free_pinned(MutableBytes memory) { cudaFreeHost(memory.data()); }

void CudaDevice::register_memory(MutableBytes memory) {
  select();
  check_cuda(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterDefault), "pin memory");
}

void CudaDevice::unregister_memory(MutableBytes memory) { cudaHostUnregister(memory.data()); }

std::unique_ptr<Stream> CudaDevice::make_stream() { return std::make_unique<CudaStream>(index_); }

std::unique_ptr<Event> CudaDevice::make_event() { return std::make_unique<CudaEvent>(index_); }

std::unique_ptr<Gate> CudaDevice::make_gate() {
  select();
  return std::make_unique<CudaGate>();
}

void CudaDevice::fill_pattern(DeviceSpan memory, std::uint64_t seed) {
  CudaStream stream(index_);
  check_cuda(launch_fill_pattern(memory.data, memory.size, seed, stream.handle()), "fill memory of the GPU");
  stream.synchronize();
}

std::uint64_t CudaDevice::count_mismatches(DeviceSpan memory, std::uint64_t seed) {
  unsigned long long count = 0;
  const DeviceBuffer counter(*this, sizeof(count));
  CudaStream stream(index_);
  check_cuda(cudaMemsetAsync(counter.span().data, 0, sizeof(count), stream.handle()), "clear memory of the GPU");
  check_cuda(launch_count_mismatches(memory.data, memory.size, seed,
                                     reinterpret_cast<unsigned long long*>(counter.span().data), stream.handle()),
             "check memory of the GPU");
  stream.copy_to_host(std::as_writable_bytes(std::span(&count, 1)), counter.span());
  stream.synchronize();
  return count;
}

}  // namespace

std::vector<std::unique_ptr<Device>> open_devices() {
  int count = 0;  // left as it is where there is no driver
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    int driver = 0;
    int runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    throw Error(ErrorCode::unsupported, cuda_absence(result, cudaGetErrorString(result), driver, runtime));
  }
  std::vector<std::unique_ptr<Device>> devices;
  for (int index = 0; index < count; ++index) devices.push_back(std::make_unique<CudaDevice>(index));
  return devices;
}

TraceRange::TraceRange(const char* name) { nvtxRangePushA(name); }

TraceRange::~TraceRange() { nvtxRangePop(); }

}  // namespace shardkit::gpu
