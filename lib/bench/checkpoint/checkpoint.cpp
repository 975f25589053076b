#include "bench/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/units.hpp"
#include "stats/summary.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kBytesPerWrite = 1ULL << 20U;  ///< bytes per write
constexpr std::string_view kSmaller = "use --bytes to make it smaller";

void check_space(const std::string& folder, std::uint64_t bytes) {
  const std::uint64_t free = system::free_bytes(folder);
  if (free >= bytes) return;
  throw Error(ErrorCode::no_space, At{folder}, "'{}' has {} free, a checkpoint needs {}; {}", folder, format_size(free),
              typed_size(bytes), kSmaller);
}

/// A run that was killed could not remove its files.
void warn_of_others(const std::string& directory, Context& context) {
  for (const std::string& folder : checkpoint_folders(directory)) {
    context.warn("other_checkpoint",
                 fmt::format("'{}' belongs to another run. If that run was killed, nothing needs that folder", folder));
  }
}

/// Calls `write`, which writes `bytes` below `folder`; the error for a full disk names the folder that the user named.
template <class Write>
auto written_into(const std::string& folder, std::uint64_t bytes, const Write& write) {
  try {
    return write();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) throw;
    throw Error(ErrorCode::no_space, At{folder},
                "no space left in '{}' for a checkpoint of {}: the disk is full or a quota is reached; {}", folder,
                typed_size(bytes), kSmaller);
  }
}

/// The modes to write; a copy that does not fit in memory is left out unless it was requested by name.
std::vector<CheckpointMode> modes_of(const CheckpointOptions& options, const CheckpointPlan& plan, Context& context) {
  std::vector<CheckpointMode> modes;
  if (options.mode != CheckpointModes::background) modes.push_back(CheckpointMode::sync);
  if (options.mode == CheckpointModes::sync) return modes;
  if (plan.bytes() <= system::usable_memory() / 2) {
    modes.push_back(CheckpointMode::background);
    return modes;
  }
  const std::string text = fmt::format("a copy of {} needs more than half of the available memory ({}); {}",
                                       typed_size(plan.bytes()), format_size(system::usable_memory()), kSmaller);
  if (options.mode == CheckpointModes::background) throw Error(ErrorCode::no_space, "--mode background: " + text);
  context.warn("no_background", text);
  return modes;
}

stats::Summary summary_of(const std::vector<CheckpointTimes>& repetitions, double CheckpointSeconds::*time) {
  std::vector<double> values;
  for (const CheckpointTimes& repetition : repetitions) values.push_back(repetition.*time);
  return stats::summarize(values);
}

CheckpointRow row_of(CheckpointMode mode, const std::vector<CheckpointTimes>& repetitions,
                     const CheckpointOptions& options, std::uint64_t planned) {
  CheckpointRow row;
  row.mode = mode;
  row.repetitions = repetitions.size();
  row.bytes = repetitions.back().bytes();
  using Seconds = CheckpointSeconds;
  for (double Seconds::*time : {&Seconds::block_seconds, &Seconds::snapshot_seconds, &Seconds::write_seconds,
                                &Seconds::durable_seconds, &Seconds::sync_seconds, &Seconds::publish_seconds,
                                &Seconds::fastest_rank_seconds, &Seconds::slowest_rank_seconds}) {
    row.*time = summary_of(repetitions, time).median;
  }
  row.block_interval = summary_of(repetitions, &Seconds::block_seconds).interval();
  row.durable_interval = summary_of(repetitions, &Seconds::durable_seconds).interval();
  std::vector<double> rates;
  stats::LatencyHistogram writes;
  for (const CheckpointTimes& repetition : repetitions) {
    rates.push_back(static_cast<double>(repetition.bytes()) / repetition.durable_seconds);
    writes.merge(repetition.writes);
  }
  row.bytes_per_second = stats::summarize(rates).median;
  row.write_latency = writes.quantiles();
  if (options.checkpoint_every && row.bytes == planned) {
    const auto every = static_cast<double>(*options.checkpoint_every);
    row.share_ratio = checkpoint_share(row.block_seconds, every, *options.step_time);
    // Training that waits cannot be overtaken.
    if (mode == CheckpointMode::background) row.headroom_ratio = every * *options.step_time / row.durable_seconds;
  }
  return row;
}

