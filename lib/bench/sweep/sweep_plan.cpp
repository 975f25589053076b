#include <algorithm>
#include <array>
#include <span>

#include "bench/sweep/sweep.hpp"
#include "core/error.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {
namespace {

constexpr std::array<std::uint64_t, 7> kThreads{1, 2, 4, 8, 16, 32, 64};
constexpr std::array<std::uint64_t, 5> kBlocks{64U << 10U, 256U << 10U, 1U << 20U, 4U << 20U, 16U << 20U};
constexpr std::array<std::uint64_t, 7> kDepths{1, 2, 4, 8, 16, 32, 64};
constexpr std::array<std::uint64_t, 5> kPrefetches{0, 1, 2, 4, 8};
constexpr double kWorthAnotherEngine = 1.05;

/// 1, 2, 4, ... below the cores, the cores, and half as many more: some wait for storage.
std::vector<std::uint64_t> worker_counts(std::uint64_t cores) {
  std::vector<std::uint64_t> counts;
  for (std::uint64_t workers = 1; workers < cores; workers *= 2) counts.push_back(workers);
  counts.push_back(cores);
  counts.push_back(cores + (cores + 1) / 2);
  return counts;
}

/// A value and its rate.
struct Knee {
  std::uint64_t value = 0;
  double rate = 0;
};

/// Measures rising values, appends their rows and marks the knee.
Knee climb(std::string_view parameter, std::span<const std::uint64_t> values,
           const std::function<SweepPoint(std::uint64_t)>& measure, std::optional<double> SweepRow::*rate,
           SweepOutcome& outcome) {
  const std::size_t first = outcome.rows.size();
  std::vector<double> rates;
  for (const std::uint64_t value : values) {
    const SweepPoint point = measure(value);
    SweepRow row{std::string(parameter), value, {}, {}, point.low, point.high, false};
    row.*rate = point.rate;
    outcome.rows.push_back(std::move(row));
    rates.push_back(point.rate);
    if (stats::has_levelled_off(rates)) break;
  }
  const std::size_t knee = stats::knee_of(rates);
  outcome.rows[first + knee].knee = true;
  return {values[knee], rates[knee]};
}

/// With io_uring, when the kernel lets it.
void sweep_depth(const SweepProbes& probes, const ReadSetting& pread, double pread_rate, SweepOutcome& outcome) {
  ReadSetting setting = pread;
  setting.engine = io::EngineKind::uring;
  setting.threads = std::min<std::uint64_t>(pread.threads, 2);  // depth stands in for the other threads
  const std::size_t before = outcome.rows.size();
  try {
    const Knee knee = climb(
        "depth", kDepths,
        [&](std::uint64_t depth) {
          setting.depth = depth;
          return probes.read(setting);
        },
        &SweepRow::bytes_per_second, outcome);
    if (knee.rate < kWorthAnotherEngine * pread_rate) return;
    outcome.settings.engine = setting.engine;
    outcome.settings.threads = setting.threads;
    outcome.settings.depth = knee.value;
    outcome.settings.bytes_per_second = knee.rate;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported || outcome.rows.size() != before) throw;
    outcome.uring_refused = error.what();
  }
}

}  // namespace

void sweep_reading(const SweepProbes& probes, SweepOutcome& outcome) {
  ReadSetting setting;
  const auto try_each = [&](std::string_view parameter, std::span<const std::uint64_t> values,
                            std::uint64_t ReadSetting::*member) {
    const Knee knee = climb(
        parameter, values,
        [&](std::uint64_t value) {
          setting.*member = value;
          return probes.read(setting);
        },
        &SweepRow::bytes_per_second, outcome);
    setting.*member = knee.value;
    return knee.rate;
  };
  const std::uint64_t first_block = setting.block;
  const double first_rate = try_each("threads", kThreads, &ReadSetting::threads);
  const double rate = try_each("block", kBlocks, &ReadSetting::block);
  for (const SweepRow& row : outcome.rows) {
    if (row.parameter != "block" || row.value != first_block) continue;
    outcome.measured_twice = std::pair(first_rate, *row.bytes_per_second);
  }
  outcome.settings.engine = setting.engine;
  outcome.settings.threads = setting.threads;
  outcome.settings.block = setting.block;
  outcome.settings.depth = setting.depth;
  outcome.settings.bytes_per_second = rate;
  sweep_depth(probes, setting, rate, outcome);
}

void sweep_loading(const SweepProbes& probes, std::uint64_t cores, std::uint64_t batch,
                   std::optional<double> step_seconds, SweepOutcome& outcome) {
  LoadSetting setting;
  const Knee workers = climb(
      "workers", worker_counts(cores),
      [&](std::uint64_t value) {
        setting.workers = value;
        return probes.load(setting);
      },
      &SweepRow::samples_per_second, outcome);
  setting.workers = workers.value;
  if (workers.rate > 0) setting.step_seconds = step_seconds.value_or(static_cast<double>(batch) / workers.rate);
  const Knee prefetch = climb(
      "prefetch", kPrefetches,
      [&](std::uint64_t value) {
        setting.prefetch = value;
        return probes.load(setting);
      },
      &SweepRow::samples_per_second, outcome);
  outcome.settings.workers = workers.value;
  outcome.settings.prefetch = prefetch.value;
  outcome.settings.samples_per_second = workers.rate;
}

std::uint64_t most_read_points() { return kThreads.size() + kBlocks.size() + kDepths.size(); }

std::uint64_t most_load_points(std::uint64_t cores) { return worker_counts(cores).size() + kPrefetches.size(); }

void SweepRow::describe(FieldVisitor& v) {
  v.field({"parameter", "what was varied"}, parameter);
  v.field({"value", "its value; a block in bytes"}, value);
  v.field({"bytes_per_second", Unit::bytes_per_second, "rate of reading"}, bytes_per_second);
  v.field({"samples_per_second", Unit::per_second, "rate of samples that steps took"}, samples_per_second);
  v.field({"low", "lower end of the rate's 95 % interval"}, low);
  v.field({"high", "upper end"}, high);
  v.field({"knee", "the smallest value that gave 95 % of the best rate"}, knee);
}

void SweepSettings::describe(FieldVisitor& v) {
  v.field({"engine", "that reads fastest"}, engine);
  v.field({"threads", Unit::count, "that read"}, threads);
  v.field({"block", Unit::bytes, "bytes per read"}, block);
  v.field({"depth", Unit::count, "reads under way for each thread"}, depth);
  v.field({"bytes_per_second", Unit::bytes_per_second, "that these give"}, bytes_per_second);
  v.field({"workers", Unit::count, "threads or loader processes that decode"}, workers);
  v.field({"prefetch", "batches made ahead"}, prefetch);
  v.field({"samples_per_second", Unit::per_second, "that these give"}, samples_per_second);
}

}  // namespace shardkit::bench
