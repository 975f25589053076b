#include "bench/sweep/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/input/input_files.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/shares.hpp"
#include "bench/torch/loader_costs.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

constexpr double kLeastPoint = 0.2;
constexpr double kMostPoint = 10;

void check_options(const SweepOptions& options) {
  check_ranges(options);
  check_usage(!options.step_time || options.mode != SweepWhat::read, "--step-time needs --mode load or all");
}

/// The data and time of each point.
struct PointWork {
  InputSet input;
  double seconds = 0;
  double prepare_seconds = 0;  ///< limit for preparing caches
};

/// The measurements for the DataLoader take as long as so many points.
constexpr std::uint64_t kLoaderPoints = 5;

std::uint64_t most_points(const SweepOptions& options, std::uint64_t cores) {
  std::uint64_t points = 0;
  if (options.mode != SweepWhat::load) points += most_read_points();
  if (options.mode != SweepWhat::read) points += most_load_points(cores) + kLoaderPoints;
  return points;
}

/// Shares the budget out among the points. Caches are dropped for every point, which half of its time is for, and
/// warmed once for all, in a quarter of the budget; no more files are used than that is time for.
PointWork share_out(const SweepOptions& options, std::uint64_t cores, const InputSet& input, Context& context) {
  constexpr double kShareForDropping = 0.5;
  constexpr double kShareForWarming = 0.25;
  double each = options.budget / static_cast<double>(most_points(options, cores));
  double prepare = 0;
  const CacheRequest cache = has_objects(input.files) ? CacheRequest::any : options.cache;
  if (cache == CacheRequest::cold) {
    prepare = each * kShareForDropping;
    each *= 1 - kShareForDropping;
  } else if (cache == CacheRequest::warm) {
    prepare = options.budget * kShareForWarming;
    each *= 1 - kShareForWarming;
  }
  return {preparable(input, cache, prepare, context), std::clamp(each, kLeastPoint, kMostPoint), prepare};
}

SweepRate measure_read(const SweepOptions& options, const PointWork& work, const SweepPoint& setting,
                       std::vector<Neighbors>& neighbors, Context& context) {
  ReadOptions read_options;
  read_options.engine = setting.engine;
  read_options.threads = setting.threads;
  read_options.block = setting.block;
  if (setting.engine == io::EngineKind::uring) {
    refuse_compressed(work.input, "with several reads in flight");
    read_options.depth = setting.depth;
  }
  read_options.cache = options.cache;
  read_options.budget = work.seconds;
  if (options.cache != CacheRequest::any) read_options.min_time = work.seconds;
  read_options.prepare_seconds = work.prepare_seconds;
  const ReadResult result = read(read_options, work.input, context);
  context.throw_if_stopped();
  neighbors.push_back(result.neighbors);
  return {result.bytes_per_second, result.bytes_per_second_interval};
}

SweepRate measure_load(const SweepOptions& options, const PointWork& work, const SweepPoint& setting,
                       std::vector<Neighbors>& neighbors, Context& context) {
  constexpr std::uint64_t kUntilTheTimeIsOver = 1000;
  PipelineOptions load;
  load.batch = options.batch;
  load.step_time = setting.step_seconds;
  load.workers = setting.workers;
  load.prefetch = std::to_string(setting.prefetch);
  load.cache = has_objects(work.input.files) ? CacheRequest::any : options.cache;
  load.crop = options.crop;
  load.budget = work.seconds;
  load.device = kNoDevice;
  load.epochs = load.cache == CacheRequest::cold ? 1 : kUntilTheTimeIsOver;  // data that was read once is warm
  const PipelineResult result = pipeline(load, work.input, context);
  context.throw_if_stopped();
  neighbors.push_back(result.neighbors);
  return {result.samples_per_second};
}

