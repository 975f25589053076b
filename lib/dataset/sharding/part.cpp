#include "dataset/sharding/part.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/tsv.hpp"

namespace shardkit::dataset {
namespace {

std::optional<std::uint64_t> number(const system::EnvironmentLookup& environment, const char* name) {
  const std::optional<std::string> text = environment(name);
  if (!text || text->empty()) return std::nullopt;
  std::uint64_t value = 0;
  if (!formats::parse_number(*text, value)) {
    throw Error(ErrorCode::usage, fmt::format("--part auto: {}='{}' is not a number", name, *text));
  }
  return value;
}

std::optional<Part> rank_and_size(const system::EnvironmentLookup& environment, const char* rank, const char* size) {
  const auto index = number(environment, rank);
  const auto count = number(environment, size);
  if (!index || !count) return std::nullopt;
  return Part{*index, *count};
}

/// A batch script has SLURM_PROCID=0 and SLURM_NTASKS of its whole job, but runs once; a step that srun started runs
/// once per task.
bool is_batch_script(const system::EnvironmentLookup& environment) {
  return environment("SLURM_JOB_ID") && !environment("SLURM_STEP_ID") && !environment("SLURM_STEP_NUM_TASKS");
}

std::optional<Part> slurm_step(const system::EnvironmentLookup& environment) {
  if (const auto step = rank_and_size(environment, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")) return step;
  const auto step = rank_and_size(environment, "SLURM_PROCID", "SLURM_NTASKS");
  if (!step || step->count == 1 || !is_batch_script(environment)) return step;
  if (environment("SLURM_ARRAY_TASK_ID")) return std::nullopt;  // one process per array task
  throw Error(ErrorCode::usage,
              fmt::format("--part auto: this batch script has {} tasks but runs once; start the command with srun",
                          step->count));
}

std::optional<Part> slurm(const system::EnvironmentLookup& environment) {
  const std::optional<Part> step = slurm_step(environment);
  const auto task = number(environment, "SLURM_ARRAY_TASK_ID");
  if (!task) return step;
  const std::uint64_t first = number(environment, "SLURM_ARRAY_TASK_MIN").value_or(0);
  const std::uint64_t stride = number(environment, "SLURM_ARRAY_TASK_STEP").value_or(1);
  const auto count = number(environment, "SLURM_ARRAY_TASK_COUNT");
  if (!count || stride == 0 || *task < first || (*task - first) % stride != 0) {
    throw Error(ErrorCode::usage,
                "--part auto: SLURM_ARRAY_TASK_ID, _MIN, _STEP and _COUNT do not fit together; say "
                "--part I/N");
  }
  const Part array{(*task - first) / stride, *count};
  if (!step) return array;
  return Part{array.index * step->count + step->index, array.count * step->count};
}

std::optional<Part> kubernetes(const system::EnvironmentLookup& environment, std::optional<std::uint64_t> parts) {
  const auto index = number(environment, "JOB_COMPLETION_INDEX");
  if (!index) return std::nullopt;
  if (!parts) {
    throw Error(ErrorCode::usage,
                "--part auto: Kubernetes tells JOB_COMPLETION_INDEX but not how many there are; add "
                "--parts N (the Job's completions), here or to `shardctl plan`");
  }
  return Part{*index, *parts};
}

Part from_environment(const system::EnvironmentLookup& environment, std::optional<std::uint64_t> parts) {
  if (const auto part = rank_and_size(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) return *part;
  if (const auto part = slurm(environment)) return *part;
  if (const auto part = rank_and_size(environment, "PMI_RANK", "PMI_SIZE")) return *part;
  if (const auto part = kubernetes(environment, parts)) return *part;
  if (const auto part = rank_and_size(environment, "RANK", "WORLD_SIZE")) return *part;
  throw Error(ErrorCode::usage,
              "--part auto: no scheduler's variables are set (Open MPI, Slurm, PMI, Kubernetes "
              "Indexed Job, RANK and WORLD_SIZE); say --part I/N");
}

Part from_text(const std::string& text) {
  const std::size_t slash = text.find('/');
  Part part;
  if (slash == std::string::npos || !formats::parse_number(std::string_view(text).substr(0, slash), part.index) ||
      !formats::parse_number(std::string_view(text).substr(slash + 1), part.count)) {
    throw Error(ErrorCode::usage, fmt::format("--part '{}': expected I/N, such as 0/4, or auto", text));
  }
  return part;
}

}  // namespace

Part parse_part(const std::string& text, std::optional<std::uint64_t> parts,
                const system::EnvironmentLookup& environment) {
  const Part part = text == "auto" ? from_environment(environment, parts) : from_text(text);
  if (part.index >= part.count) {
    throw Error(ErrorCode::usage,
                fmt::format("part {} of {}: {}", part.index, part.count,
                            part.count == 0 ? "there is at least 1 part"
                                            : fmt::format("parts count from 0, so the last is {}", part.count - 1)));
  }
  if (parts && *parts != part.count) {
    throw Error(ErrorCode::usage,
                fmt::format("{} parts are asked for (--parts, or the plan), but --part says {}", *parts, part.count));
  }
  return part;
}

std::pair<std::size_t, std::size_t> shards_of(const Part& part, std::size_t shards) {
  const std::size_t each = shards / part.count;
  const std::size_t extra = shards % part.count;
  const auto start = [&](std::uint64_t index) { return index * each + std::min<std::size_t>(index, extra); };
  return {start(part.index), start(part.index + 1)};
}

}  // namespace shardkit::dataset
