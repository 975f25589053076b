#pragma once

#include <string>

namespace shardkit::system {

/// The node's name for its scheduler: SLURMD_NODENAME, else NODE_NAME (a Kubernetes convention), else the host name.
std::string node_name();

}  // namespace shardkit::system