/// Runs the verb: writes mode after mode, then drains and reads back the last checkpoint if requested.
class Bench {
 public:
  Bench(const CheckpointOptions& options, CheckpointPlan plan, Context& context)
      : options_(options), plan_(std::move(plan)), context_(context) {
    if (options.drain_to) drained_.emplace(*files_, *options.drain_to);
  }

  void run(CheckpointResult& result) {
    NeighborWatch watch(result.storage);
    const bool wrote = write_modes(result);
    result.neighbors = watch.so_far();
    if (result.rows.empty()) throw usage_error("--budget: too short, it ended before anything was written");
    if (!wrote || result.interrupted) return;  // nothing was written that could be drained or read back
    const WrittenCheckpoint written{folder_, repetition_, last_bytes_, kBytesPerWrite};
    if (drained_) drain(written, result);
    if (options_.recheck) restore(written, options_.directory, result);
  }

 private:
  /// Whether the last mode wrote something. A stop leaves the rows of the checkpoints before.
  bool write_modes(CheckpointResult& result) {
    bool wrote = false;
    for (const CheckpointMode mode : modes_of(options_, plan_, context_)) {
      const std::vector<CheckpointTimes> repetitions = write_all_of(mode, result);
      if (repetitions.empty()) break;
      const CheckpointRow row = row_of(mode, repetitions, options_, plan_.bytes());
      wrote = row.bytes > 0;
      warn_of_part(row);
      if (wrote) result.rows.push_back(row);
      if (result.interrupted) break;
    }
    return wrote;
  }

  void warn_of_part(const CheckpointRow& row) {
    if (row.bytes == plan_.bytes()) return;
    const char* what = row.bytes == 0 ? "it has no result" : "its rate is valid, its times belong to a part";
    context_.warn("part_of_checkpoint",
                  fmt::format("{}: --budget ended the checkpoint after {} of {}; {}", enum_name(row.mode),
                              format_size(row.bytes), typed_size(plan_.bytes()), what));
  }

  /// Those before a stop; throws it if there is no checkpoint at all.
  std::vector<CheckpointTimes> write_all_of(CheckpointMode mode, CheckpointResult& result) {
    const CheckpointSettings settings{mode, kBytesPerWrite, options_.direct, options_.budget};
    std::vector<CheckpointTimes> repetitions;
    for (std::uint64_t i = 0; i < options_.repeat; ++i) {
      folder_.clear();
      context_.progress().start(mode == CheckpointMode::sync ? "writing" : "copying and writing", 0, plan_.bytes());
      try {
        repetitions.push_back(written_into(options_.directory, plan_.bytes(), [&] {
          return write_checkpoint(folder_, plan_, settings, ++repetition_, context_);
        }));
      } catch (const Error& error) {
        if (error.code() != ErrorCode::cancelled || (repetitions.empty() && result.rows.empty())) throw;
        result.interrupted = true;
        return repetitions;
      }
    }
    last_bytes_ = repetitions.back().rank_bytes;
    return repetitions;
  }

