#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "system/memory.hpp"

namespace shardkit::bench {

/// Which NUMA nodes host memory is to come from.
enum class NumaChoice { automatic, local, remote, both };
constexpr auto enum_names(NumaChoice) { return std::to_array<std::string_view>({"auto", "local", "remote", "both"}); }

/// Where it came from, as seen from the GPU.
enum class NumaPlace { unbound, local, remote };
constexpr auto enum_names(NumaPlace) { return std::to_array<std::string_view>({"unbound", "local", "remote"}); }

/// Where host memory is to come from.
struct Placement {
  NumaPlace place = NumaPlace::unbound;
  std::optional<std::uint64_t> node;
};

/// The places that --numa names, for a GPU that is nearest to `device_node`. Throws Error{unsupported} where local or
/// remote was asked for and the machine does not tell, or has one node; `both` and `automatic` take what there is, and
/// warn.
std::vector<Placement> placements(NumaChoice choice, std::optional<std::uint64_t> device_node,
                                  const system::Probe& probe, Context& context);

/// Runs the calling thread there, or throws Error{unsupported}; null for no place in particular. With
/// NumaChoice::automatic a refusal is a warning.
std::unique_ptr<system::NumaBinding> bind(Placement& placement, NumaChoice choice, const system::Probe& probe,
                                          Context& context);

}  // namespace shardkit::bench
