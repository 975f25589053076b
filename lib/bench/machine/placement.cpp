#include "bench/machine/placement.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit::bench {
namespace {

constexpr const char* kUnknownNode = "/sys does not show which NUMA node is nearest to the GPU";

}  // namespace

std::vector<Placement> placements(NumaChoice choice, std::optional<std::uint64_t> device_node,
                                  const system::Probe& probe, Context& context) {
  const bool local = choice != NumaChoice::remote;
  const bool remote = choice == NumaChoice::remote || choice == NumaChoice::both;
  if (!device_node) {
    if (choice == NumaChoice::automatic) return {Placement{}};
    throw Error(ErrorCode::unsupported, fmt::format("--numa is not available: {}", kUnknownNode));
  }
  std::vector<Placement> nodes;
  if (local) nodes.push_back({NumaLocation::local, device_node});
  if (!remote) return nodes;
  if (const auto far = system::farthest_node(*device_node, probe)) {
    nodes.push_back({NumaLocation::remote, far});
  } else if (choice == NumaChoice::remote) {
    throw Error(ErrorCode::unsupported, "--numa remote: this machine has only one NUMA node");
  } else {
    context.warn("no_remote_node", "this machine has only one NUMA node: there is no remote memory to measure");
  }
  return nodes;
}

std::unique_ptr<system::NumaBinding> bind(Placement& placement, NumaChoice choice, const system::Probe& probe,
                                          Context& context) {
  if (!placement.node) return nullptr;
  std::unique_ptr<system::NumaBinding> binding;
  try {
    binding = std::make_unique<system::NumaBinding>(*placement.node, probe);
  } catch (const Error& error) {
    if (choice != NumaChoice::automatic) throw;
    context.warn("numa_not_bound", fmt::format("{}; host memory comes from any node", error.what()));
    placement = {};
    return nullptr;
  }
  if (!binding->binds_memory()) {
    context.warn("numa_memory_not_bound", fmt::format("set_mempolicy is not permitted, as in many containers: memory "
                                                      "of NUMA node {} is only likely, because the threads run there",
                                                      *placement.node));
  }
  return binding;
}

}  // namespace shardkit::bench