  void drain(const WrittenCheckpoint& written, CheckpointResult& result) {
    context_.progress().start("draining", 0, plan_.bytes());
    const std::uint64_t bytes = result.rows.back().bytes;
    check_space(*options_.drain_to, bytes);
    CheckpointDrain drain;
    drain.directory = *options_.drain_to;
    drain.storage = system::storage_of(drained_->path());
    drain.drain_seconds = written_into(*options_.drain_to, bytes,
                                       [&] { return drain_checkpoint(written, *drained_, options_.direct, context_); });
    drain.bytes_per_second = static_cast<double>(bytes) / drain.drain_seconds;
    if (options_.checkpoint_every && bytes == plan_.bytes()) {
      drain.headroom_ratio =
          static_cast<double>(*options_.checkpoint_every) * *options_.step_time / drain.drain_seconds;
    }
    result.drain = drain;
    if (options_.recheck) restore({*drained_, repetition_, last_bytes_, kBytesPerWrite}, *options_.drain_to, result);
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
  const std::unique_ptr<io::FileSystem> files_ = io::posix_file_system();
  CheckpointFolder folder_{*files_, options_.directory};
  std::optional<CheckpointFolder> drained_;
  std::uint64_t repetition_ = 0;
  std::vector<std::uint64_t> last_bytes_;
};

constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr std::uint64_t kTotalByDefault = kGiB;
constexpr std::uint64_t kGpusOfANode = 8;
constexpr std::uint64_t kLargestCheckpoint = 1ULL << 50U;
constexpr std::uint64_t kCheckpointUnit = 4096;

/// A model whose checkpoints MLPerf Storage writes.
struct CheckpointModel {
  std::string_view name;
  std::uint64_t bytes = 0;  ///< of a whole checkpoint: weights and optimizer
  std::uint64_t ranks = 0;  ///< that write it, one file each
};

// MLPerf Storage, checkpointing: 105 GiB, 912 GiB and 5.29 TiB (v2.0), about 18 TiB (v3.0).
constexpr std::array<CheckpointModel, 4> kModels{{
    {"llama3-8b", 105 * kGiB, 8},
    {"llama3-70b", 912 * kGiB, 64},
    {"llama3-405b", 5417 * kGiB, 512},
    {"llama3-1t", 18 * 1024 * kGiB, 1024},
}};

const CheckpointModel& find_model(const std::string& name) {
  const auto* found = std::ranges::find(kModels, name, &CheckpointModel::name);
  if (found != kModels.end()) return *found;
  std::string names;
  for (const CheckpointModel& model : kModels) names += fmt::format("{}{}", names.empty() ? "" : ", ", model.name);
  throw usage_error("--preset: '{}' is not a known model; use {}", name, names);
}

/// Bytes of one rank, which determine the size of its file.
double bytes_of_rank(const CheckpointOptions& options, std::uint64_t writers) {
  if (options.bytes || !options.preset)
    return static_cast<double>(options.bytes.value_or(kTotalByDefault)) / static_cast<double>(writers);
  const CheckpointModel& model = find_model(*options.preset);
  return static_cast<double>(model.bytes) / static_cast<double>(model.ranks);
}

void check_size(const CheckpointOptions& options, std::uint64_t writers) {
  if (options.bytes && (*options.bytes < writers * kCheckpointUnit || *options.bytes > kLargestCheckpoint)) {
    throw usage_error("--bytes must be from 4096 for each writer to {}, not {}", exact_size(kLargestCheckpoint),
                      exact_size(*options.bytes));
  }
}

/// A copy beside the original would time the same storage twice.
void check_drain(const CheckpointOptions& options) {
  std::error_code not_there;  // reported when they are opened
  if (!options.drain_to || !std::filesystem::equivalent(options.directory, *options.drain_to, not_there)) return;
  throw usage_error(
      "--drain-to: '{}' is the folder that checkpoints are written to; choose a folder on the slower storage",
      *options.drain_to);
}

}  // namespace

bool CheckpointResult::has_findings() const {
  const auto piles_up = [](const auto& copy) { return copy.headroom_ratio.value_or(1) < 1; };
  return std::ranges::any_of(rows, piles_up) || (drain && piles_up(*drain));
}

