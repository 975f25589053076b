#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "system/memory.hpp"

namespace shardkit::bench {

/// NUMA nodes to use for host memory.
enum class NumaChoice { automatic, local, remote, both };
constexpr auto enum_names(NumaChoice) { return std::to_array<std::string_view>({"auto", "local", "remote", "both"}); }

/// Location of host memory relative to the GPU.
enum class NumaLocation { unbound, local, remote };
constexpr auto enum_names(NumaLocation) { return std::to_array<std::string_view>({"unbound", "local", "remote"}); }

/// A NUMA node for host memory.
struct Placement {
  NumaLocation location = NumaLocation::unbound;
  std::optional<std::uint64_t> node;
};

/// The placements of --numa for a GPU nearest to `device_node`. Throws Error{unsupported} if local or remote is
/// requested but the machine does not report nodes, or has only one. `both` and `automatic` use what is available, and
/// warn.
std::vector<Placement> placements(NumaChoice choice, std::optional<std::uint64_t> device_node,
                                  const system::Probe& probe, Context& context);

/// Binds the calling thread to the node, or throws Error{unsupported}; null for no particular node. With
/// NumaChoice::automatic, a failure is only a warning.
std::unique_ptr<system::NumaBinding> bind(Placement& placement, NumaChoice choice, const system::Probe& probe,
                                          Context& context);

}  // namespace shardkit::bench
