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
  std::optional<Rating> rating;       ///< of the job

  const StageRate& slowest_on_host() const;
  /// With a job: the samples per second that it needs.
  double demand() const;
  /// Those for its required utilization.
  double target() const;
};

/// How the value of a row of the table was measured or predicted.
std::string stage_note(std::string_view stage, const RunFacts& facts);

/// The verdict in a line. `ok` and `limiting_stage` of `summary.verdict` are known.
std::string verdict_text(const RunFacts& facts, const RunSummary& summary);

/// What would close the gap of a job that the node does not feed; if others disturbed the measurement, how to find out.
/// Empty for one that is fed.
std::string remedy_text(const RunFacts& facts, const Verdict& verdict);

}  // namespace shardkit::bench
