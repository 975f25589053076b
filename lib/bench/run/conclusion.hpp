#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/model/model.hpp"
#include "bench/requirement/job.hpp"
#include "bench/run/measured_node.hpp"
#include "core/fields.hpp"

/// From measured stages to a verdict: which one limits, by how much, and what would close the gap. Pure.
namespace shardkit::bench {

/// How the loader of the job is set up.
struct LoaderOptions {
  std::optional<std::uint64_t> workers;  ///< per GPU; empty: as many as it takes
  std::uint64_t prefetch = 2;
  std::uint64_t tensor_bytes = 0;  ///< of a decoded image; of a pixel where images stay whole
  std::uint64_t batch = 256;       ///< where no job says
};

struct LadderRow {
  std::string stage;
  std::optional<double> required_per_second;
  std::optional<double> measured_per_second;
  std::optional<RateInterval> interval;  ///< of measured_per_second
  std::optional<double> headroom_ratio;
  std::string note;

  void describe(FieldVisitor& v);
};

struct RunRequirement {
  std::optional<std::string> preset;
  std::uint64_t gpus = 1;
  double min_au_ratio = 1;
  double samples_per_second = 0;
  double bytes_per_second = 0;
  double h2d_bytes_per_second = 0;

  void describe(FieldVisitor& v);
};

/// What the stages give together. Predicted from each alone: their cores are shared, the overlap is assumed. The
/// utilisations are those of the pipeline's measured rate where there is one.
struct PredictedSupply {
  double samples_per_second = 0;
  double bytes_per_second = 0;
  std::optional<double> of_measured_ratio;  ///< of the host's stages: predicted over measured
  std::optional<double> au_ratio;
  std::optional<double> au_serial_ratio;
  std::optional<std::uint64_t> gpus_fed;

  void describe(FieldVisitor& v);
};

struct DataLoaderAdvice {
  std::string line;
  std::uint64_t workers = 0;
  double dev_shm_needed = 0;
  bool dev_shm_fits = true;

  void describe(FieldVisitor& v);
};

struct Verdict {
  bool ok = true;
  std::string limiting_stage;
  std::string text;    ///< one line
  std::string remedy;  ///< what would close the gap; empty when nothing is short

  void describe(FieldVisitor& v);
};

struct Conclusion {
  std::optional<RunRequirement> requirement;
  PredictedSupply predicted;
  std::vector<LadderRow> ladder;
  std::vector<PresetRow> presets;  ///< only without a requirement
  DataLoaderAdvice loader;
  Verdict verdict;
};

Conclusion conclude(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                    const LoaderOptions& loader);

}  // namespace shardkit::bench
