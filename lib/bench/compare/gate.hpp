#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/measurements.hpp"
#include "core/fields.hpp"

/// The requirements of a fleet.
namespace shardkit::bench {

enum class GateVerdict {
  met,
  missed,
  inconclusive,  ///< the interval of the median contains the limit, or most runs were disturbed
  absent,        ///< not judged: not measured, or not in an accepted cache state
};
constexpr auto enum_names(GateVerdict) {
  return std::to_array<std::string_view>({"met", "missed", "inconclusive", "absent"});
}

/// The page cache states that a requirement can accept.
inline constexpr std::array<std::string_view, 6> kGateCacheStates{"cold",  "client-cold", "warm",
                                                                  "mixed", "direct",      "unknown"};

struct GateRequirement {
  std::string metric;
  std::optional<double> min;
  std::optional<double> max;
  std::vector<std::string> cache;  ///< accepted states; empty: any
};

/// A requirement and its outcome.
struct GateRow : GateRequirement {
  std::string accepted;            ///< the cache states: "cold or direct"
  std::optional<double> measured;  ///< the median
  GateVerdict verdict = GateVerdict::absent;
  std::string text;

  void describe(FieldList& v);
};

/// Reads {"schema":"shardkit/gate","schema_version":1,"requirements":[{"metric","min","max","cache"}]}. "cache" is
/// a state or a list of states. Limits are numbers, or sizes and rates as texts: "1.5GB/s". Throws Error{usage} with
/// the number of the wrong requirement, also for unknown metrics and members. docs/schema/gate.json describes the same.
std::vector<GateRequirement> read_gate(const std::string& path);

/// Compares an interval of each metric with its limits: met if all of it is good, missed if all of it is on the wrong
/// side, else inconclusive. With 6 runs or more, it is the 95 % interval of their median. With fewer, it is that of all
/// repetitions if there are 6, and at least kDriftBetweenRuns to each side of the median. Disturbed runs are left out;
/// if they are more than half, nothing is missed. A metric that is absent, but of whose stage there are others, is
/// missed.
std::vector<GateRow> check_gate(const std::vector<GateRequirement>& requirements, const Measurements& measured);

}  // namespace shardkit::bench
