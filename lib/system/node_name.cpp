#include "system/node_name.hpp"

#include "system/host.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

std::string node_name() {
  const EnvironmentLookup environment = process_environment();
  for (const char* name : {"SLURMD_NODENAME", "NODE_NAME"}) {
    if (const auto value = environment(name)) return *value;
  }
  return this_host().hostname;
}

}  // namespace shardkit::system
