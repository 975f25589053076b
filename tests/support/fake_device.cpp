#include "support/fake_device.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/error.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/pattern.hpp"

namespace shardkit_test {
namespace {

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit::image;

class FakeStream;

class FakeEvent final : public Event {
 public:
  explicit FakeEvent(FakeDevice& device) : device_(device) {}

  void wait() override;
  bool is_reached() const override {
    const std::scoped_lock lock(device_.work_mutex());
    return moment_.has_value();
  }
  double seconds_since(const Event& earlier) const override {
    return moment() - dynamic_cast<const FakeEvent&>(earlier).moment();
  }
  double moment() const {
    const std::scoped_lock lock(device_.work_mutex());
    if (!moment_) throw std::logic_error("an event was read before its stream had come to it");
    return *moment_;
  }
  /// The number of the record, of which the last one counts.
  std::uint64_t recorded_in(FakeStream& stream) {
    stream_ = &stream;
    moment_.reset();
    return ++records_;
  }
  void reached(std::uint64_t record, double moment) {
    if (record == records_) moment_ = moment;
  }
  FakeStream* stream() const { return stream_; }

 private:
  FakeDevice& device_;
  FakeStream* stream_ = nullptr;
  std::uint64_t records_ = 0;
  std::optional<double> moment_;
};

class FakeGate final : public Gate {
 public:
  explicit FakeGate(bool gives_up) : gives_up_(gives_up) {}
  void open() override { open_ = true; }
  bool held() const override { return !gives_up_; }
  bool is_open() const { return open_; }

 private:
  bool gives_up_;
  std::atomic<bool> open_{false};
};

/// Does nothing until it is waited for.
class FakeStream final : public Stream {
 public:
  explicit FakeStream(FakeDevice& device) : device_(device) {}

  void copy_to_device(DeviceSpan device, Bytes host) override {
    if (host.size() > device.size) throw std::logic_error("a copy goes past its target");
    enqueue([=, this] {
      const double begin = now_;
      now_ = device_.copy(device.data, host.data(), host.size(), true, now_);
      device_.use(this, {device.data, host.size()}, true, begin, now_);
    });
  }
  void copy_to_host(MutableBytes host, DeviceSpan device) override {
    if (host.size() > device.size) throw std::logic_error("a copy goes past its source");
    enqueue([=, this] {
      const double begin = now_;
      now_ = device_.copy(host.data(), device.data, host.size(), false, now_);
      device_.use(this, {device.data, host.size()}, false, begin, now_);
    });
  }
  void normalize(const DeviceTensor& tensor, std::uint64_t samples, DeviceSpan crops, DeviceSpan flips) override {
    enqueue([=, this] {
      const auto kernel = [&](const auto& target) {
        const auto* levels = reinterpret_cast<const std::uint8_t*>(crops.data);
        const auto* mirrored = reinterpret_cast<const std::uint8_t*>(flips.data);
        for (std::size_t i = 0; i < samples * target.pixels(); ++i) normalize_pixel(target, levels, mirrored, i);
      };
      compute(tensor, samples, {crops, flips}, kernel);
    });
  }
  void crop(const DeviceTensor& tensor, DeviceSpan jobs, std::uint64_t count) override {
    enqueue([=, this] {
      const auto kernel = [&](const auto& target) {
        const auto* crops = reinterpret_cast<const CropJob*>(jobs.data);
        for (std::size_t i = 0; i < count * target.pixels(); ++i) crop_pixel(target, crops, i);
      };
      compute(tensor, count, {jobs}, kernel);
    });
  }
  void spin(Gate& gate, std::uint64_t nanoseconds) override {
    auto& fake = dynamic_cast<FakeGate&>(gate);
    device_.spin(nanoseconds);
    enqueue([&fake, nanoseconds, this] {
      if (!fake.is_open()) now_ += static_cast<double>(nanoseconds) * 1e-9;
    });
  }
  void hold(Gate& gate) override {
    auto& fake = dynamic_cast<FakeGate&>(gate);
    enqueue([&fake] {
      if (!fake.is_open()) throw std::logic_error("a stream would hang: it is waited for behind a closed gate");
    });
  }
  void record(Event& event) override {
    auto& fake = dynamic_cast<FakeEvent&>(event);
    const std::scoped_lock lock(device_.work_mutex());
    enqueue([&fake, this, record = fake.recorded_in(*this)] { fake.reached(record, now_); });
  }
  void wait(const Event& event) override {
    const auto& fake = dynamic_cast<const FakeEvent&>(event);
    const std::scoped_lock lock(device_.work_mutex());
    if (!fake.stream()) throw std::logic_error("a stream waits for an event that nobody recorded");
    enqueue([&fake, this] {
      fake.stream()->work_until(fake);
      now_ = std::max(now_, fake.moment());
    });
  }
  void synchronize() override {
    const std::scoped_lock lock(device_.work_mutex());
    while (!work_.empty()) work_once();
    device_.host_waited_until(now_);
  }
  void work_until(const FakeEvent& event) {
    while (!event.is_reached()) work_once();
  }

 private:
  void enqueue(std::function<void()> work) {
    const std::scoped_lock lock(device_.work_mutex());
    work_.push_back([this, work = std::move(work), moment = device_.host_now()] {
      now_ = std::max(now_, moment);
      work();
    });
  }
  void work_once() {
    if (work_.empty()) throw std::logic_error("streams wait for each other");
    const std::function<void()> next = std::move(work_.front());
    work_.pop_front();
    next();
  }
  void compute(const DeviceTensor& tensor, std::uint64_t samples, std::initializer_list<DeviceSpan> sources,
               const auto& kernel) {
    const double begin = now_;
    now_ = device_.compute(
        tensor, samples, [&] { with_target(tensor, kernel); }, now_);
    for (const DeviceSpan source : sources) device_.use(this, source, false, begin, now_);
    device_.use(this, tensor.values, true, begin, now_);
  }

