#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "bench/read/store_read.hpp"
#include "core/error.hpp"
#include "core/prng.hpp"
#include "core/units.hpp"
#include "stats/summary.hpp"
#include "sync/task_group.hpp"

namespace shardkit::bench {
namespace {

std::vector<StoreObject> shuffled(std::vector<StoreObject> objects, std::uint64_t seed) {
  std::erase_if(objects, [](const StoreObject& object) { return object.info.size == 0; });
  Prng prng(seed);
  shuffle(std::span(objects), prng);
  return objects;
}

using Clock = std::chrono::steady_clock;

constexpr double kSliceSeconds = 0.1;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The counts of one connection. On its own cache line.
struct alignas(64) ConnectionTally {
  stats::LatencyHistogram latency;
  stats::LatencyHistogram ttfb;
};

class LevelRun {
 public:
  LevelRun(StoreRequests& requests, RetryCount& retries, std::uint64_t connections, Context& context)
      : requests_(requests), retries_(retries), context_(context), tallies_(connections) {}

  LevelMeasurement run(const LevelTimes& times) {
    sync::TaskGroup group(context_.stop_token());
    for (ConnectionTally& tally : tallies_) {
      group.spawn([this, &tally](const std::stop_token& stop) { work(tally, stop); });
    }
    const std::stop_token stop = group.stop_token();
    wait(stop, times.warm_up, [this] { return warm_ == tallies_.size(); });
    LevelMeasurement measured = watch(times, stop);
    wait(stop, times.ending, [this] { return ended_ == tallies_.size(); });
    group.request_stop();
    group.wait();
    context_.throw_if_stopped();
    for (const ConnectionTally& tally : tallies_) {
      measured.latency.merge(tally.latency);
      measured.ttfb.merge(tally.ttfb);
    }
    return measured;
  }

 private:
  enum class Phase { warming, measuring, ending };

  /// One connection.
  void work(ConnectionTally& tally, const std::stop_token& stop) {
    try {
      request(nullptr, stop);
      count(warm_);
      while (phase_ != Phase::ending && !stop.stop_requested()) {
        request(phase_ == Phase::measuring ? &tally : nullptr, stop);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled || phase_ != Phase::ending) throw;
    }
    count(ended_);
  }

  void request(ConnectionTally* tally, const std::stop_token& stop) {
    const StoreRequest request = requests_.next();
    const auto& [source, object] = requests_.object(request);
    Clock::time_point begin = Clock::now();
    std::optional<Clock::time_point> first;
    const BodyWriter take = [&](Bytes bytes) {
      if (!first) first = Clock::now();
      context_.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    };
    io::Fetched fetched = io::Fetched::no_ranges;
    if (!request.whole) fetched = source->fetch(object, request.offset, request.length, take, stop);
    if (fetched == io::Fetched::no_ranges) {
      requests_.note_no_ranges(request);
      begin = Clock::now();
      fetched = source->fetch_whole(
          object, [&] { return take; }, stop);
    }
    if (fetched == io::Fetched::changed) return requests_.note_changed(request);
    if (tally == nullptr || !first) return;
    tally->latency.record(Clock::now() - begin);
    tally->ttfb.record(*first - begin);
  }

  /// Measures as long as needed, slice by slice.
  LevelMeasurement watch(const LevelTimes& times, const std::stop_token& stop) {
    const std::atomic<std::uint64_t>& bytes = context_.progress().bytes;
    LevelMeasurement measured;
    Timing& timing = measured.timing;
    const std::uint64_t retries_before = retries_.retries();
    const std::uint64_t throttled_before = retries_.throttled();
    const double cpu_before = process_cpu_seconds();
    const std::uint64_t bytes_before = bytes;
    const Clock::time_point begin = Clock::now();
    phase_ = Phase::measuring;
    while (timing.seconds < times.most && !stop.stop_requested()) {
      if (timing.seconds >= times.least && !drifts(timing)) break;
      wait(stop, kSliceSeconds, [] { return false; });
      const double seconds = seconds_since(begin);
      const std::uint64_t came = bytes - bytes_before;
      timing.rates.push_back(static_cast<double>(came - measured.bytes) / (seconds - timing.seconds));
      timing.seconds = seconds;
      measured.bytes = came;
    }
    phase_ = Phase::ending;
    timing.cpu_seconds = process_cpu_seconds() - cpu_before;
    measured.level.retries = retries_.retries() - retries_before;
    measured.level.throttled = retries_.throttled() - throttled_before;
    measured.level.steady = is_steady(timing);
    return measured;
  }

