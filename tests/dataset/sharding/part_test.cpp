#include <map>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/sharding/sharding_job.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

namespace {

Part automatic(std::map<std::string, std::string> variables, std::optional<std::uint64_t> parts = {}) {
  return parse_part("auto", parts,
                    [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
                      const auto found = variables.find(name);
                      if (found == variables.end()) return std::nullopt;
                      return found->second;
                    });
}

Part explicit_part(const std::string& text, std::optional<std::uint64_t> parts = {}) {
  return parse_part(text, parts, [](const std::string&) { return std::nullopt; });
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
  CHECK(automatic({{"SLURM_ARRAY_TASK_ID", "7"},
                   {"SLURM_ARRAY_TASK_MIN", "1"},
                   {"SLURM_ARRAY_TASK_STEP", "2"},
                   {"SLURM_ARRAY_TASK_COUNT", "4"}}) == Part{3, 4});
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

TEST_CASE("Kubernetes reports the index but not the count") {
  CHECK(automatic({{"JOB_COMPLETION_INDEX", "2"}}, 5) == Part{2, 5});
  CHECK_THROWS_AS(automatic({{"JOB_COMPLETION_INDEX", "2"}}), Error);
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
