#include "dataset/sharding/part.hpp"

#include <map>

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

namespace {

using Variables = std::map<std::string, std::string>;

PartClaim claim_of(Variables variables, std::optional<std::uint64_t> parts = {}) {
  return parse_part("auto", parts,
                    [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
                      const auto found = variables.find(name);
                      if (found == variables.end()) return std::nullopt;
                      return found->second;
                    });
}

/// In a target where `recorded`, or no task before.
Part automatic(Variables variables, std::optional<std::uint64_t> parts = {}, std::optional<Division> recorded = {}) {
  const PartClaim claim = claim_of(std::move(variables), parts);
  if (const Part* part = std::get_if<Part>(&claim)) return *part;
  const auto& task = std::get<ArrayTask>(claim);
  return part_of(task, recorded ? *recorded : division_of(task), "shards");
}

Part explicit_part(const std::string& text, std::optional<std::uint64_t> parts = {}) {
  return std::get<Part>(parse_part(text, parts, [](const std::string&) { return std::nullopt; }));
}

/// Task `id` of `sbatch --array=FIRST-LAST:STEP`.
Variables slurm_task(int id, int first, int last, int step = 1) {
  return {{"SLURM_ARRAY_TASK_ID", std::to_string(id)},
          {"SLURM_ARRAY_TASK_MIN", std::to_string(first)},
          {"SLURM_ARRAY_TASK_MAX", std::to_string(last)},
          {"SLURM_ARRAY_TASK_STEP", std::to_string(step)},
          {"SLURM_ARRAY_TASK_COUNT", std::to_string((last - first) / step + 1)}};
}

}  // namespace

TEST_CASE("I/N counts from 0") {
  CHECK(explicit_part("0/1") == Part{0, 1});
  CHECK(explicit_part("2/3") == Part{2, 3});
  for (const char* bad : {"3/3", "0/0", "1", "/", "a/b", "-1/3", "1/3x", ""}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(explicit_part(bad), Error);
  }
  CHECK_THROWS_AS(explicit_part("0/2", 3), Error);
}

TEST_CASE("a Slurm array counts from its minimum in its step") {
  CHECK(automatic(slurm_task(7, 1, 7, 2)) == Part{3, 4});
}

TEST_CASE("with a given number of parts, tasks count from 0 in steps of 1, whatever this submission is") {
  CHECK(automatic(slurm_task(3, 3, 3), 16) == Part{3, 16});
  CHECK(automatic(slurm_task(9, 3, 9, 6), 16) == Part{9, 16});
  CHECK_THROWS_WITH_AS(automatic(slurm_task(16, 1, 16), 16),
                       "--part auto: the 16 parts of 'shards' belong to array tasks 0-15, but this is task 16 of the "
                       "array 1-16; submit those tasks, or use --part I/N",
                       Error);
}

TEST_CASE("a task that is submitted again has the part that the first array gave it") {
  const Division recorded = division_of(std::get<ArrayTask>(claim_of(slurm_task(1, 1, 31, 2))));
  CHECK(recorded == Division{16, {1, 2, 31}, 1});
  CHECK(parse_division(division_text(recorded)) == recorded);
  CHECK(recorded.id_of(3) == 7);
  CHECK(automatic(slurm_task(7, 7, 7), {}, recorded) == Part{3, 16});
  CHECK(automatic(slurm_task(31, 7, 31, 24), {}, recorded) == Part{15, 16});
  CHECK(automatic({{"LSB_JOBINDEX", "7"}}, {}, recorded) == Part{3, 16});
}

TEST_CASE("an array that is not of the recorded division is refused in all its tasks") {
  const Division recorded{16, {0, 1, 15}, 1};
  for (const Variables& task : {slurm_task(3, 0, 31), slurm_task(20, 0, 31), slurm_task(1, 1, 16)}) {
    CHECK_THROWS_WITH_AS(automatic(task, {}, recorded),
                         doctest::Contains("16 parts of 'shards' belong to array tasks 0-15, but this is task"), Error);
  }
  CHECK_THROWS_WITH_AS(automatic(slurm_task(3, 3, 3), 8, recorded), doctest::Contains("for 8 parts"), Error);
  Variables in_step = slurm_task(3, 0, 15);
  in_step.insert({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}});
  CHECK_THROWS_WITH_AS(automatic(in_step, {}, recorded), doctest::Contains("with 2 processes"), Error);
}

TEST_CASE("before any record, a single task and an array with gaps do not know their parts") {
  CHECK_THROWS_WITH_AS(automatic(slurm_task(3, 3, 3)), doctest::Contains("use --part I/N, such as --part 3/16"), Error);
  Variables gaps = slurm_task(3, 3, 9);
  gaps["SLURM_ARRAY_TASK_COUNT"] = "4";
  CHECK_THROWS_WITH_AS(automatic(gaps), doctest::Contains("4 tasks with ids from 3 to 9"), Error);
}

TEST_CASE("a record that is not whole is no division") {
  const std::string text = division_text({16, {0, 1, 15}, 1});
  for (std::size_t i = 0; i < text.size(); ++i) {
    CAPTURE(i);
    std::string damaged = text;
    damaged[i] ^= 1;
    CHECK_FALSE(parse_division(damaged));
    CHECK_FALSE(parse_division(text.substr(0, i)));
  }
}

