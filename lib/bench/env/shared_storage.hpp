#pragma once

#include <vector>

#include "bench/env/env.hpp"

namespace shardkit::bench {

/// Adds the findings about the NFS, Lustre, GPFS or FUSE mount of the data, and about the network to it.
void judge_shared_storage(const Environment& environment, std::vector<MachineFinding>& findings);

}  // namespace shardkit::bench
