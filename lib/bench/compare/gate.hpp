#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/measurements.hpp"
#include "core/fields.hpp"

/// What a fleet asks of its nodes, whatever they gave before.
///
/// JSON Schemas of the files that compare reads and writes beside results; docs/schema holds them.
namespace shardkit::bench {

enum class GateVerdict {
  met,
  missed,
  inconclusive,  ///< the interval of the median holds the limit
  absent,        ///< not measured, or not in the state of the cache that the requirement is about
};
constexpr auto enum_names(GateVerdict) {
  return std::to_array<std::string_view>({"met", "missed", "inconclusive", "absent"});
}

/// The states of the page cache that a requirement may be about; empty: any.
inline constexpr std::array<std::string_view, 7> kGateCacheStates{"",      "cold",   "client-cold", "warm",
                                                                  "mixed", "direct", "unknown"};

struct GateRequirement {
  std::string metric;
  std::optional<double> min;
  std::optional<double> max;
  std::string cache;  ///< empty: whatever its state
};

/// A requirement and what came of it.
struct GateRow : GateRequirement {
  std::optional<double> measured;  ///< the median
  GateVerdict verdict = GateVerdict::absent;
  std::string text;

  void describe(FieldVisitor& v);
};

/// Reads {"schema":"shardkit/gate","schema_version":1,"requirements":[{"metric","min","max","cache"}]}; limits are
/// numbers, or sizes and rates as texts: "1.5GB/s". Throws Error{usage} that says which requirement is wrong and how,
/// for unknown metrics and members too.
std::vector<GateRequirement> read_gate(const std::string& path);

/// Holds the median of each metric against its limits. With 6 values and more the interval of the median (95 %)
/// decides: missed when all of it lies on the wrong side, inconclusive when only the median or only a part of it does.
/// With fewer values the median alone decides.
std::vector<GateRow> check_gate(const std::vector<GateRequirement>& requirements, const Measurements& measured);

/// Of what --gate takes: every file that fits can be read, but for limits given as texts that are no sizes.
std::string gate_schema();

/// Of what --save-baseline writes.
std::string baseline_schema();

}  // namespace shardkit::bench
