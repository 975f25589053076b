#include "bench/read/store_read.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bench/input/input_files.hpp"
#include "bench/read/read_options.hpp"
#include "bench/read/read_work.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/second_watch.hpp"
#include "catalog/object_location.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/prng.hpp"
#include "core/units.hpp"
#include "stats/summary.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kConnections = 64;
constexpr std::uint64_t kUsualRequest = 8U << 20U;
constexpr double kBudget = 28;

/// The time of each of `levels`: an equal share of the budget.
LevelTimes times_of(double budget, std::size_t levels) {
  const double quarter = budget / static_cast<double>(levels) / 4;
  return {.warm_up = quarter, .least = quarter, .most = 2 * quarter, .ending = quarter};
}

std::vector<double> rates_of(const std::vector<LevelMeasurement>& curve) {
  std::vector<double> rates;
  for (const LevelMeasurement& measured : curve) rates.push_back(measured.level.bytes_per_second);
  return rates;
}

/// After a stop, the levels before it; throws Error{cancelled} if there are none.
std::vector<LevelMeasurement> measure_curve(StoreRequests& requests, RetryCount& retries, const ReadOptions& options,
                                            Context& context) {
  const auto levels = stats::doubling_up_to(options.threads.value_or(kConnections));
  const LevelTimes times = times_of(options.budget.value_or(kBudget), levels.size());
  std::vector<LevelMeasurement> curve;
  context.progress().start_for(phase::kMeasuring, options.budget.value_or(kBudget));
  for (const std::uint64_t connections : levels) {
    try {
      curve.push_back(measure_level(requests, retries, connections, times, context));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled || curve.empty()) throw;
    }
    if (context.stop_token().stop_requested() || stats::has_levelled_off(rates_of(curve))) break;
  }
  return curve;
}

/// The figures that any read has: those of the knee.
ReadResult describe_knee(const LevelMeasurement& knee, const ReadOptions& options, const std::string& location) {
  ReadResult result;
  result.engine = "http";
  result.threads = knee.level.connections;
  result.block = options.block.value_or(kUsualRequest);
  result.bytes = knee.bytes;
  result.operations = knee.level.requests;
  result.read_seconds = knee.timing.seconds;
  result.cpu_seconds = knee.timing.cpu_seconds;
  result.bytes_per_second = knee.level.bytes_per_second;
  result.bytes_per_second_interval = rate_interval(knee.timing, result.bytes_per_second);
  result.steady = knee.level.steady;
  result.latency = knee.latency.quantiles();
  result.cache.state = CacheState::client_cold;
  result.storage.storage_class = system::StorageClass::network;
  result.storage.source = location;
  return result;
}

StoreReport describe_curve(const std::vector<LevelMeasurement>& curve, const LevelMeasurement& knee,
                           const StoreRequests& requests, const RetryCount& retries) {
  StoreReport report;
  report.objects_without_ranges = requests.without_ranges();
  report.objects_changed = requests.changed();
  report.knee_connections = knee.level.connections;
  report.bytes_per_second_per_connection = knee.level.bytes_per_second_per_connection;
  if (knee.ttfb.count() > 0) report.ttfb = knee.ttfb.quantiles();
  report.cpu_seconds_per_gb = knee.timing.cpu_seconds / static_cast<double>(knee.bytes) * 1e9;
  report.retries = retries.retries();
  report.throttled = retries.throttled();
  for (const LevelMeasurement& measured : curve) report.levels.push_back(measured.level);
  report.best_bytes_per_second = std::ranges::max(rates_of(curve));
  return report;
}

/// `asked`: body bytes received in all.
void add_hints(const StoreReport& store, const ReadOptions& options, std::uint64_t asked, ReadResult& result) {
  constexpr double kBusy = 0.9;
  auto& hints = result.hints;
  hints.emplace_back("no cache of this machine is used; caches of the servers cannot be made cold");
  if (asked > store.set_bytes) {
    hints.emplace_back("bytes were requested repeatedly and may come from the store's memory; use a larger set");
  }
  if (result.steady == false)
    hints.emplace_back("the rate drifted during the measurement, or no request ended; use a longer --budget");
  if (store.objects_without_ranges > 0) {
    hints.push_back(fmt::format("{} came whole: the server has no ranges, so each request is a whole object",
                                format_count(store.objects_without_ranges, "object")));
  }
  const bool is_last = store.knee_connections == options.threads.value_or(kConnections);
  if (is_last && store.levels.size() > 1) {
    hints.push_back(fmt::format("the rate was still rising at {}; more --threads may increase it",
                                format_count(store.knee_connections, "connection")));
  }
  if (store.throttled > 0) {
    hints.push_back(
        fmt::format("the store was busy and {} had to be repeated; use fewer connections, or more object prefixes",
                    format_count(store.throttled, "request")));
  }
  if (result.cpu_seconds > kBusy * system::usable_threads() * result.read_seconds) {
    hints.emplace_back("the CPUs of this machine were busy all the time: they are the limit, not the store");
  }
}

constexpr unsigned kMostUnanswered = 3;
constexpr system::Seconds kLeastWait{1};

