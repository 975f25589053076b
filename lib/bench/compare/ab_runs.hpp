#pragma once

#include "bench/compare/compare.hpp"
#include "bench/compare/measurements.hpp"
#include "core/context.hpp"

namespace shardkit::bench {

/// The environment variable with the path to which a command writes its result, an envelope as of --json.
inline constexpr const char* kResultVariable = "SHARDKIT_RESULT";

/// What both commands measured; the i-th runs of both sides are a pair.
struct AbMeasurements {
  AbRuns runs;
  Measurements base;
  Measurements changed;
};

/// Runs both commands with /bin/sh -c, as many times as there are pairs, in random order in each. Their output is shown
/// only if one fails: Error{conflict} with its exit status, also if it wrote no result. On a stop the processes of the
/// command are ended, and the pairs before it are returned; without any, throws Error{cancelled}.
AbMeasurements measure_ab(const CompareOptions& options, Context& context);

}  // namespace shardkit::bench
