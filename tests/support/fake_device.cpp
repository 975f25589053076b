#include "support/fake_device.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <stdexcept>

#include "core/error.hpp"
#include "gpu/pattern.hpp"

namespace shardkit_test {
namespace {

using namespace shardkit;

class FakeStream;

class FakeEvent final : public Event {
 public:
  double seconds_since(const Event& earlier) const override {
    return moment() - dynamic_cast<const FakeEvent&>(earlier).moment();
  }
  double moment() const {
    if (!moment_) throw std::logic_error("an event was read before its stream had come to it");
    return *moment_;
  }
  void recorded_in(FakeStream& stream) {
    stream_ = &stream;
    moment_.reset();
  }
  void reached(double moment) { moment_ = moment; }
  bool is_reached() const { return moment_.has_value(); }
  FakeStream* stream() const { return stream_; }

 private:
  FakeStream* stream_ = nullptr;
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
  bool open_ = false;
};

/// Does nothing until it is synchronised.
class FakeStream final : public Stream {
 public:
  explicit FakeStream(FakeDevice& device) : device_(device) {}

  void copy_to_device(DeviceSpan device, Bytes host) override {
    if (host.size() > device.size) throw std::logic_error("a copy goes past its target");
    enqueue([=, this] { now_ = device_.copy(device.data, host.data(), host.size(), true, now_); });
  }
  void copy_to_host(MutableBytes host, DeviceSpan device) override {
    if (host.size() > device.size) throw std::logic_error("a copy goes past its source");
    enqueue([=, this] { now_ = device_.copy(host.data(), device.data, host.size(), false, now_); });
  }
  void hold(Gate& gate) override {
    auto& fake = dynamic_cast<FakeGate&>(gate);
    enqueue([&fake] {
      if (!fake.is_open()) throw std::logic_error("a stream would hang: it is waited for behind a closed gate");
    });
  }
  void record(Event& event) override {
    auto& fake = dynamic_cast<FakeEvent&>(event);
    fake.recorded_in(*this);
    enqueue([&fake, this] { fake.reached(now_); });
  }
  void wait(const Event& event) override {
    const auto& fake = dynamic_cast<const FakeEvent&>(event);
    if (!fake.stream()) throw std::logic_error("a stream waits for an event that nobody recorded");
    enqueue([&fake, this] {
      while (!fake.is_reached()) fake.stream()->work_once();
      now_ = std::max(now_, fake.moment());
    });
  }
  void synchronize() override {
    while (!work_.empty()) work_once();
    device_.host_waited_until(now_);
  }

 private:
  void enqueue(std::function<void()> work) {
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

  FakeDevice& device_;
  std::deque<std::function<void()>> work_;
  double now_ = 0;
};

}  // namespace

FakeDevice::FakeDevice(const Settings& settings) : settings_(settings) {
  facts_ = {settings.index, "fake GPU", settings.memory, settings.pci_address, settings.numa_node};
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
  if (bytes > settings_.memory - used_)
    throw Error(ErrorCode::no_space, "cannot allocate memory of the GPU: it is full");
  used_ += bytes;
  return {take(device_blocks_, bytes), bytes};
}

void FakeDevice::free(DeviceSpan memory) {
  const std::scoped_lock lock(mutex_);
  give_back(device_blocks_, memory.data);
  used_ -= memory.size;
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
std::unique_ptr<Event> FakeDevice::make_event() { return std::make_unique<FakeEvent>(); }
std::unique_ptr<Gate> FakeDevice::make_gate() { return std::make_unique<FakeGate>(settings_.gates_give_up); }

void FakeDevice::fill_pattern(DeviceSpan memory, std::uint64_t seed) {
  shardkit::fill_pattern({memory.data, memory.size}, seed);
}

std::uint64_t FakeDevice::count_mismatches(DeviceSpan memory, std::uint64_t seed) {
  return shardkit::count_mismatches({memory.data, memory.size}, seed);
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

}  // namespace shardkit_test