CheckpointResult checkpoint(const CheckpointOptions& options, Context& context) {
  check_options(options);
  const CheckpointPlan plan = plan_checkpoint(options);
  warn_of_others(options.directory, context);
  Bench bench(options, plan, context);
  if (!options.budget) check_space(options.directory, plan.bytes());
  CheckpointResult result;
  result.model = options.preset;
  result.writers = plan.writers;
  result.bytes = plan.bytes();
  result.block = kBytesPerWrite;
  result.direct = options.direct;
  result.storage = system::storage_of(options.directory);
  if (result.storage.storage_class == system::StorageClass::memory) {
    context.warn("data_in_memory", fmt::format("'{}' is in memory ({}): data there is never durable", options.directory,
                                               result.storage.file_system));
  }
  bench.run(result);
  result.block_seconds = result.rows.front().block_seconds;
  result.durable_seconds = result.rows.front().durable_seconds;
  result.bytes_per_second = result.rows.front().bytes_per_second;
  warn_of_neighbors(result.neighbors, context);
  return result;
}

void CheckpointOptions::describe(FieldList& v) {
  v.field({"DIR", "folder on the storage to measure; all files written there are removed at the end", Role::positional,
           kMayDiffer, kSharedOutput},
          directory);
  v.topic("What is written");
  v.field({"mode", "sync: training waits until all data is durable; background: only for a copy in memory"}, mode);
  v.field({"preset", "size of an MLPerf Storage checkpoint", "llama3-8b|llama3-70b|llama3-405b|llama3-1t",
           Misnomers{"model"}},
          preset);
  v.field({"bytes", Unit::bytes, "size of a checkpoint, sum of all writers; default: that of the preset, else 1GiB"},
          bytes);
  v.field({"threads", Unit::count,
           "files written in parallel, one per rank; default: 1, with --preset the 8 ranks of a node", 'j',
           between(1, 512), Misnomers{"writers"}},
          threads);
  v.topic("How it is written");
  v.field({"direct", "bypass the page cache when writing (O_DIRECT)"}, direct);
  v.topic("Measurement");
  v.field({"repeat", Unit::count, "number of checkpoints in each mode", kMayDiffer, between(1, 1000)}, repeat);
  v.field({"budget", Unit::seconds, "time limit for writing each checkpoint", kMayDiffer, above(0),
           Misnomers{"min-seconds min-time seconds duration"}},
          budget);
  v.field({"drain-to", "also copy a checkpoint to this folder on slower storage, and time it", "DIR", kSharedOutput},
          drain_to);
  v.field({"recheck", "also read the last checkpoint, from disk if possible, and compare every byte",
           Misnomers{"read-back"}},
          recheck);
  v.topic("Training job");
  v.field({"step-time", Unit::seconds,
           "time of a training step; with --checkpoint-every, the share of training that checkpoints take is reported",
           above(0), kOfTrainingStep},
          step_time);
  v.field({"checkpoint-every", Unit::count, "training steps between two checkpoints", at_least(1), Misnomers{"every"}},
          checkpoint_every);
}

void CheckpointRow::describe(FieldList& v) {
  v.field({"mode", "sync or background"}, mode);
  v.field({"repetitions", Unit::count, "checkpoints written; all values are medians over them"}, repetitions);
  v.field({"bytes", Unit::bytes, "bytes per checkpoint"}, bytes);
  v.field({"block_seconds", Unit::seconds, "time that training waits"}, block_seconds);
  v.field({"block_interval", Unit::seconds, "95 % interval of that median; with fewer than 6, the range"},
          block_interval);
  v.field({"durable_seconds", Unit::seconds, "time until data, names and folder would survive a power cut"},
          durable_seconds);
  v.field({"durable_interval", Unit::seconds, "95 % interval of that median"}, durable_interval);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by the time until durable"}, bytes_per_second);
  v.field({"snapshot_seconds", Unit::seconds, "time to copy the state in memory; 0 without a copy"}, snapshot_seconds);
  v.field({"write_seconds", Unit::seconds, "time until the last write of the last rank returned"}, write_seconds);
  v.field({"sync_seconds", Unit::seconds, "longest fsync of a rank's file"}, sync_seconds);
  v.field({"publish_seconds", Unit::seconds, "time for renames and the fsync of the folder"}, publish_seconds);
  v.field({"fastest_rank_seconds", Unit::seconds, "time until the first rank's file was durable"},
          fastest_rank_seconds);
  v.field({"slowest_rank_seconds", Unit::seconds, "the same for the last rank: the time of the checkpoint"},
          slowest_rank_seconds);
  v.field({"write_latency", Unit::seconds, "latency of one write"}, write_latency);
  v.field({"share", Unit::ratio, "share of the running time that training waits for checkpoints"}, share_ratio);
  v.field({"headroom", Unit::factor, "checkpoint interval divided by the time until durable; below 1 is too slow"},
          headroom_ratio);
}