/// The operand that the error is about, by the server in it, else the first one; without login and query.
std::string concerned(const Error& error, const std::vector<std::string>& operands) {
  std::vector<catalog::ObjectLocation> locations;
  for (const std::string& operand : operands) {
    if (catalog::is_address(operand)) locations.push_back(catalog::parse_location(operand));
  }
  if (locations.empty()) return operands.front();
  const auto of_store = [&](const catalog::ObjectLocation& location) {
    return error.path().starts_with(location.store());
  };
  const auto found = std::ranges::find_if(locations, of_store);
  return (found == locations.end() ? locations.front() : *found).display();
}

/// The failure, without the address in front: it may be of a file that the user did not name.
std::string reason_of(const Error& error) {
  const std::string text = error.what();
  const std::string address = fmt::format("'{}': ", error.path());
  return text.starts_with(address) ? text.substr(address.size()) : text;
}

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

ReadResult read_objects(std::vector<StoreObject> objects, const std::string& location, RetryCount& retries,
                        const ReadOptions& options, Context& context) {
  check_read_options(options, ReadKind::objects);
  std::uint64_t set_bytes = 0;
  for (const StoreObject& object : objects) set_bytes += object.info.size;
  const std::size_t files = objects.size();
  StoreRequests requests(std::move(objects), options.block.value_or(kUsualRequest), kSeed);
  NeighborWatch watch({});
  const auto curve = measure_curve(requests, retries, options, context);
  const Neighbors neighbors = watch.so_far();
  const LevelMeasurement& knee = curve[stats::knee_of(rates_of(curve))];
  if (knee.bytes == 0) {
    const std::string reason = retries.reason();
    throw Error(ErrorCode::network, At{location},
                "nothing was received from '{}' during the measurement{}; use a longer --budget", location,
                reason.empty() ? "" : fmt::format(" ({})", reason));
  }
  ReadResult result = describe_knee(knee, options, location);
  result.interrupted = context.stop_token().stop_requested();
  result.neighbors = neighbors;
  result.files = files;
  StoreReport report = describe_curve(curve, knee, requests, retries);
  report.location = location;
  report.set_bytes = set_bytes;
  if (options.required_rate && !result.interrupted) {
    report.streaming = judge_streaming(result.bytes_per_second, *options.required_rate, set_bytes);
  }
  if (report.objects_changed > 0) {
    context.warn("objects_changed", fmt::format("{} changed or disappeared while they were read, and were left out",
                                                format_count(report.objects_changed, "object")));
  }
  add_hints(report, options, context.progress().bytes, result);
  result.store = std::move(report);
  return result;
}

StoreReader::StoreReader(const ReadOptions& options, Context& context)
    : options_(options), context_(context), patience_(options.budget.value_or(kBudget), system::system_clock()) {
  if (std::ranges::any_of(options.paths, catalog::is_address)) check_read_options(options, ReadKind::objects);
  net::StoreOptions store = options.access.store_options(context);
  store.retry.on_retry = [this, report = store.retry.on_retry](const net::RetryEvent& event) {
    report(event);
    retries_.note(event);
  };
  patience_.apply(store);
  inputs_ = std::make_shared<catalog::Inputs>(store, context.stop_token());
}

InputSet StoreReader::find() {
  try {
    return find_objects(options_.paths, context_, inputs_);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::network) throw unreachable(error, options_.paths);
    throw;
  }
}

ReadResult StoreReader::read(const InputSet& input) {
  check_read_options(options_, ReadKind::objects);
  patience_.found();
  std::vector<StoreObject> objects;
  for (const InputFile& file : input.files) {
    const catalog::OpenObject open = inputs_->known_object(file.path);
    objects.push_back({open.source, {open.name, file.bytes, open.version}});
  }
  const std::size_t more = input.operands.size() - 1;
  const std::string location = first_named(input) + (more > 0 ? fmt::format(" and {} more", more) : "");
  return read_objects(std::move(objects), location, retries_, options_, context_);
}

StorePatience::StorePatience(double budget, system::Clock& clock)
    : clock_(clock), budget_(budget), end_(clock.monotonic() + budget_) {}

void StorePatience::apply(net::StoreOptions& options) {
  const system::Seconds most = std::max(budget_ / 4, kLeastWait);  // one silent server does not use the whole budget
  options.http.connect_timeout = std::min(options.http.connect_timeout, most);
  options.http.stall.window = std::min(options.http.stall.window, most);
  options.retry.may_retry = [this](const net::RetryEvent& event) { return may_retry(event); };
}

bool StorePatience::may_retry(const net::RetryEvent& event) const {
  if (!finding_) return true;
  if (!event.answered && event.failures >= kMostUnanswered) return false;
  return clock_.monotonic() + event.wait < end_;
}

Error unreachable(const Error& error, const std::vector<std::string>& operands) {
  const std::string address = concerned(error, operands);
  const std::string reason = catalog::is_address(address) ? reason_of(error) : error.what();
  return {error.code(),
          fmt::format("'{}' cannot be read: {}; check the address, and whether its server runs and is reachable",
                      address, reason),
          address};
}

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
