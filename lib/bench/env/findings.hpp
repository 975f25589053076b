#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/env/env.hpp"
#include "bench/results/result_file.hpp"

/// The rules by which a machine is judged. Each looks at one fact and says nothing where that fact is unknown. Pure
/// functions of what was seen.
namespace shardkit::bench {

/// All findings, the worst first, in the order of the rules where they are alike. `job`: how the loader is set up, when
/// that is known.
std::vector<Finding> find_findings(const Environment& environment, const std::optional<LoaderJob>& job);

/// Processors, memory, limits of the process and the container.
void judge_limits(const Environment& environment, const std::optional<LoaderJob>& job, std::vector<Finding>& findings);
void judge_memory(const Environment& environment, const std::optional<LoaderJob>& job, std::vector<Finding>& findings);
/// PCIe links, NUMA distance, GPUs and network cards.
void judge_devices(const Environment& environment, std::vector<Finding>& findings);
/// What the GPUs' driver says of clocks, power and modes.
void judge_gpus(const Environment& environment, std::vector<Finding>& findings);
/// What the data lies on.
void judge_storage(const Environment& environment, std::vector<Finding>& findings);
/// NFS, Lustre and FUSE mounts of the data, and the network to them.
void judge_remote_storage(const Environment& environment, std::vector<Finding>& findings);

}  // namespace shardkit::bench
