#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// One GPU as seen by the rest of shardkit. Implemented with CUDA, and in tests with host memory and its own clock
/// (tests/support/fake_device.hpp).
///
/// A Device may be used by any thread; a Stream or a Gate by one thread at a time; an Event is recorded by one at a
/// time and may be waited for by others. All are destroyed before their Device. Every failure throws Error{io}, or
/// Error{no_space} if there is not enough memory; calls that release something (free, free_pinned, open, ...) never
/// throw.
namespace shardkit::gpu {

/// Properties of a GPU.
struct DeviceFacts {
  std::uint64_t index = 0;  ///< as counted by CUDA, after CUDA_VISIBLE_DEVICES
  std::string name;
  std::uint64_t memory = 0;                ///< bytes
  std::string pci_address;                 ///< "0000:17:00.0", as in /sys
  std::optional<std::uint64_t> numa_node;  ///< nearest node of the host, if the driver reports it
};

/// Memory of a GPU. Its address is not valid on the host.
struct DeviceSpan {
  std::byte* data = nullptr;
  std::size_t size = 0;

  DeviceSpan part(std::size_t offset, std::size_t length) const { return {data + offset, length}; }
};

/// Distance between blocks that share memory, so that each is aligned like a GPU allocation.
constexpr std::uint64_t device_stride(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A batch's tensor in a GPU's memory: square samples of three channels, as image/augment.hpp writes them.
struct DeviceTensor {
  DeviceSpan values;
  std::uint32_t side = 0;
  image::TensorType type = image::TensorType::f32;
};

/// A moment in a stream.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns when the stream has reached the last recorded point; sleeps until then.
  virtual void wait() = 0;
  /// Whether wait() would return immediately.
  virtual bool is_reached() const = 0;
  /// Seconds from `earlier` to this one. Both were recorded and their streams synchronized afterwards.
  virtual double seconds_since(const Event& earlier) const = 0;
};

/// Streams wait at a gate, so that work is queued before it begins and queuing is not measured. Closed once: opens with
/// open() or when it is destroyed, and a stream times out after some seconds.
class Gate {
 public:
  virtual ~Gate() = default;
  virtual void open() = 0;
  /// After synchronizing the streams: false if one timed out before the gate was opened.
  virtual bool held() const = 0;
};

/// Work that the GPU does in order. A call returns when the work is queued, but copies of pageable memory may return
/// only when they are done: never call them behind a closed gate.
class Stream {
 public:
  virtual ~Stream() = default;
  /// As many bytes as in `host`. Both stay valid until the stream was synchronized.
  virtual void copy_to_device(DeviceSpan device, Bytes host) = 0;
  virtual void copy_to_host(MutableBytes host, DeviceSpan device) = 0;
  /// All later work waits until the gate is opened.
  virtual void hold(Gate& gate) = 0;
  virtual void record(Event& event) = 0;
  /// Normalizes like image/augment.hpp, bit for bit, and writes the first `samples` of `tensor`. `crops` contains their
  /// pixels with the tensor's side; `flips` one byte for each, not 0 if it is mirrored.
  virtual void normalize(const DeviceTensor& tensor, std::uint64_t samples, DeviceSpan crops, DeviceSpan flips) = 0;
  /// The same for parts of images, resized like image/resize.hpp, bit for bit: `jobs` contains `count` CropJob
  /// (gpu/tensor_math.hpp), each with the sample that it makes.
  virtual void crop(const DeviceTensor& tensor, DeviceSpan jobs, std::uint64_t count) = 0;
  /// Keeps a part of each multiprocessor busy for this time, or until the gate is opened.
  virtual void spin(Gate& gate, std::uint64_t nanoseconds) = 0;
  /// All later work waits for the last recorded point, also of another stream of the same device.
  virtual void wait(const Event& event) = 0;
  /// Returns when all is done; throws the errors on the way.
  virtual void synchronize() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  virtual std::uint64_t free_memory() const = 0;

  virtual DeviceSpan allocate(std::size_t bytes) = 0;
  virtual void free(DeviceSpan memory) = 0;

