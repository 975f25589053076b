#include "bench/checkpoint/checkpoint.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/checkpoint/checkpoint_copies.hpp"
#include "bench/checkpoint/checkpoint_plan.hpp"
#include "bench/model/requirement.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "stats/summary.hpp"
#include "system/free_space.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kMostBlock = 1ULL << 30U;
constexpr std::uint64_t kMostRepetitions = 1000;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

/// fio's own example of a sequential write, as platform teams run it.
void apply_job(CheckpointOptions& options) {
  if (!options.job) return;
  if (*options.job != "seq-write") {
    refuse(fmt::format("--job: '{}' is not known; there is seq-write (read jobs are `iobench read`'s)", *options.job));
  }
  if (options.model || options.bytes || options.writers || options.mode == CheckpointModes::background) {
    refuse("--job fixes mode, bytes and writers; leave those out");
  }
  constexpr std::uint64_t kFiles = 4;
  constexpr std::uint64_t kFileBytes = 10ULL << 30U;
  options.mode = CheckpointModes::sync;
  options.writers = kFiles;
  options.bytes = kFiles * kFileBytes;
  options.direct = true;
  options.budget = options.budget.value_or(60);
}

std::optional<std::string> fio_command(const CheckpointOptions& options) {
  if (!options.job) return std::nullopt;
  return fmt::format(
      "fio --name=seq-write --directory={} --rw=write --bs=1M --numjobs=4 --size=10G --runtime={:.0f} --direct=1 "
      "--end_fsync=1 --group_reporting",
      shell_word(options.directory), *options.budget);
}

void check_options(const CheckpointOptions& options) {
  constexpr std::uint64_t kUnit = 4096;
  if (options.block == 0 || options.block % kUnit != 0 || options.block > kMostBlock) {
    refuse("--block: expected a multiple of 4096 bytes, at most 1GiB");
  }
  if (options.repeat == 0 || options.repeat > kMostRepetitions) {
    refuse(fmt::format("--repeat: expected 1 to {}", kMostRepetitions));
  }
  if (options.budget && *options.budget <= 0) refuse("--budget: expected more than 0 seconds");
  if (options.step_time.has_value() != options.every.has_value()) refuse("--step-time and --every belong together");
  if (options.step_time && *options.step_time <= 0) refuse("--step-time: expected more than 0 seconds");
  if (options.every == 0U) refuse("--every: expected at least 1 step");
}

void check_room(const std::string& folder, std::uint64_t bytes) {
  const std::uint64_t room = free_bytes(folder);
  if (room >= bytes) return;
  throw Error(ErrorCode::no_space,
              fmt::format("'{}' has {} left, a checkpoint takes {}; --bytes or --scale make it smaller", folder,
                          format_size(room), format_size(bytes)),
              folder);
}

/// The modes to write; a copy that memory cannot hold is left out unless it was asked for by name.
std::vector<CheckpointMode> modes_of(const CheckpointOptions& options, const CheckpointPlan& plan, Context& context) {
  std::vector<CheckpointMode> modes;
  if (options.mode != CheckpointModes::background) modes.push_back(CheckpointMode::sync);
  if (options.mode == CheckpointModes::sync) return modes;
  if (plan.bytes() <= usable_memory() / 2) {
    modes.push_back(CheckpointMode::background);
    return modes;
  }
  const std::string text =
      fmt::format("a copy of {} takes more than half of the memory there is ({}); --bytes or --scale make it smaller",
                  format_size(plan.bytes()), format_size(usable_memory()));
  if (options.mode == CheckpointModes::background) refuse("--mode background: " + text);
  context.warn("no_background", text);
  return modes;
}

double median_of(const std::vector<CheckpointTimes>& turns, double CheckpointTimes::*time) {
  std::vector<double> values;
  for (const CheckpointTimes& turn : turns) values.push_back(turn.*time);
  return summarize(values).median;
}

RateInterval interval_of(const std::vector<CheckpointTimes>& turns, double CheckpointTimes::*time) {
  std::vector<double> values;
  for (const CheckpointTimes& turn : turns) values.push_back(turn.*time);
  const Summary summary = summarize(values);
  return {summary.low, summary.high};
}

double rate_of(const CheckpointTimes& turn) { return static_cast<double>(turn.bytes()) / turn.durable; }

CheckpointRow row_of(CheckpointMode mode, const std::vector<CheckpointTimes>& turns, const CheckpointOptions& options,
                     std::uint64_t planned) {
  CheckpointRow row;
  row.mode = mode;
  row.repetitions = turns.size();
  row.bytes = turns.back().bytes();
  row.block_seconds = median_of(turns, &CheckpointTimes::block);
  row.block_interval = interval_of(turns, &CheckpointTimes::block);
  row.durable_seconds = median_of(turns, &CheckpointTimes::durable);
  row.durable_interval = interval_of(turns, &CheckpointTimes::durable);
  row.snapshot_seconds = median_of(turns, &CheckpointTimes::snapshot);
  row.write_seconds = median_of(turns, &CheckpointTimes::written);
  row.sync_seconds = median_of(turns, &CheckpointTimes::sync);
  row.publish_seconds = median_of(turns, &CheckpointTimes::publish);
  row.fastest_rank_seconds = median_of(turns, &CheckpointTimes::fastest_rank);
  row.slowest_rank_seconds = median_of(turns, &CheckpointTimes::slowest_rank);
  std::vector<double> rates;
  LatencyHistogram writes;
  for (const CheckpointTimes& turn : turns) {
    rates.push_back(rate_of(turn));
    writes.merge(turn.writes);
  }
  row.bytes_per_second = summarize(rates).median;
  row.write_latency = writes.quantiles();
  if (options.every && row.bytes == planned) {
    const auto every = static_cast<double>(*options.every);
    row.share_ratio = checkpoint_share(row.block_seconds, every, *options.step_time);
    // Training that waits cannot be overtaken.
    if (mode == CheckpointMode::background) row.headroom_ratio = every * *options.step_time / row.durable_seconds;
  }
  return row;
}

