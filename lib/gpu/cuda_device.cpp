#include <array>
#include <cstdlib>

#include <nvtx3/nvToolsExt.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "gpu/cuda_queue.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/kernels.hpp"

namespace shardkit::gpu {
namespace {

/// Longer than enqueuing ever takes, so that a program that fails in between does not hang.
constexpr std::uint64_t kMostNanoseconds = 10'000'000'000;

/// A word of pinned memory that a kernel looks at until the host writes it.
class CudaGate final : public Gate {
 public:
  CudaGate() {
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, sizeof(GateWords), cudaHostAllocMapped | cudaHostAllocPortable), "create a gate");
    words_ = static_cast<GateWords*>(memory);
    words_->open = 0;
    words_->missed = 0;
    void* seen = nullptr;
    const cudaError_t result = cudaHostGetDevicePointer(&seen, memory, 0);
    if (result != cudaSuccess) cudaFreeHost(memory);
    check_cuda(result, "create a gate");
    device_words_ = static_cast<GateWords*>(seen);
  }
  ~CudaGate() override {
    CudaGate::open();
    cudaFreeHost(words_);  // waits for the kernels that look at it
  }
  CudaGate(const CudaGate&) = delete;
  CudaGate& operator=(const CudaGate&) = delete;

  void open() override {
    // Not a fence, of which ThreadSanitizer knows nothing; and no std::atomic, which kernels cannot share.
    __atomic_store_n(&words_->open, 1, __ATOMIC_SEQ_CST);
  }
  bool held() const override { return words_->missed == 0; }

  /// Enqueues the kernel that waits.
  void hold(cudaStream_t stream) { check_cuda(launch_hold(device_words_, kMostNanoseconds, stream), "block a stream"); }

  /// Enqueues the kernel that computes until the gate opens, at most so long.
  void spin(cudaStream_t stream, int device, std::uint64_t nanoseconds) {
    int multiprocessors = 1;
    check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
               "query the GPU's properties");
    check_cuda(launch_spin(device_words_, static_cast<unsigned>(multiprocessors), nanoseconds, stream),
               "compute on the GPU");
  }

 private:
  GateWords* words_ = nullptr;
  GateWords* device_words_ = nullptr;
};

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(int device) : device_(device) {
    select_cuda_device(device);
    // A waiting thread sleeps: the core is needed for decoding.
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync), "create an event");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  static cudaEvent_t handle_of(const Event& event) { return dynamic_cast<const CudaEvent&>(event).event_; }

  void wait() override {
    select_cuda_device(device_);
    check_cuda(cudaEventSynchronize(event_), "finish work on the GPU");
  }

  bool is_reached() const override {
    select_cuda_device(device_);
    const cudaError_t state = cudaEventQuery(event_);
    if (state != cudaErrorNotReady) check_cuda(state, "query an event");
    return is_success(state);
  }

  double seconds_since(const Event& earlier) const override {
    select_cuda_device(device_);
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, handle_of(earlier), event_), "read the GPU's clock");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  int device_;
  cudaEvent_t event_ = nullptr;
};

const std::uint8_t* levels_of(DeviceSpan memory) { return reinterpret_cast<const std::uint8_t*>(memory.data); }

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int device) : queue_(device) {}

  void copy_to_device(DeviceSpan device, Bytes host) override {
    check_cuda(cudaMemcpyAsync(device.data, host.data(), host.size(), cudaMemcpyHostToDevice, queue_.use()),
               "copy to the GPU");
  }

  void copy_to_host(MutableBytes host, DeviceSpan device) override {
    check_cuda(cudaMemcpyAsync(host.data(), device.data, host.size(), cudaMemcpyDeviceToHost, queue_.use()),
               "copy from the GPU");
  }

  void hold(Gate& gate) override { dynamic_cast<CudaGate&>(gate).hold(queue_.use()); }

  void record(Event& event) override {
    check_cuda(cudaEventRecord(CudaEvent::handle_of(event), queue_.use()), "record an event");
  }

  void normalize(const DeviceTensor& tensor, std::uint64_t samples, DeviceSpan crops, DeviceSpan flips) override {
    if (samples == 0) return;
    const auto launch = [&](const auto& target) {
      return launch_normalize(target, levels_of(crops), levels_of(flips), samples, queue_.use());
    };
    check_cuda(with_target(tensor, launch), "normalize on the GPU");
  }

  void crop(const DeviceTensor& tensor, DeviceSpan jobs, std::uint64_t count) override {
    if (count == 0) return;
    const auto launch = [&](const auto& target) {
      return launch_crops(target, reinterpret_cast<const CropJob*>(jobs.data), count, queue_.use());
    };
    check_cuda(with_target(tensor, launch), "crop on the GPU");
  }

  void spin(Gate& gate, std::uint64_t nanoseconds) override {
    dynamic_cast<CudaGate&>(gate).spin(queue_.use(), queue_.device(), nanoseconds);
  }

  void wait(const Event& event) override {
    check_cuda(cudaStreamWaitEvent(queue_.use(), CudaEvent::handle_of(event), 0), "wait for an event");
  }

  void synchronize() override { queue_.synchronize(); }

  cudaStream_t handle() const { return queue_.handle(); }

 private:
  CudaQueue queue_;
};