  static bool drifts(const Timing& timing) {
    return std::abs(stats::relative_drift(timing.rates)) > stats::kSteadyDrift;
  }

  /// Adds to a counter that wait() looks at.
  void count(std::size_t& counter) {
    const std::scoped_lock lock(mutex_);
    ++counter;
    changed_.notify_all();
  }

  /// Until `condition` is true, `seconds` are over, or a stop.
  void wait(const std::stop_token& stop, double seconds, const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, stop, moment_in(seconds), condition);
  }

  StoreRequests& requests_;
  RetryCount& retries_;
  Context& context_;
  std::vector<ConnectionTally> tallies_;
  std::atomic<Phase> phase_ = Phase::warming;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t warm_ = 0;   ///< connections that have brought their first block
  std::size_t ended_ = 0;  ///< connections whose last request is over
};

std::optional<double> quantile(const stats::LatencyHistogram& histogram, double share) {
  if (histogram.count() == 0) return std::nullopt;
  return histogram.quantile(share);
}

}  // namespace

StoreRequests::StoreRequests(std::vector<StoreObject> objects, std::uint64_t block, std::uint64_t seed)
    : objects_(shuffled(std::move(objects), seed)), states_(objects_.size()), block_(block), seed_(seed) {}

StoreRequest StoreRequests::next() {
  const std::uint64_t number = next_++;
  for (std::size_t skipped = 0; skipped < objects_.size(); ++skipped) {
    StoreRequest request{.object = static_cast<std::size_t>((number + skipped) % objects_.size())};
    const State state = states_[request.object];
    if (state == State::changed) continue;
    const std::uint64_t size = objects_[request.object].info.size;
    request.whole = state == State::whole;
    if (!request.whole) {
      const std::uint64_t blocks = (size + block_ - 1) / block_;
      request.offset = Prng(seed_ + number).below(blocks) * block_;
    }
    request.length = request.whole ? size : std::min(block_, size - request.offset);
    return request;
  }
  throw Error(ErrorCode::not_found,
              fmt::format("all {} listed have changed or no longer exist", format_count(objects_.size(), "object")));
}

std::size_t StoreRequests::count(State state) const {
  return static_cast<std::size_t>(std::ranges::count_if(states_, [&](const auto& is) { return is == state; }));
}

void RetryCount::note(const net::RetryEvent& event) {
  ++retries_;
  if (event.throttled) ++throttled_;
  const std::scoped_lock lock(mutex_);
  reason_ = event.reason;
}

std::string RetryCount::reason() const {
  const std::scoped_lock lock(mutex_);
  return reason_;
}

LevelMeasurement measure_level(StoreRequests& requests, RetryCount& retries, std::uint64_t connections,
                               const LevelTimes& times, Context& context) {
  LevelMeasurement measured = LevelRun(requests, retries, connections, context).run(times);
  StoreLevel& level = measured.level;
  level.connections = connections;
  level.bytes_per_second = static_cast<double>(measured.bytes) / measured.timing.seconds;
  level.bytes_per_second_per_connection = level.bytes_per_second / static_cast<double>(connections);
  level.requests = measured.latency.count();
  if (level.requests == 0) level.steady = false;  // nothing was received in a slice: that gives no rate
  level.ttfb_p50 = quantile(measured.ttfb, 0.5);
  level.ttfb_p99 = quantile(measured.ttfb, 0.99);
  return measured;
}

}  // namespace shardkit::bench
