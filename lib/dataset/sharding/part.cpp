#include "dataset/sharding/part.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/manifest.hpp"

namespace shardkit::dataset {
namespace {

using system::EnvironmentLookup;

std::optional<std::uint64_t> number(const EnvironmentLookup& environment, const char* name) {
  const std::optional<std::string> text = name == nullptr ? std::nullopt : environment(name);
  if (!text || text->empty()) return std::nullopt;
  std::uint64_t value = 0;
  if (!parse_number(*text, value)) {
    throw usage_error("--part auto: {}='{}' is not a number", name, *text);
  }
  return value;
}

/// What a scheduler sets for each process. Variables that it lacks are null.
struct Scheduler {
  /// Processes that were started together.
  const char* rank = nullptr;
  const char* size = nullptr;
  const char* step_size = nullptr;  ///< instead of size, if the script of a job has rank and size, too
  /// A task of an array, and the array.
  const char* task = nullptr;
  const char* first = nullptr;
  const char* last = nullptr;
  const char* step = nullptr;
  const char* tasks = nullptr;
  std::uint64_t lowest = 0;  ///< id with which its arrays begin
};

/// In the order of their use: ranks of MPI are right also inside a job of Slurm, PBS or LSF, where those of Slurm are
/// not. Sources: the manual pages of mpirun, flux-submit, sbatch, qsub (OpenPBS: PBS_ARRAY_INDEX, TORQUE: PBS_ARRAYID)
/// and bsub (LSB_JOBINDEX is 0 outside of arrays), "AWS Batch job environment variables", "Indexed Job" of Kubernetes,
/// torchrun, and Volcano's env plugin (VK_TASK_INDEX in earlier releases).
constexpr Scheduler kSchedulers[] = {
    {.rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE"},
    {.rank = "FLUX_TASK_RANK", .size = "FLUX_JOB_SIZE", .task = "FLUX_JOB_CC"},
    {.rank = "SLURM_PROCID",
     .size = "SLURM_NTASKS",
     .step_size = "SLURM_STEP_NUM_TASKS",
     .task = "SLURM_ARRAY_TASK_ID",
     .first = "SLURM_ARRAY_TASK_MIN",
     .last = "SLURM_ARRAY_TASK_MAX",
     .step = "SLURM_ARRAY_TASK_STEP",
     .tasks = "SLURM_ARRAY_TASK_COUNT"},
    {.rank = "PMI_RANK", .size = "PMI_SIZE"},
    {.task = "PBS_ARRAY_INDEX"},
    {.task = "PBS_ARRAYID"},
    {.task = "LSB_JOBINDEX", .lowest = 1},
    {.task = "AWS_BATCH_JOB_ARRAY_INDEX", .tasks = "AWS_BATCH_JOB_ARRAY_SIZE"},
    {.task = "JOB_COMPLETION_INDEX"},
    {.rank = "RANK", .size = "WORLD_SIZE"},
    {.task = "VC_TASK_INDEX"},
    {.task = "VK_TASK_INDEX"},
};

/// A batch script of Slurm has SLURM_PROCID=0 and SLURM_NTASKS of its whole job, but runs once; a step that srun
/// started runs once per task.
bool is_batch_script(const EnvironmentLookup& environment) {
  return environment("SLURM_JOB_ID") && !environment("SLURM_STEP_ID") && !environment("SLURM_STEP_NUM_TASKS");
}

std::optional<Part> rank_and_size(const EnvironmentLookup& environment, const char* rank, const char* size) {
  const auto index = number(environment, rank);
  const auto count = number(environment, size);
  if (!index || !count) return std::nullopt;
  return Part{*index, *count};
}

std::optional<Part> process_of(const Scheduler& scheduler, const EnvironmentLookup& environment) {
  if (const auto step = rank_and_size(environment, scheduler.rank, scheduler.step_size)) return step;
  const auto process = rank_and_size(environment, scheduler.rank, scheduler.size);
  const bool may_be_script = scheduler.step_size != nullptr && process && process->count > 1;
  if (!may_be_script || !is_batch_script(environment)) return process;
  if (environment(scheduler.task)) return std::nullopt;  // one process per array task
  throw usage_error("--part auto: this batch script has {} tasks but runs once; start the command with srun",
                    process->count);
}

std::optional<ArrayTask> task_of(const Scheduler& scheduler, const EnvironmentLookup& environment) {
  const auto id = number(environment, scheduler.task);
  if (!id || *id < scheduler.lowest) return std::nullopt;
  ArrayTask task{*id, scheduler.lowest};
  const auto tasks = number(environment, scheduler.tasks);
  if (!tasks || *tasks == 0) return task;
  TaskIds array{number(environment, scheduler.first).value_or(0), number(environment, scheduler.step).value_or(1)};
  if (array.step == 0 || *id < array.first) {
    throw usage_error("--part auto: the variables of array task {} do not fit together; use --part I/N", *id);
  }
  array.last = number(environment, scheduler.last).value_or(array.first + array.step * (*tasks - 1));
  task.array = array;
  task.tasks = *tasks;
  return task;
}

PartClaim from_environment(const EnvironmentLookup& environment, std::optional<std::uint64_t> parts) {
  for (const Scheduler& scheduler : kSchedulers) {
    const std::optional<Part> process = process_of(scheduler, environment);
    if (std::optional<ArrayTask> task = task_of(scheduler, environment)) {
      task->process = process.value_or(Part{});
      task->parts = parts;
      return *task;
    }
    if (process) return *process;
  }
  throw usage_error(
      "--part auto: the variables of no scheduler are set (Open MPI, Flux, Slurm, PMI, PBS, LSF, AWS Batch, "
      "Kubernetes Indexed Job, Volcano, RANK and WORLD_SIZE); use --part I/N");
}

Part from_text(const std::string& text) {
  const std::optional<Part> part = parse_part_text(text);
  if (!part) throw usage_error("--part '{}': expected I/N, such as 0/4, or auto", text);
  return *part;
}

bool has(const TaskIds& tasks, std::uint64_t id) {
  return id >= tasks.first && id <= tasks.last && (id - tasks.first) % tasks.step == 0;
}

std::string ids_text(const TaskIds& tasks) {
  if (tasks.first == tasks.last) return fmt::to_string(tasks.first);
  return fmt::format("{}-{}{}", tasks.first, tasks.last, tasks.step == 1 ? "" : fmt::format(":{}", tasks.step));
}

constexpr std::string_view kDivisionMagic = "shardkit-division\t1\t";

}  // namespace

std::string division_text(const Division& division) {
  const auto& [first, step, last] = division.tasks;
  const std::string text =
      fmt::format("{}{}\t{}\t{}\t{}\t{}\t", kDivisionMagic, division.parts, first, step, last, division.processes);
  return text + to_hex(xxh3_64(as_bytes(text))) + '\n';
}

std::optional<Division> parse_division(std::string_view text) {
  if (!text.starts_with(kDivisionMagic)) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (std::size_t begin = kDivisionMagic.size(); begin < text.size();) {
    const std::size_t end = std::min(text.find('\t', begin), text.size());
    std::uint64_t value = 0;
    if (parse_number(text.substr(begin, end - begin), value)) numbers.push_back(value);
    begin = end + 1;
  }
  if (numbers.size() < 5) return std::nullopt;
  const Division division{numbers[0], {numbers[1], numbers[2], numbers[3]}, numbers[4]};
  return division_text(division) == text ? std::optional(division) : std::nullopt;
}

Division division_of(const ArrayTask& task) {
  const std::uint64_t processes = task.process.count;
  if (task.parts) {
    if (*task.parts % processes != 0) {
      throw usage_error("--part auto: {} do not divide into array tasks of {}; use --part I/N",
                        format_count(*task.parts, "part"), format_count(processes, "process"));
    }
    return {*task.parts, {task.lowest, 1, task.lowest + *task.parts / processes - 1}, processes};
  }
  if (!task.array) {
    throw usage_error(
        "--part auto: the scheduler provides the number of this task ({}) but not the number of parts; add --parts N "
        "(of Kubernetes, the Job's completions), here or to `shardctl plan`, or use --part I/N",
        task.id);
  }
  if (task.tasks == 1) {
    throw usage_error(
        "--part auto: array task {} was submitted alone, and no task of a whole array has written to this target "
        "before; use --part I/N, such as --part {}/16",
        task.id, task.id % 16);
  }
  if ((task.array->last - task.array->first) / task.array->step + 1 != task.tasks) {
    throw usage_error(
        "--part auto: this array has {} with ids from {} to {}, and no task of a whole array has written to this "
        "target "
        "before; use --part I/N",
        format_count(task.tasks, "task"), task.array->first, task.array->last);
  }
  return {task.tasks * processes, *task.array, processes};
}

Part part_of(const ArrayTask& task, const Division& division, const std::string& target) {
  const bool same_parts = !task.parts || *task.parts == division.parts;
  const bool same_array =
      task.parts || !task.array || (has(division.tasks, task.array->first) && has(division.tasks, task.array->last));
  if (same_parts && same_array && has(division.tasks, task.id) && task.process.count == division.processes) {
    const std::uint64_t number = (task.id - division.tasks.first) / division.tasks.step;
    return {number * division.processes + task.process.index, division.parts};
  }
  const std::string array = task.array ? fmt::format(" of the array {}", ids_text(*task.array)) : "";
  throw usage_error(
      "--part auto: the {} of '{}' belong to array tasks {}{}, but this is task {}{}{}{}; submit those tasks, or use "
      "--part I/N",
      format_count(division.parts, "part"), target, ids_text(division.tasks),
      division.processes == 1 ? "" : fmt::format(" of {}", format_count(division.processes, "process")), task.id, array,
      task.process.count == division.processes ? ""
                                               : fmt::format(" with {}", format_count(task.process.count, "process")),
      same_parts ? "" : fmt::format(" for {}", format_count(*task.parts, "part")));
}

PartClaim parse_part(const std::string& text, std::optional<std::uint64_t> parts,
                     const EnvironmentLookup& environment) {
  const PartClaim claim = text == "auto" ? from_environment(environment, parts) : from_text(text);
  const Part* whole = std::get_if<Part>(&claim);
  const Part part = whole != nullptr ? *whole : std::get<ArrayTask>(claim).process;
  if (part.index >= part.count) {
    throw usage_error("part {} of {}: {}", part.index, part.count,
                      part.count == 0 ? "N must be at least 1"
                                      : fmt::format("parts count from 0, so the last is {}", part.count - 1));
  }
  if (whole != nullptr && parts && *parts != part.count) {
    throw usage_error("--parts or the plan has {} parts, but --part has {}", *parts, part.count);
  }
  return claim;
}

std::string part_text(const Part& part) { return fmt::format("{}/{}", part.index, part.count); }

std::optional<Part> parse_part_text(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  Part part;
  const bool is_part = slash < text.size() && parse_number(text.substr(0, slash), part.index) &&
                       parse_number(text.substr(slash + 1), part.count);
  return is_part ? std::optional(part) : std::nullopt;
}

std::pair<std::size_t, std::size_t> shards_of(const Part& part, std::size_t shards) {
  const std::size_t each = shards / part.count;
  const std::size_t extra = shards % part.count;
  const auto start = [&](std::uint64_t index) { return index * each + std::min<std::size_t>(index, extra); };
  return {start(part.index), start(part.index + 1)};
}

std::string part_file_name(const Part& part) { return fmt::format("part-{:05}-of-{:05}.json", part.index, part.count); }

std::optional<Part> parse_part_file_name(const std::string& name) {
  const auto read = formats::parse_part_name(name);
  if (!read) return std::nullopt;
  const Part part{read->first, read->second};
  return name == part_file_name(part) ? std::optional(part) : std::nullopt;
}

}  // namespace shardkit::dataset
