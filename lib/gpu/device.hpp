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

/// One GPU as the rest of shardkit sees it. CUDA stands behind it, in tests host memory
/// with a clock of its own (tests/support/fake_device.hpp).
///
/// A Device may be used by any thread; a Stream or a Gate by one thread at a time; an Event is recorded by one at a
/// time and may be waited for by others. All are destroyed before their Device. Whatever fails throws Error{io}, and
/// Error{no_space} where memory is short; what gives something back (free, free_pinned, open, ...) never throws.
namespace shardkit::gpu {

/// What a GPU says of itself.
struct DeviceFacts {
  std::uint64_t index = 0;  ///< as CUDA counts, after CUDA_VISIBLE_DEVICES
  std::string name;
  std::uint64_t memory = 0;                ///< bytes
  std::string pci_address;                 ///< "0000:17:00.0", as /sys writes it
  std::optional<std::uint64_t> numa_node;  ///< of the host, nearest to it; where the driver tells
};

/// Memory of a GPU. The address means nothing to the host.
struct DeviceSpan {
  std::byte* data = nullptr;
  std::size_t size = 0;

  DeviceSpan part(std::size_t offset, std::size_t length) const { return {data + offset, length}; }
};

/// From one piece to the next where pieces of so many bytes share memory: each starts as memory of a GPU does by
/// itself.
constexpr std::uint64_t device_stride(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A batch's tensor in a GPU's memory: square samples of three channels, as image/augment.hpp writes them.
struct DeviceTensor {
  DeviceSpan values;
  std::uint32_t side = 0;
  image::TensorType type = image::TensorType::f32;
  image::TensorLayout layout = image::TensorLayout::nchw;
};

/// A moment in a stream.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns when the stream came to what was recorded last; sleeps meanwhile.
  virtual void wait() = 0;
  /// Whether wait() would return at once.
  virtual bool is_reached() const = 0;
  /// Seconds from `earlier` to this one. Both were recorded and their streams synchronised since.
  virtual double seconds_since(const Event& earlier) const = 0;
};

/// What streams wait at, so that work is enqueued before it begins and the time of enqueuing is not measured. Closed
/// once: opens with open() or when it is destroyed, and a stream gives up waiting after some seconds.
class Gate {
 public:
  virtual ~Gate() = default;
  virtual void open() = 0;
  /// Once the streams were synchronised: false when one gave up before the gate was opened.
  virtual bool held() const = 0;
};

/// Work that the GPU does in the order it was given. A call returns once the work is enqueued, but copies of pageable
/// memory may return as late as when they are done: never behind a closed gate.
class Stream {
 public:
  virtual ~Stream() = default;
  /// As many bytes as `host` has. Both stay valid until the stream was synchronised.
  virtual void copy_to_device(DeviceSpan device, Bytes host) = 0;
  virtual void copy_to_host(MutableBytes host, DeviceSpan device) = 0;
  /// All that comes later waits until the gate is opened.
  virtual void hold(Gate& gate) = 0;
  virtual void record(Event& event) = 0;
  /// Normalises as image/augment.hpp does, to the bit, and writes the first `samples` of `tensor`. `crops` holds their
  /// levels, pixel by pixel, with the tensor's side; `flips` a byte for each, not 0 where it is mirrored.
  virtual void normalise(const DeviceTensor& tensor, std::uint64_t samples, DeviceSpan crops, DeviceSpan flips) = 0;
  /// The same of parts of images, resized as image/resize.hpp does, to the bit: `jobs` holds `count` CropJob
  /// (gpu/tensor_math.hpp), each of which says which sample it makes.
  virtual void crop(const DeviceTensor& tensor, DeviceSpan jobs, std::uint64_t count) = 0;
  /// Keeps a part of each multiprocessor busy for so long, or until the gate is opened.
  virtual void spin(Gate& gate, std::uint64_t nanoseconds) = 0;
  /// All that comes later waits for what was recorded last; it may have been in another stream of the same device.
  virtual void wait(const Event& event) = 0;
  /// Returns when all is done; throws what went wrong on the way.
  virtual void synchronize() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  virtual std::uint64_t free_memory() const = 0;

  virtual DeviceSpan allocate(std::size_t bytes) = 0;
  virtual void free(DeviceSpan memory) = 0;

  /// Host memory that the kernel keeps in place, so that the GPU copies from it by itself. `write_combined` memory is
  /// not cached: fast to write in order, very slow to read.
  virtual MutableBytes allocate_pinned(std::size_t bytes, bool write_combined) = 0;
  virtual void free_pinned(MutableBytes memory) = 0;
  /// Pins memory that the caller has; it stays so until it is unregistered.
  virtual void register_memory(MutableBytes memory) = 0;
  virtual void unregister_memory(MutableBytes memory) = 0;

  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual std::unique_ptr<Gate> make_gate() = 0;

  /// Writes the pattern of gpu/pattern.hpp, and returns when that is done.
  virtual void fill_pattern(DeviceSpan memory, std::uint64_t seed) = 0;
  /// How many bytes are not those of the pattern; counted on the GPU.
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

/// Every GPU that this process may use, in CUDA's order; never none. Throws Error{unsupported} whose one line says what
/// is missing: CUDA in this build, a driver, one that is new enough, a device. Work on a GPU begins with its first use.
std::vector<std::unique_ptr<Device>> open_devices();

/// The same GPUs, lent; they live as long as `devices`.
std::vector<Device*> lent(const std::vector<std::unique_ptr<Device>>& devices);

/// The GPU that --device names by its number. Throws Error{unsupported} when it is not there.
Device& numbered_device(std::span<Device* const> devices, std::uint64_t number);

/// How host memory is had that a GPU copies from or to.
enum class HostMemory {
  pageable,        ///< as malloc gives it: the driver copies it through a pinned buffer of its own
  pinned,          ///< by cudaHostAlloc
  write_combined,  ///< the same, not cached
  registered       ///< pageable memory that was pinned afterwards, by cudaHostRegister
};
constexpr auto enum_names(HostMemory) {
  return std::to_array<std::string_view>({"pageable", "pinned", "write-combined", "registered"});
}

/// Pages of the kernel that nobody had before: they come from the NUMA node of the thread that touches them first,
/// which is the one that makes them. Throws Error{no_space}.
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

/// Host memory of some kind that frees itself; all zeros at first. It lies on the NUMA node that the thread is bound to
/// that makes it (system/memory.hpp).
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
  std::unique_ptr<FreshPages> pages_;  ///< of pageable and registered memory
  MutableBytes bytes_;
};

/// Why cudaGetDeviceCount gave no devices, in one line. `error` and its name are what it returned (0 with no device),
/// `driver` and `runtime` are versions as CUDA writes them, 13000 for 13.0; a `driver` of 0 is none. CUDA's error 35
/// stands for no driver as well as for one that is too old.
std::string cuda_absence(int error, std::string_view error_name, int driver, int runtime);

/// Says to profilers such as Nsight Systems what the calling thread does for as long as the object lives (NVTX). Costs
/// some nanoseconds where none listens, and does nothing in a build without CUDA. Ranges of a thread end in the
/// opposite order of their beginnings, in that thread.
class TraceRange {
 public:
  /// `name` is copied where a profiler listens.
  explicit TraceRange(const char* name);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace shardkit::gpu
