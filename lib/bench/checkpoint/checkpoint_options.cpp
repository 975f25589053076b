#include "bench/checkpoint/checkpoint_options.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "bench/checkpoint/checkpoint_plan.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kWriteUnit = 4096;
constexpr std::uint64_t kMostBlock = 1ULL << 30U;
constexpr std::uint64_t kMostRepetitions = 1000;
constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr double kMostSeconds = 1e9;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

/// A copy beside the original would time the same storage twice.
void check_drain(const CheckpointOptions& options) {
  std::error_code not_there;  // which is told when they are opened
  if (!options.drain_to || !std::filesystem::equivalent(options.directory, *options.drain_to, not_there)) return;
  refuse(
      fmt::format("--drain-to: '{}' is the folder that checkpoints are written to; name one on the storage that they "
                  "are to be copied to",
                  *options.drain_to));
}

}  // namespace

CheckpointOptions with_job(const CheckpointOptions& given) {
  if (!given.job) return given;
  CheckpointOptions options = given;
  if (*options.job != "seq-write") {
    refuse(fmt::format("--job: '{}' is not known; there is seq-write (read jobs are `iobench read`'s)", *options.job));
  }
  if (options.model || options.bytes || options.writers || options.mode == CheckpointModes::background) {
    refuse("--job fixes mode, bytes and writers; leave those out, --scale makes its files smaller");
  }
  check_scale(options.scale);
  constexpr std::uint64_t kFiles = 4;
  constexpr std::uint64_t kFileBytes = 10ULL << 30U;
  const double blocks = std::ceil(options.scale * (kFileBytes / kWriteUnit));
  options.mode = CheckpointModes::sync;
  options.writers = kFiles;
  options.bytes = kFiles * kWriteUnit * static_cast<std::uint64_t>(blocks);
  options.scale = 1;
  options.direct = true;
  options.budget = options.budget.value_or(60);
  return options;
}

std::optional<std::string> fio_command(const CheckpointOptions& options) {
  if (!options.job) return std::nullopt;
  const std::uint64_t size = *options.bytes / *options.writers;
  const std::string block =
      size < options.block || options.block != kMiB ? fmt::format("{}", std::min(size, options.block)) : "1M";
  // fio takes whole seconds here unless they have a unit, and 0 for no limit.
  const auto milliseconds = static_cast<std::uint64_t>(std::ceil(std::min(*options.budget, kMostSeconds) * 1000));
  const std::string runtime =
      milliseconds % 1000 == 0 ? fmt::format("{}", milliseconds / 1000) : fmt::format("{}ms", milliseconds);
  return fmt::format(
      "fio --name=seq-write --directory={} --rw=write --bs={} --numjobs={} --size={} --runtime={} --direct=1 "
      "--end_fsync=1 --group_reporting",
      shell_word(options.directory), block, *options.writers, size, runtime);
}

void check_options(const CheckpointOptions& options) {
  if (options.block == 0 || options.block % kWriteUnit != 0 || options.block > kMostBlock) {
    refuse("--block: expected a multiple of 4096 bytes, at most 1GiB");
  }
  if (options.repeat == 0 || options.repeat > kMostRepetitions) {
    refuse(fmt::format("--repeat: expected 1 to {}", kMostRepetitions));
  }
  if (options.budget && *options.budget <= 0) refuse("--budget: expected more than 0 seconds");
  if (options.step_time.has_value() != options.every.has_value()) refuse("--step-time and --every belong together");
  if (options.step_time && *options.step_time <= 0) refuse("--step-time: expected more than 0 seconds");
  if (options.every == 0U) refuse("--every: expected at least 1 step");
  check_drain(options);
}

}  // namespace shardkit