TEST_CASE("a step inside an array task divides that task's part") {
  CHECK(automatic({{"SLURM_ARRAY_TASK_ID", "1"},
                   {"SLURM_ARRAY_TASK_MIN", "0"},
                   {"SLURM_ARRAY_TASK_COUNT", "2"},
                   {"SLURM_PROCID", "2"},
                   {"SLURM_NTASKS", "4"}}) == Part{6, 8});
}

TEST_CASE("a batch script's task count is not taken for a step's") {
  const std::map<std::string, std::string> batch{{"SLURM_JOB_ID", "9"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
  CHECK_THROWS_WITH_AS(automatic(batch), doctest::Contains("srun"), Error);
  auto in_array = batch;
  in_array.insert({{"SLURM_ARRAY_TASK_ID", "1"}, {"SLURM_ARRAY_TASK_COUNT", "2"}});
  CHECK(automatic(in_array) == Part{1, 2});
  auto in_step = batch;
  in_step.insert({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "3"}});
  CHECK(automatic(in_step) == Part{0, 3});
}

TEST_CASE("Open MPI's variables win over Slurm's, which are wrong under mpirun") {
  CHECK(automatic({{"OMPI_COMM_WORLD_RANK", "1"},
                   {"OMPI_COMM_WORLD_SIZE", "2"},
                   {"SLURM_PROCID", "0"},
                   {"SLURM_NTASKS", "1"}}) == Part{1, 2});
}

TEST_CASE("PMI, torchrun and plain Slurm steps are understood") {
  CHECK(automatic({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}) == Part{1, 3});
  CHECK(automatic({{"RANK", "1"}, {"WORLD_SIZE", "3"}}) == Part{1, 3});
  CHECK(automatic({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}}) == Part{1, 3});
}

TEST_CASE("Flux: ranks of a job, and jobs that --cc made") {
  CHECK(automatic({{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "4"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}) ==
        Part{1, 4});
  CHECK(automatic({{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "1"}, {"FLUX_JOB_CC", "3"}}, 16) == Part{3, 16});
  CHECK(automatic({{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "2"}, {"FLUX_JOB_CC", "3"}}, 16) == Part{7, 16});
  CHECK_THROWS_WITH_AS(automatic({{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "3"}, {"FLUX_JOB_CC", "3"}}, 16),
                       doctest::Contains("16 parts do not divide into array tasks of 3 processes"), Error);
}

TEST_CASE("schedulers that report only the number of the task need the number of parts") {
  struct Row {
    const char* scheduler;
    const char* variable;
    int first;  ///< id of the first task
  };
  for (const auto& [scheduler, variable, first] :
       {Row{"OpenPBS", "PBS_ARRAY_INDEX", 0}, Row{"TORQUE", "PBS_ARRAYID", 0}, Row{"LSF", "LSB_JOBINDEX", 1},
        Row{"Kubernetes", "JOB_COMPLETION_INDEX", 0}, Row{"Volcano", "VC_TASK_INDEX", 0},
        Row{"Volcano, earlier", "VK_TASK_INDEX", 0}}) {
    CAPTURE(scheduler);
    CHECK(automatic({{variable, std::to_string(first)}}, 5) == Part{0, 5});
    CHECK(automatic({{variable, std::to_string(first + 4)}}, 5) == Part{4, 5});
    CHECK_THROWS_AS(automatic({{variable, std::to_string(first + 5)}}, 5), Error);
    CHECK_THROWS_WITH_AS(automatic({{variable, "2"}}), doctest::Contains("add --parts N"), Error);
  }
}

TEST_CASE("AWS Batch reports the number of the child job and of all") {
  CHECK(automatic({{"AWS_BATCH_JOB_ARRAY_INDEX", "2"}, {"AWS_BATCH_JOB_ARRAY_SIZE", "5"}}) == Part{2, 5});
  CHECK(automatic({{"AWS_BATCH_JOB_ARRAY_INDEX", "2"}}, 5) == Part{2, 5});
}

TEST_CASE("LSF sets its index to 0 outside of arrays") {
  CHECK(automatic({{"LSB_JOBINDEX", "0"}, {"RANK", "1"}, {"WORLD_SIZE", "3"}}) == Part{1, 3});
}

TEST_CASE("nothing set, or nonsense, is said and not guessed") {
  CHECK_THROWS_AS(automatic({}), Error);
  CHECK_THROWS_AS(automatic({{"RANK", "x"}, {"WORLD_SIZE", "3"}}), Error);
  CHECK_THROWS_AS(automatic({{"SLURM_ARRAY_TASK_ID", "7"}}), Error);
}

TEST_CASE("the parts cover all shards once") {
  for (const std::uint64_t count : {1, 2, 3, 7, 20}) {
    std::size_t next = 0;
    for (std::uint64_t index = 0; index < count; ++index) {
      const auto [begin, end] = shards_of({index, count}, 13);
      CHECK(begin == next);
      CHECK(end - begin <= 13 / count + 1);
      next = end;
    }
    CHECK(next == 13);
  }
}
