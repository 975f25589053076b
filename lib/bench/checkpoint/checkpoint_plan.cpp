#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "bench/checkpoint/checkpoint.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

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
  if (!options.preset)
    return static_cast<double>(options.bytes.value_or(kTotalByDefault)) / static_cast<double>(writers);
  const CheckpointModel& model = find_model(*options.preset);
  return options.scale * static_cast<double>(model.bytes) / static_cast<double>(model.ranks);
}

void check_size(const CheckpointOptions& options, std::uint64_t writers) {
  if (options.preset && options.bytes)
    throw usage_error("--preset and --bytes exclude each other; use --scale to make a preset's checkpoint smaller");
  if (!options.preset && options.scale != 1) throw usage_error("--scale needs --preset or --job");
  if (options.bytes && (*options.bytes < writers * kCheckpointUnit || *options.bytes > kLargestCheckpoint)) {
    throw usage_error("--bytes: expected at least 4096 for each writer and at most {}",
                      format_size(kLargestCheckpoint));
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

std::uint64_t CheckpointPlan::bytes() const {
  return std::accumulate(rank_bytes.begin(), rank_bytes.end(), std::uint64_t{0});
}

CheckpointPlan plan_checkpoint(const CheckpointOptions& options) {
  const std::uint64_t of_node = options.preset ? std::min(find_model(*options.preset).ranks, kGpusOfANode) : 1;
  const std::uint64_t writers = options.threads.value_or(of_node);
  check_size(options, writers);
  if (options.preset && writers > find_model(*options.preset).ranks) {
    throw usage_error("--threads: '{}' is written by {} ranks", *options.preset, find_model(*options.preset).ranks);
  }
  const auto blocks = static_cast<std::uint64_t>(std::ceil(bytes_of_rank(options, writers) / kCheckpointUnit));
  return {std::vector<std::uint64_t>(writers, std::max<std::uint64_t>(blocks, 1) * kCheckpointUnit)};
}

CheckpointOptions with_job(const CheckpointOptions& given) {
  if (!given.job) return given;
  CheckpointOptions options = given;
  if (*options.job != "seq-write") {
    throw usage_error("--job: must be seq-write, not '{}'; read jobs belong to `iobench read`", *options.job);
  }
  if (options.preset || options.bytes || options.threads || options.mode == CheckpointModes::background) {
    throw usage_error("--job sets mode, bytes and threads; leave those out, or use --scale to make its files smaller");
  }
  check_ranges(given);
  constexpr std::uint64_t kFiles = 4;
  constexpr std::uint64_t kFileBytes = 10ULL << 30U;
  const double blocks = std::ceil(options.scale * (kFileBytes / kCheckpointUnit));
  options.mode = CheckpointModes::sync;
  options.threads = kFiles;
  options.bytes = kFiles * kCheckpointUnit * static_cast<std::uint64_t>(blocks);
  options.scale = 1;
  options.direct = true;
  options.budget = options.budget.value_or(60);
  return options;
}

std::optional<std::string> fio_command(const CheckpointOptions& options) {
  if (!options.job) return std::nullopt;
  const std::uint64_t size = *options.bytes / *options.threads;
  const std::string block =
      size < options.block || options.block != 1ULL << 20U ? fmt::format("{}", std::min(size, options.block)) : "1M";
  constexpr double kMostSeconds = 1e9;
  // fio treats these as whole seconds unless they have a unit, and 0 as no limit.
  const auto milliseconds = static_cast<std::uint64_t>(std::ceil(std::min(*options.budget, kMostSeconds) * 1000));
  const std::string runtime =
      milliseconds % 1000 == 0 ? fmt::format("{}", milliseconds / 1000) : fmt::format("{}ms", milliseconds);
  return fmt::format(
      "fio --name=seq-write --directory={} --rw=write --bs={} --numjobs={} --size={} --runtime={} --direct=1 "
      "--end_fsync=1 --group_reporting",
      shell_word(options.directory), block, *options.threads, size, runtime);
}

void check_options(const CheckpointOptions& options) {
  check_ranges(options);
  if (options.block % kCheckpointUnit != 0) throw usage_error("--block: expected a multiple of 4096 bytes");
  if (options.step_time.has_value() != options.checkpoint_every.has_value())
    throw usage_error("--step-time and --checkpoint-every need each other");
  check_drain(options);
}

}  // namespace shardkit::bench
