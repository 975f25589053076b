#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "system/probe.hpp"

namespace shardkit::dataset {

/// Part `index` of `count`; parts count from 0.
struct Part {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  bool operator==(const Part&) const = default;
};

/// Reads "I/N", or for "auto" what the scheduler says, in this order:
///   OMPI_COMM_WORLD_RANK, _SIZE (Open MPI; right also inside sbatch, where Slurm's own variables are not);
///   SLURM_ARRAY_TASK_ID, _MIN, _STEP, _COUNT, combined with SLURM_PROCID and SLURM_NTASKS inside a step;
///   SLURM_PROCID, SLURM_NTASKS;  PMI_RANK, PMI_SIZE;
///   JOB_COMPLETION_INDEX with N from `parts` (Kubernetes does not tell it);  RANK, WORLD_SIZE (torchrun).
/// Throws Error{usage} for text that is no part, when nothing says which part this is, or when `parts` contradicts it.
Part parse_part(const std::string& text, std::optional<std::uint64_t> parts,
                const system::EnvironmentLookup& environment);

/// The shards of a part: a contiguous run, [first, second) of `shards`; the runs of all parts differ by one at the
/// most.
std::pair<std::size_t, std::size_t> shards_of(const Part& part, std::size_t shards);

}  // namespace shardkit::dataset