/// The verb at work: writes mode after mode, then does with the last checkpoint what is asked for.
class Bench {
 public:
  Bench(const CheckpointOptions& options, CheckpointPlan plan, Context& context)
      : options_(options), plan_(std::move(plan)), context_(context) {
    if (options.drain_to) drained_.emplace(*files_, *options.drain_to);
  }

  void run(CheckpointResult& result) {
    for (const CheckpointMode mode : modes_of(options_, plan_, context_)) {
      result.rows.push_back(row_of(mode, write_all_of(mode), options_, plan_.bytes()));
      warn_of_part(result.rows.back());
    }
    const WrittenCheckpoint written{folder_, turn_, last_bytes_, options_.block};
    if (drained_) drain(written, result);
    if (options_.read_back) restore(written, options_.directory, result);
  }

 private:
  /// A job is as long as its budget.
  void warn_of_part(const CheckpointRow& row) {
    if (row.bytes == plan_.bytes() || options_.job) return;
    context_.warn("part_of_checkpoint",
                  fmt::format("{}: --budget ended it after {} of {}: the rate holds, the times are not those of a "
                              "whole checkpoint",
                              EnumNames<CheckpointMode>::names[static_cast<std::size_t>(row.mode)],
                              format_size(row.bytes), format_size(plan_.bytes())));
  }

  std::vector<CheckpointTimes> write_all_of(CheckpointMode mode) {
    const CheckpointSettings settings{mode, options_.block, options_.direct, options_.budget};
    std::vector<CheckpointTimes> turns;
    for (std::uint64_t i = 0; i < options_.repeat; ++i) {
      folder_.clear();
      context_.progress().start(mode == CheckpointMode::sync ? "writing" : "copying and writing", 0, plan_.bytes());
      turns.push_back(write_checkpoint(folder_, plan_, settings, ++turn_, context_));
    }
    last_bytes_ = turns.back().rank_bytes;
    return turns;
  }

  void drain(const WrittenCheckpoint& written, CheckpointResult& result) {
    context_.progress().start("draining", 0, plan_.bytes());
    check_room(drained_->path(), plan_.bytes());
    CheckpointDrain drain;
    drain.directory = *options_.drain_to;
    drain.storage = storage_of(drained_->path());
    drain.drain_seconds = drain_checkpoint(written, *drained_, options_.direct, context_);
    drain.bytes_per_second = static_cast<double>(result.rows.back().bytes) / drain.drain_seconds;
    if (options_.every && result.rows.back().bytes == plan_.bytes()) {
      drain.headroom_ratio = static_cast<double>(*options_.every) * *options_.step_time / drain.drain_seconds;
    }
    result.drain = drain;
    if (options_.read_back) restore({*drained_, turn_, last_bytes_, options_.block}, *options_.drain_to, result);
  }

  void restore(const WrittenCheckpoint& written, const std::string& directory, CheckpointResult& result) {
    context_.progress().start("reading back", 0, plan_.bytes());
    const ReadBack read = read_back_checkpoint(written, context_);
    const std::uint64_t bytes = result.rows.back().bytes;
    result.read_back.push_back(
        {directory, bytes, read.seconds, static_cast<double>(bytes) / read.seconds, read.cache_state});
  }

  const CheckpointOptions& options_;
  const CheckpointPlan plan_;
  Context& context_;
  const std::unique_ptr<FileSystem> files_ = posix_file_system();
  CheckpointFolder folder_{*files_, options_.directory};
  std::optional<CheckpointFolder> drained_;
  std::uint64_t turn_ = 0;
  std::vector<std::uint64_t> last_bytes_;
};

}  // namespace

bool CheckpointResult::has_findings() const {
  const auto piles_up = [](const auto& copy) { return copy.headroom_ratio.value_or(1) < 1; };
  return std::ranges::any_of(rows, piles_up) || (drain && piles_up(*drain));
}

CheckpointResult checkpoint(const CheckpointOptions& given, Context& context) {
  CheckpointOptions options = given;
  apply_job(options);
  check_options(options);
  const CheckpointPlan plan = plan_checkpoint({options.model, options.scale, options.bytes, options.writers});
  Bench bench(options, plan, context);
  if (!options.budget) check_room(options.directory, plan.bytes());
  CheckpointResult result;
  result.model = options.model;
  result.writers = plan.writers();
  result.bytes = plan.bytes();
  result.block = options.block;
  result.direct = options.direct;
  result.fio = fio_command(options);
  result.storage = storage_of(options.directory);
  if (result.storage.storage_class == StorageClass::memory) {
    context.warn("data_in_memory", fmt::format("'{}' lies in memory ({}): nothing of it is durable", options.directory,
                                               result.storage.file_system));
  }
  bench.run(result);
  result.block_seconds = result.rows.front().block_seconds;
  result.durable_seconds = result.rows.front().durable_seconds;
  result.bytes_per_second = result.rows.front().bytes_per_second;
  return result;
}

}  // namespace shardkit