std::string reading_text(const SweepSettings& settings) {
  std::string text = fmt::format("reading: {} with {} and block size {}", format_rate(*settings.bytes_per_second),
                                 format_count(*settings.threads, "thread"), exact_size(*settings.block));
  if (settings.engine == io::EngineKind::uring) text += fmt::format(", queue depth {} (io_uring)", *settings.depth);
  return text;
}

std::string loading_text(const SweepSettings& settings) {
  std::string text = fmt::format("loading: {} with {}", sample_rate_text(*settings.samples_per_second),
                                 format_count(*settings.workers, "worker"));
  if (settings.prefetch) text += fmt::format("; prefetch {} is enough beside a training step", *settings.prefetch);
  return text;
}

void describe_settings(const SweepOptions& options, const SweepOutcome& outcome, SweepResult& result) {
  const SweepSettings& settings = outcome.settings;
  if (settings.threads) {
    result.text = reading_text(settings);
    const std::string depth =
        settings.engine == io::EngineKind::uring ? fmt::format(" --depth {}", *settings.depth) : "";
    result.commands.push_back(fmt::format("iobench read {} --engine {} --threads {} --block {}{} --cache {}",
                                          fmt::join(options.paths | std::views::transform(shell_word), " "),
                                          enum_name(*settings.engine), *settings.threads, exact_size(*settings.block),
                                          depth, enum_name(options.cache)));
  }
  if (settings.workers) result.text += (result.text.empty() ? "" : "; ") + loading_text(settings);
}

/// PyTorch's loader needs more for a sample than iobench's, so its number of processes does not follow from the sweep.
LoaderAdvice loader_for(const SweepOptions& options, const PointWork& work, const InputSet& input, double seconds,
                        Context& context) {
  LoaderBatches batches = crop_batches(options.crop, image::TensorType::f32);
  batches.batch = options.batch;
  const LoaderLimits limits = loader_limits();
  const LoaderData data = look_at_loader_data(input, true, context);
  SampleWork sample = measure_sample_work(work.input, limits.cores, seconds, moment_in(seconds), context);
  if (has_compressed(work.input.files)) sample.unpack = measure_unpacking(work.input, seconds, context);
  const double bytes = sample.unpack ? sample.unpack->sample_bytes : sample.sample_bytes;
  LoaderReads reads;
  if (!has_objects(input.files)) {
    const double pause = loader_costs(data, sample, {}, batches, bytes, {}).cpu_seconds;
    reads = measure_loader_reads(work.input, bytes, pause, options.cache, seconds, context);
  }
  return advise_loader(loader_costs(data, sample, reads, batches, bytes, {}), limits, data, batches);
}

/// Rates that do not come again choose settings by chance.
void warn_of_noise(const SweepOutcome& outcome, Context& context) {
  constexpr double kMostApart = 1.25;
  if (!outcome.measured_twice) return;
  const auto [low, high] = std::minmax(outcome.measured_twice->first, outcome.measured_twice->second);
  if (high <= low * kMostApart) return;
  context.warn(
      "not_repeatable",
      fmt::format(
          "one reading setting, measured twice, gave {} and {}: other processes use the storage or the CPUs, or the "
          "points are too short. Differences smaller than this are chance; use a longer --budget or an idle machine",
          format_rate(outcome.measured_twice->first), format_rate(outcome.measured_twice->second)));
}

/// Single reads, or batches, may take longer than the time for a point.
void warn_of_budget(const SweepOutcome& outcome, double budget, Context& context) {
  if (!outcome.is_cut) return;
  context.warn(
      "sweep_cut",
      fmt::format("the --budget of {} was not enough for all values: those left out may be better. Use a longer "
                  "one",
                  format_duration(budget)));
}

/// The time of the parameters: each has a share according to its number of values.
class SweepTime {
 public:
  SweepTime(double seconds, std::uint64_t points) : shares_(seconds), points_(static_cast<double>(points)) {}

  void begin(std::size_t values) { end_ = moment_in(take(values)); }

