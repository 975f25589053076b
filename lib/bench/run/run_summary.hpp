#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/model/model.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/run/measured_node.hpp"
#include "bench/torch/loader_advice.hpp"
#include "bench/torch/loader_data.hpp"
#include "core/fields.hpp"

/// What follows from a run: the table of stages, what the node feeds, and the verdict.
namespace shardkit::bench {

/// Settings of the job's loader, and what it has to work with.
struct LoaderOptions {
  LoaderBatches batches{};     ///< without a job; a sample is a decoded image, or a pixel for whole images
  bool force_verdict = false;  ///< also if others disturbed the measurement
  LoaderData data{};
  LoaderLimits limits{};
};

/// A row of the table of stages.
struct StageTableRow {
  std::string stage;
  std::optional<double> required_per_second;
  std::optional<double> measured_per_second;
  std::optional<stats::Interval> interval;  ///< of measured_per_second
  std::optional<double> headroom_ratio;
  std::string note;

  void describe(FieldList& v);
};

struct RunRequirement {
  std::optional<std::string> preset;
  std::uint64_t gpus = 1;
  double min_au_ratio = 1;
  double samples_per_second = 0;
  double bytes_per_second = 0;
  double h2d_bytes_per_second = 0;

  void describe(FieldList& v);
};

/// What the node feeds, as in the verdict: the rate of the pipeline if it was measured and no link is slower, else
/// predicted from each stage. The stages share the cores and are assumed to overlap.
struct PredictedSupply {
  double samples_per_second = 0;
  double bytes_per_second = 0;
  std::optional<double> of_measured_ratio;  ///< of the host's stages: predicted divided by measured
  std::optional<double> au_ratio;
  std::optional<double> au_serial_ratio;
  std::optional<std::uint64_t> gpus_fed;

  void describe(FieldList& v);
};

struct Verdict {
  std::optional<bool> ok = true;  ///< empty: undecided
  std::string limiting_stage;
  std::string text;                     ///< one line
  std::string remedy;                   ///< what would close the gap, or empty
  std::vector<std::string> notes = {};  ///< what `text` has no space for, a line each

  void describe(FieldList& v);
};

struct RunSummary {
  std::optional<RunRequirement> requirement;
  PredictedSupply predicted;
  std::vector<StageTableRow> stage_table;
  std::vector<PresetRow> presets;  ///< only without a requirement
  LoaderAdvice loader;
  Verdict verdict;
};

/// First the facts, then the sentences about them. Pure.
RunSummary summarize_run(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                         const LoaderOptions& loader);

}  // namespace shardkit::bench
