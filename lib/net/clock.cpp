#include "net/clock.hpp"

#include <condition_variable>
#include <mutex>

#include "core/error.hpp"

namespace shardkit {
namespace {

class SystemClock final : public Clock {
 public:
  WallTime now() override { return std::chrono::system_clock::now(); }

  Seconds monotonic() override { return std::chrono::steady_clock::now().time_since_epoch(); }

  void sleep(Seconds duration, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, duration, [] { return false; });
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while waiting");
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace shardkit
