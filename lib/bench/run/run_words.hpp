#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/requirement/requirement.hpp"
#include "bench/run/measured_node.hpp"
#include "bench/run/run_summary.hpp"

/// The sentences of a run's summary. Pure.
namespace shardkit::bench {

/// What the summary is about. Borrowed.
struct RunFacts {
  const MeasuredNode& node;
  const std::optional<JobRequirement>& requirement;
  std::vector<StageRate> separate;    ///< of the host's stages, from measurements of each
  std::optional<StageRate> transfer;  ///< to the GPUs
  std::vector<StageRate> judged;      ///< for the verdict: with the pipeline's rate if it was measured; copies last
  std::optional<StageRate> loader;    ///< if --python measured its work
  std::optional<Rating> rating;       ///< of the job, by the stages and the loader

  const StageRate& slowest_on_host() const;
  /// Of a stage on cores that others use too; empty for one that takes less of them than another.
  std::optional<double> rate_with_others(std::string_view stage) const;
  /// With a job: the samples per second that it needs.
  double demand() const;
  /// Those for its required utilization.
  double target() const;
};

/// A calibrated loader may deliver so much more or less than predicted (docs/explain/model.md).
inline constexpr double kLoaderTolerance = 0.1;

/// How the value of a row of the table was measured or predicted.
std::string stage_note(std::string_view stage, const RunFacts& facts, const LoaderAdvice& loader);

/// The verdict in a line of at most 120 characters and three clauses: first the verdict, then what was not measured or
/// was disturbed. The rest are notes. `ok` and `limiting_stage` of `summary.verdict` are known.
void add_verdict_text(const RunFacts& facts, RunSummary& summary);

/// What would close the gap of a job that is not fed; if it is undecided, how to find out. Empty for one that is fed.
std::string remedy_text(const RunFacts& facts, const RunSummary& summary);

}  // namespace shardkit::bench