void CheckpointDrain::describe(FieldList& v) {
  v.field({"directory", "target folder"}, directory);
  v.field({"drain_seconds", Unit::seconds, "time until the copy is durable there"}, drain_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by that time"}, bytes_per_second);
  v.field({"headroom", Unit::factor, "checkpoint interval divided by that time; below 1 is too slow"}, headroom_ratio);
  v.field({"storage", "storage of that folder"}, storage);
}

void CheckpointRestore::describe(FieldList& v) {
  v.field({"directory", "source folder"}, directory);
  v.field({"bytes", Unit::bytes, "bytes compared, all equal to what was written"}, bytes);
  v.field({"read_seconds", Unit::seconds, "time to read and compare"}, read_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by that time"}, bytes_per_second);
  v.field({"cache_state", "cold, or unknown if the page cache could not be emptied"}, cache_state);
}

void CheckpointResult::describe(FieldList& v) {
  v.field({"model", "model whose checkpoint was written"}, model);
  v.field({"writers", Unit::count, "files written in parallel", kCondition}, writers);
  v.field({"bytes", Unit::bytes, "planned size of a checkpoint"}, bytes);
  v.field({"block", Unit::bytes, "bytes per write", kCondition}, block);
  v.field({"direct", "bypassing the page cache", kCondition}, direct);
  v.field({"block_seconds", Unit::seconds, "wait of training, in the first row", metric(Better::lower, kUnfeltWait)},
          block_seconds);
  v.field({"durable_seconds", Unit::seconds, "time until durable, in the first row", metric(Better::lower)},
          durable_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by the time until durable, from the first row",
           metric(Better::higher)},
          bytes_per_second);
  v.field({"rows", "one row per mode"}, rows);
  v.field({"drain", "the copy to slower storage"}, drain);
  v.field({"read_back", "folders that were read back and compared"}, read_back);
  v.field({"storage", "storage of DIR", kCondition}, storage);
  v.field({"neighbors", "what other processes used meanwhile"}, neighbors);
}

CheckpointPlan plan_checkpoint(const CheckpointOptions& options) {
  const std::uint64_t of_node = options.preset ? std::min(find_model(*options.preset).ranks, kGpusOfANode) : 1;
  const std::uint64_t writers = options.threads.value_or(of_node);
  check_size(options, writers);
  if (options.preset && writers > find_model(*options.preset).ranks) {
    throw usage_error("--threads: '{}' is written by {} ranks", *options.preset, find_model(*options.preset).ranks);
  }
  const auto blocks = static_cast<std::uint64_t>(std::ceil(bytes_of_rank(options, writers) / kCheckpointUnit));
  return {writers, std::max<std::uint64_t>(blocks, 1) * kCheckpointUnit};
}

void check_options(const CheckpointOptions& options) {
  check_ranges(options);
  if (options.step_time.has_value() != options.checkpoint_every.has_value())
    throw usage_error("--step-time and --checkpoint-every need each other");
  check_drain(options);
}

}  // namespace shardkit::bench