/// In /sys hexadecimal digits are in lower case.
std::string pci_address(int index) {
  std::array<char, 32> text{};
  if (!is_success(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index))) return {};
  return lower_case(std::string_view(text.data()));
}

std::optional<std::uint64_t> numa_node(int index) {
  int node = -1;
  // Drivers before 12.2 do not know this attribute.
  if (!is_success(cudaDeviceGetAttribute(&node, cudaDevAttrHostNumaId, index)) || node < 0) return std::nullopt;
  return static_cast<std::uint64_t>(node);
}

DeviceFacts facts_of(int index) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index), "query the GPU's properties");
  return {static_cast<std::uint64_t>(index), properties.name, properties.totalGlobalMem, pci_address(index),
          numa_node(index)};
}

/// A GPU by CUDA's runtime. Making one asks for its facts only; its context is made with the first use.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index), facts_(facts_of(index)) {}

  const DeviceFacts& facts() const override { return facts_; }

  std::uint64_t free_memory() const override {
    select_cuda_device(index_);
    std::size_t available = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&available, &total), "query the GPU's free memory");
    return available;
  }

  DeviceSpan allocate(std::size_t bytes) override {
    select_cuda_device(index_);
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, bytes), "allocate GPU memory");
    return {static_cast<std::byte*>(memory), bytes};
  }

  // Releasing does not throw. In a thread that selected no device it would make a context on GPU 0.
  void free(DeviceSpan memory) override {
    cudaSetDevice(index_);
    cudaFree(memory.data);
  }

  MutableBytes allocate_pinned(std::size_t bytes, bool write_combined) override {
    select_cuda_device(index_);
    void* memory = nullptr;
    const unsigned flags = write_combined ? cudaHostAllocWriteCombined : cudaHostAllocDefault;
    check_cuda(cudaHostAlloc(&memory, bytes, flags), "allocate pinned memory");
    return {static_cast<std::byte*>(memory), bytes};
  }

  void free_pinned(MutableBytes memory) override {
    cudaSetDevice(index_);
    cudaFreeHost(memory.data());
  }

  void register_memory(MutableBytes memory) override {
    select_cuda_device(index_);
    check_cuda(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterDefault), "pin memory");
  }

  void unregister_memory(MutableBytes memory) override {
    cudaSetDevice(index_);
    cudaHostUnregister(memory.data());
  }

  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CudaStream>(index_); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(index_); }
  std::unique_ptr<Gate> make_gate() override {
    select_cuda_device(index_);
    return std::make_unique<CudaGate>();
  }

  void fill_pattern(DeviceSpan memory, std::uint64_t seed) override {
    CudaStream stream(index_);
    check_cuda(launch_fill_pattern(memory.data, memory.size, seed, stream.handle()), "fill GPU memory");
    stream.synchronize();
  }

  std::uint64_t count_mismatches(DeviceSpan memory, std::uint64_t seed) override {
    unsigned long long count = 0;
    const DeviceBuffer counter(*this, sizeof(count));
    CudaStream stream(index_);
    check_cuda(cudaMemsetAsync(counter.span().data, 0, sizeof(count), stream.handle()), "clear GPU memory");
    check_cuda(launch_count_mismatches(memory.data, memory.size, seed,
                                       reinterpret_cast<unsigned long long*>(counter.span().data), stream.handle()),
               "check GPU memory");
    stream.copy_to_host(std::as_writable_bytes(std::span(&count, 1)), counter.span());
    stream.synchronize();
    return count;
  }

 private:
  int index_;
  DeviceFacts facts_;
};

}  // namespace

std::vector<std::unique_ptr<Device>> open_devices() {
  // Streams that share one of the 8 connections of the default wait for each other, behind a closed gate for ever. CUDA
  // reads this when the first context is made. A value set by the user is kept.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int count = 0;  // left as it is if there is no driver
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