  /// Pinned host memory, which the GPU copies directly. `write_combined` memory is not cached: fast to write in order,
  /// very slow to read.
  virtual MutableBytes allocate_pinned(std::size_t bytes, bool write_combined) = 0;
  virtual void free_pinned(MutableBytes memory) = 0;
  /// Pins memory of the caller until it is unregistered.
  virtual void register_memory(MutableBytes memory) = 0;
  virtual void unregister_memory(MutableBytes memory) = 0;

  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual std::unique_ptr<Gate> make_gate() = 0;

  /// Writes the pattern of gpu/pattern.hpp, and returns when that is done.
  virtual void fill_pattern(DeviceSpan memory, std::uint64_t seed) = 0;
  /// How many bytes differ from the pattern; counted on the GPU.
  virtual std::uint64_t count_mismatches(DeviceSpan memory, std::uint64_t seed) = 0;
};

/// Memory of a GPU that frees itself.
class DeviceBuffer {
 public:
  DeviceBuffer(Device& device, std::size_t bytes) : device_(device), span_(device.allocate(bytes)) {}
  ~DeviceBuffer() { device_.free(span_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  DeviceSpan span() const { return span_; }

 private:
  Device& device_;
  DeviceSpan span_;
};

/// All GPUs that this process may use, in CUDA's order; at least one. Throws Error{unsupported} with one line that
/// names what is missing: CUDA in this build, a driver, a newer driver, a device. A GPU is initialized on first use.
std::vector<std::unique_ptr<Device>> open_devices();

/// The same GPUs, borrowed; valid as long as `devices`.
std::vector<Device*> lent(const std::vector<std::unique_ptr<Device>>& devices);

/// The GPU with the number given with --device. Throws Error{unsupported} if it does not exist.
Device& numbered_device(std::span<Device* const> devices, std::uint64_t number);

/// Kind of host memory that a GPU copies from or to.
enum class HostMemory {
  pageable,        ///< from malloc: the driver copies it through its own pinned buffer
  pinned,          ///< by cudaHostAlloc
  write_combined,  ///< the same, not cached
  registered       ///< pageable memory, pinned afterwards with cudaHostRegister
};
constexpr auto enum_names(HostMemory) {
  return std::to_array<std::string_view>({"pageable", "pinned", "write-combined", "registered"});
}

/// New pages of the kernel: they come from the NUMA node of the thread that touches them first, which is the one that
/// creates them. Throws Error{no_space}.
class FreshPages {
 public:
  explicit FreshPages(std::size_t bytes);
  ~FreshPages();
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

  MutableBytes bytes() const { return bytes_; }

 private:
  MutableBytes bytes_;
};

/// Host memory of some kind that frees itself; initially zero. It is on the NUMA node to which the creating thread is
/// bound (system/memory.hpp).
class HostBuffer {
 public:
  HostBuffer(Device& device, HostMemory kind, std::size_t bytes);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  HostMemory kind() const { return kind_; }
  MutableBytes bytes() const { return bytes_; }

 private:
  Device& device_;
  HostMemory kind_;
  std::unique_ptr<FreshPages> pages_;  ///< for pageable and registered memory
  MutableBytes bytes_;
};

/// Why cudaGetDeviceCount found no devices, in one line. `error` and its name are its result (0 without device),
/// `driver` and `runtime` are versions in CUDA's form, 13000 for 13.0; 0 means no driver. CUDA's error 35 means no
/// driver or one that is too old.
std::string cuda_absence(int error, std::string_view error_name, int driver, int runtime);

/// The meaning of a result of CUDA's runtime: its name, and what to do if the name does not say it.
std::string cuda_text(int error, std::string_view error_name);

/// Shows profilers such as Nsight Systems what the calling thread does as long as the object exists (NVTX). Costs a few
/// nanoseconds without a profiler, and does nothing in a build without CUDA. Ranges of a thread end in reverse order,
/// in that thread.
class TraceRange {
 public:
  /// `name` is copied if a profiler is attached.
  explicit TraceRange(const char* name);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace shardkit::gpu