  FakeDevice& device_;
  std::deque<std::function<void()>> work_;
  double now_ = 0;
};

void FakeEvent::wait() {
  const std::scoped_lock lock(device_.work_mutex());
  if (!stream_) throw std::logic_error("an event is waited for that nobody recorded");
  stream_->work_until(*this);
  device_.host_waited_until(moment());
}

}  // namespace

FakeDevice::FakeDevice(const Settings& settings) : settings_(settings) {
  facts_ = {settings.index, settings.name, settings.memory, settings.pci_address, settings.numa_node};
}

FakeDevice::~FakeDevice() = default;

std::byte* FakeDevice::take(Blocks& blocks, std::size_t bytes) {
  auto* const address = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{4096}));
  std::memset(address, 0, bytes);
  blocks.emplace(address, address);
  return address;
}

void FakeDevice::give_back(Blocks& blocks, std::byte* block) {
  if (blocks.erase(block) == 0) throw std::logic_error("memory is given back that was not taken");
}

std::uint64_t FakeDevice::free_memory() const {
  const std::scoped_lock lock(mutex_);
  return settings_.memory - used_;
}

DeviceSpan FakeDevice::allocate(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes > settings_.memory - used_) throw Error(ErrorCode::no_space, "cannot allocate GPU memory: it is full");
  used_ += bytes;
  return {take(device_blocks_, bytes), bytes};
}

void FakeDevice::free(DeviceSpan memory) {
  const std::scoped_lock lock(mutex_);
  give_back(device_blocks_, memory.data);
  used_ -= memory.size;
  std::erase_if(
      uses_, [&](const Use& use) { return use.data < memory.data + memory.size && memory.data < use.data + use.size; });
}

MutableBytes FakeDevice::allocate_pinned(std::size_t bytes, bool) {
  const std::scoped_lock lock(mutex_);
  return {take(pinned_blocks_, bytes), bytes};
}

void FakeDevice::free_pinned(MutableBytes memory) {
  const std::scoped_lock lock(mutex_);
  give_back(pinned_blocks_, memory.data());
}

void FakeDevice::register_memory(MutableBytes memory) {
  const std::scoped_lock lock(mutex_);
  if (!registered_.emplace(memory.data(), memory.size()).second) throw std::logic_error("registered twice");
}

void FakeDevice::unregister_memory(MutableBytes memory) {
  const std::scoped_lock lock(mutex_);
  if (registered_.erase(memory.data()) == 0) throw std::logic_error("memory is unregistered that was not registered");
}

std::unique_ptr<Stream> FakeDevice::make_stream() { return std::make_unique<FakeStream>(*this); }
std::unique_ptr<Event> FakeDevice::make_event() { return std::make_unique<FakeEvent>(*this); }
std::unique_ptr<Gate> FakeDevice::make_gate() { return std::make_unique<FakeGate>(settings_.gates_give_up); }

void FakeDevice::fill_pattern(DeviceSpan memory, std::uint64_t seed) {
  shardkit::gpu::fill_pattern({memory.data, memory.size}, seed);
}

std::uint64_t FakeDevice::count_mismatches(DeviceSpan memory, std::uint64_t seed) {
  return shardkit::gpu::count_mismatches({memory.data, memory.size}, seed);
}

std::size_t FakeDevice::allocations() const {
  const std::scoped_lock lock(mutex_);
  return device_blocks_.size() + pinned_blocks_.size() + registered_.size();
}

double FakeDevice::host_now() const {
  const std::scoped_lock lock(mutex_);
  return host_now_;
}

void FakeDevice::host_waited_until(double moment) {
  const std::scoped_lock lock(mutex_);
  host_now_ = std::max(host_now_, moment);
}

double FakeDevice::copy(std::byte* to, const std::byte* from, std::size_t bytes, bool to_device, double earliest) {
  const std::scoped_lock lock(mutex_);
  if (bytes > 0) std::memcpy(to, from, bytes);
  if (copies_.fetch_add(1) == settings_.damaged_copy) to[bytes - 1] ^= std::byte{1};
  double& engine = engine_free_[to_device ? 0 : 1];
  const double rate = to_device ? settings_.to_device : settings_.to_host;
  engine = std::max(engine, earliest) + settings_.copy_seconds + static_cast<double>(bytes) / rate;
  return engine;
}

double FakeDevice::compute(const DeviceTensor& tensor, std::uint64_t samples, const std::function<void()>& kernel,
                           double earliest) {
  const std::uint64_t bytes = samples * tensor.side * tensor.side * kTensorChannels * value_bytes(tensor.type);
  if (bytes > tensor.values.size) throw std::logic_error("a kernel writes past its tensor");
  kernel();
  if (kernels_.fetch_add(1) == settings_.damaged_kernel) *tensor.values.data ^= std::byte{1};
  return earliest + settings_.copy_seconds;
}

void FakeDevice::use(const void* stream, DeviceSpan memory, bool writes, double begin, double end) {
  constexpr std::size_t kMostUses = 4096;
  const std::scoped_lock lock(mutex_);
  for (const Use& other : uses_) {
    const bool meets = other.data < memory.data + memory.size && memory.data < other.data + other.size;
    if (meets && other.stream != stream && (writes || other.writes) && other.end > begin) {
      throw std::logic_error("a stream uses memory while another works on it: no event was waited for");
    }
  }
  uses_.push_back({stream, memory.data, memory.size, writes, end});
  if (uses_.size() > kMostUses) uses_.pop_front();
}

}  // namespace shardkit_test