  /// Reads in flight cannot be ended: more of them than storage answers in the time of a point make it late.
  bool has_time(const SweepPoint& setting, double best, double point_seconds) const {
    constexpr double kLeastSeconds = 1;
    const auto in_flight = static_cast<double>(setting.threads * setting.depth * setting.block);
    if (best > 0 && in_flight > best * std::max(point_seconds, kLeastSeconds)) return false;
    return !is_over(end_) && !shares_.are_used_up();
  }

  /// Of as many points.
  double take(std::size_t points) { return shares_.take_of_remaining(static_cast<double>(points) / points_); }
  bool is_used_up() const { return shares_.are_used_up(); }

 private:
  Shares shares_;
  double points_;
  std::chrono::steady_clock::time_point end_;
};

/// Data without images that decode is still read; then the best values for reading remain.
void sweep_loading_if_possible(const SweepProbes& probes, const SweepOptions& options, std::uint64_t cores,
                               Context& context, SweepOutcome& outcome) {
  try {
    sweep_loading(probes, cores, options.batch, options.step_time, outcome);
  } catch (const Error& error) {
    const bool of_data = error.code() == ErrorCode::not_found || error.code() == ErrorCode::corrupt;
    if (!of_data || options.mode != SweepWhat::all) throw;
    context.warn("no_loading", fmt::format("workers and prefetch were left out: {}", error.what()));
  }
}

constexpr std::array<std::uint64_t, 7> kThreadCounts{1, 2, 4, 8, 16, 32, 64};
constexpr std::array<std::uint64_t, 5> kBlocks{64U << 10U, 256U << 10U, 1U << 20U, 4U << 20U, 16U << 20U};
constexpr std::array<std::uint64_t, 7> kDepths{1, 2, 4, 8, 16, 32, 64};
constexpr std::array<std::uint64_t, 5> kPrefetches{0, 1, 2, 4, 8};
constexpr double kWorthAnotherEngine = 1.05;

/// 1, 2, 4, ... below the cores, the cores, and half as many more: some wait for storage.
std::vector<std::uint64_t> worker_counts(std::uint64_t cores) {
  std::vector<std::uint64_t> counts = stats::doubling_up_to(cores);
  counts.push_back(cores + (cores + 1) / 2);
  return counts;
}

/// Measures rising values of one member of a setting, appends their rows, marks the knee and leaves the setting there.
/// Returns the knee's rate; 0 if there was no time for one point.
double climb(const SweepProbes& probes, SweepParameter parameter, std::span<const std::uint64_t> values,
             SweepPoint& setting, std::uint64_t SweepPoint::*member, SweepOutcome& outcome) {
  const bool loads = parameter == SweepParameter::workers || parameter == SweepParameter::prefetch;
  probes.begin(values.size());
  std::vector<SweepRow>& rows = outcome.rows;
  const std::size_t first = rows.size();
  const std::uint64_t before = setting.*member;
  std::vector<double> rates;
  for (const std::uint64_t value : values) {
    setting.*member = value;
    if (!probes.has_time(setting, loads || rates.empty() ? 0 : std::ranges::max(rates))) {
      outcome.is_cut = true;
      break;
    }
    const auto [rate, interval] = (loads ? probes.load : probes.read)(setting);
    SweepRow row{parameter, value, {}, {}, {}, {}, false};
    (loads ? row.samples_per_second : row.bytes_per_second) = rate;
    if (interval) {
      row.low = interval->low;
      row.high = interval->high;
    }
    rows.push_back(row);
    rates.push_back(rate);
    if (stats::has_levelled_off(rates)) break;
  }
  if (rates.empty()) {
    setting.*member = before;
    return 0;
  }
  const std::size_t knee = stats::knee_of(rates);
  rows[first + knee].knee = true;
  setting.*member = values[knee];
  return rates[knee];
}

void settle(const SweepPoint& setting, double rate, SweepSettings& settings) {
  settings.engine = setting.engine;
  settings.threads = setting.threads;
  settings.block = setting.block;
  settings.depth = setting.depth;
  settings.bytes_per_second = rate;
}

