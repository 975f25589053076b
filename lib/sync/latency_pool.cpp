#include "sync/latency_pool.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "core/text.hpp"

namespace shardkit::sync {
namespace {

/// Weight of the newest step: its inverse is enough steps to smooth, few enough to follow a source that gets slow.
constexpr double kNewest = 1.0 / 32;

std::int64_t now_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Shorter waits are the clocks' own differences and page locks, not a slow source.
constexpr std::int64_t kShortestWait = 20'000;

}  // namespace

unsigned ThreadDemand::after_step(std::int64_t cpu_ns, std::int64_t waited_ns, unsigned threads) {
  cpu_ns_ += (static_cast<double>(cpu_ns) - cpu_ns_) * kNewest;
  waited_ns_ += (static_cast<double>(waited_ns) - waited_ns_) * kNewest;
  const double need = std::round(cores_ * (1.0 + waited_ns_ / std::max(cpu_ns_, 1.0)));
  return std::max(threads, static_cast<unsigned>(std::min(need, 2.0 * threads)));
}

WaitMeter::WaitMeter() : schedstat_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

WaitMeter::~WaitMeter() {
  if (schedstat_ >= 0) ::close(schedstat_);
}

/// Wall time less the time this thread ran or was ready to run. Its zero means nothing; differences do.
std::int64_t WaitMeter::idle_ns() const {
  const std::int64_t ran = now_ns(CLOCK_THREAD_CPUTIME_ID);
  std::int64_t ready = 0;
  std::array<char, 64> text{};  // "<ns on a core> <ns ready to run> <times scheduled>"
  if (schedstat_ >= 0 && ::pread(schedstat_, text.data(), text.size() - 1, 0) > 0) {
    const std::string_view line(text.data());
    const std::size_t second = line.find(' ') + 1;  // npos + 1 is 0
    parse_number(line.substr(second, line.find(' ', second) - second), ready);
  }
  return now_ns(CLOCK_MONOTONIC) - ran - ready;
}

WaitMeter::Scope::Scope(WaitMeter& meter) : meter_(meter), start_ns_(meter.idle_ns()) {}

WaitMeter::Scope::~Scope() {
  const std::int64_t idle = meter_.idle_ns() - start_ns_;
  if (idle > kShortestWait) meter_.waited_ns_ += idle;
}

void LatencyPool::add_threads(std::int64_t cpu_ns, std::int64_t waited_ns) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // another thread is starting some, for which hundreds would wait here
  const unsigned threads = workers_.level();
  const unsigned wanted = need_.after_step(cpu_ns, waited_ns, threads);
  if (wanted > threads) workers_.set_level(wanted);
}

void LatencyPool::run(const Step& step) {
  workers_.run([&]() -> WorkerPool::Step {
    const auto meter = std::make_shared<WaitMeter>();  // of this thread
    return [&, meter, cpu_before = now_ns(CLOCK_THREAD_CPUTIME_ID)](const std::stop_token& stop) mutable {
      if (!step(*meter, stop)) return false;
      const std::int64_t cpu_now = now_ns(CLOCK_THREAD_CPUTIME_ID);
      add_threads(cpu_now - std::exchange(cpu_before, cpu_now), meter->take_waited_ns());
      return true;
    };
  });
}

}  // namespace shardkit::sync