/// With io_uring, when the kernel lets it.
void sweep_depth(const SweepProbes& probes, SweepPoint setting, double pread_rate, SweepOutcome& outcome) {
  setting.engine = io::EngineKind::uring;
  setting.threads = std::min<std::uint64_t>(setting.threads, 2);  // depth replaces the other threads
  const std::size_t before = outcome.rows.size();
  try {
    const double rate = climb(probes, SweepParameter::depth, kDepths, setting, &SweepPoint::depth, outcome);
    if (rate >= kWorthAnotherEngine * pread_rate) settle(setting, rate, outcome.settings);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported || outcome.rows.size() != before) throw;
    outcome.uring_refused = error.what();
  }
}

/// Warnings, and the settings that follow from the points.
void finish(const SweepOptions& options, SweepOutcome& outcome, Context& context, SweepResult& result) {
  if (!outcome.uring_refused.empty()) context.warn("no_uring", "io_uring was left out: " + outcome.uring_refused);
  warn_of_noise(outcome, context);
  warn_of_budget(outcome, options.budget, context);
  warn_of_neighbors(result.neighbors, context);
  if (result.interrupted) {
    result.text =
        fmt::format("interrupted after {}: no settings were chosen", format_count(outcome.rows.size(), "point"));
  } else {
    describe_settings(options, outcome, result);
  }
  result.settings = outcome.settings;
  result.rows = std::move(outcome.rows);
}

}  // namespace

SweepResult sweep(const SweepOptions& options, Context& context) {
  check_options(options);
  const std::uint64_t cores = system::usable_threads();
  SweepTime time(options.budget, most_points(options, cores));
  const InputSet input = spread(find_input(options.paths, context, options.access));
  if (options.mode != SweepWhat::load && has_objects(input.files)) {
    throw usage_error(
        "settings for reading files cannot be swept over a URL: add --mode load, or measure the store with "
        "`iobench read URL`");
  }
  std::vector<Neighbors> neighbors;
  const PointWork work = share_out(options, cores, input, context);
  constexpr std::size_t kReadParameters = 3;
  constexpr std::size_t kLoadParameters = 2;
  context.progress().expect_stages((options.mode != SweepWhat::load ? kReadParameters : 0) +
                                   (options.mode != SweepWhat::read ? kLoadParameters : 0));
  const SweepProbes probes{
      [&](const SweepPoint& setting) { return measure_read(options, work, setting, neighbors, context); },
      [&](const SweepPoint& setting) { return measure_load(options, work, setting, neighbors, context); },
      [&](std::size_t values) {
        context.progress().next_stage();
        time.begin(values);
      },
      [&](const SweepPoint& setting, double best) { return time.has_time(setting, best, work.seconds); }};
  SweepOutcome outcome;
  SweepResult result;
  try {
    if (options.mode != SweepWhat::load) sweep_reading(probes, outcome);
    if (options.mode != SweepWhat::read) sweep_loading_if_possible(probes, options, cores, context, outcome);
    if (outcome.settings.workers && !time.is_used_up()) {
      const double seconds = std::min(work.seconds, time.take(kLoaderPoints) / kLoaderPoints);
      result.loader = loader_for(options, work, input, seconds, context);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    result.interrupted = true;
  }
  result.point_seconds = work.seconds;
  result.neighbors = together(neighbors);
  finish(options, outcome, context, result);
  return result;
}

void SweepOptions::describe(FieldList& v) {
  v.field({"PATH", "shards, files, or folders of either", Role::positional}, paths);
  v.field({"mode", "read: threads, block and depth; load: workers and prefetch; all: both", Misnomers{"what"}}, mode);
  v.field({"cache", "page cache state that each point starts from"}, cache);
  v.field({"batch", Unit::count, "samples of a batch", at_least(1)}, batch);
  v.field({"step-time", Unit::seconds, "training step to emulate when measuring prefetch; default: the time of a batch",
           above(0), kOfTrainingStep},
          step_time);
  v.field({"crop", Unit::count, "width and height of the random resized crop", "PIXELS"}, crop);
  v.field({"budget", Unit::seconds, "time for all points, including the preparation of caches", at_least(10),
           Misnomers{"min-seconds min-time seconds duration"}},
          budget);
  access.describe(v);
}

void SweepResult::describe(FieldList& v) {
  v.field({"text", "the best settings in words"}, text);
  v.field({"settings", "the settings at the knees"}, settings);
  v.field({"commands", "commands that use them"}, commands);
  v.field({"loader", "settings for a PyTorch DataLoader, as in the result of run"}, loader);
  v.field({"rows", "every measured point"}, rows);
  v.field({"point_seconds", Unit::seconds, "time for each point"}, point_seconds);
  v.field({"neighbors", "what other processes used meanwhile"}, neighbors);
}

void sweep_reading(const SweepProbes& probes, SweepOutcome& outcome) {
  SweepPoint setting;
  const std::uint64_t first_block = setting.block;
  const double first_rate =
      climb(probes, SweepParameter::threads, kThreadCounts, setting, &SweepPoint::threads, outcome);
  double rate = climb(probes, SweepParameter::block, kBlocks, setting, &SweepPoint::block, outcome);
  if (rate <= 0) rate = first_rate;
  for (const SweepRow& row : outcome.rows) {
    if (row.parameter != SweepParameter::block || row.value != first_block) continue;
    outcome.measured_twice = std::pair(first_rate, *row.bytes_per_second);
  }
  settle(setting, rate, outcome.settings);
  sweep_depth(probes, setting, rate, outcome);
}

void sweep_loading(const SweepProbes& probes, std::uint64_t cores, std::uint64_t batch,
                   std::optional<double> step_seconds, SweepOutcome& outcome) {
  SweepPoint setting;
  const double rate =
      climb(probes, SweepParameter::workers, worker_counts(cores), setting, &SweepPoint::workers, outcome);
  if (rate <= 0) return;
  outcome.settings.workers = setting.workers;
  outcome.settings.samples_per_second = rate;
  setting.step_seconds = step_seconds.value_or(static_cast<double>(batch) / rate);
  if (climb(probes, SweepParameter::prefetch, kPrefetches, setting, &SweepPoint::prefetch, outcome) > 0) {
    outcome.settings.prefetch = setting.prefetch;
  }
}

std::uint64_t most_read_points() { return kThreadCounts.size() + kBlocks.size() + kDepths.size(); }

std::uint64_t most_load_points(std::uint64_t cores) { return worker_counts(cores).size() + kPrefetches.size(); }

void SweepRow::describe(FieldList& v) {
  v.field({"parameter", "the setting that was varied"}, parameter);
  v.field({"value", "its value; a block in bytes"}, value);
  v.field({"bytes_per_second", Unit::bytes_per_second, "reading rate"}, bytes_per_second);
  v.field({"samples_per_second", Unit::per_second, "rate of samples used by training steps"}, samples_per_second);
  v.field({"low", "lower end of the rate's 95 % interval"}, low);
  v.field({"high", "upper end"}, high);
  v.field({"knee", "the smallest value that reached 95 % of the best rate"}, knee);
}

void SweepSettings::describe(FieldList& v) {
  v.field({"engine", "the fastest reader engine"}, engine);
  v.field({"threads", Unit::count, "reading threads"}, threads);
  v.field({"block", Unit::bytes, "bytes per read"}, block);
  v.field({"depth", Unit::count, "reads in flight per thread"}, depth);
  v.field({"bytes_per_second", Unit::bytes_per_second, "rate with these settings"}, bytes_per_second);
  v.field({"workers", Unit::count, "decoding threads"}, workers);
  v.field({"prefetch", "batches prefetched"}, prefetch);
  v.field({"samples_per_second", Unit::per_second, "rate with these settings"}, samples_per_second);
}

}  // namespace shardkit::bench
