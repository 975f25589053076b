#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/decode/decode.hpp"
#include "bench/env/env.hpp"
#include "bench/input/input_files.hpp"
#include "bench/machine/cache_state.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/model/model.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"
#include "bench/torch/calibration.hpp"
#include "bench/torch/loader_advice.hpp"
#include "bench/torch/loader_costs.hpp"
#include "bench/transfer/transfer.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "core/fields.hpp"
#include "stats/comparison.hpp"

/// `iobench run`: the whole ladder on one node, ending in a verdict. With --repeat, several repetitions and their
/// statistics.
namespace shardkit::bench {

struct RunOptions;
struct RunResult;

/// Reading with more reads in flight than the job's loader has.
struct MoreReaders {
  std::uint64_t readers = 0;
  double samples_per_second = 0;
  double bytes_per_second = 0;

  void describe(FieldList& v);
};

/// Measurements on a node, per sample of the data, and the rates that follow; docs/explain/model.md has the formulas.
struct MeasuredNode {
  double cores = 1;                 ///< shared by all stages; a control group may allow a fraction of one
  std::optional<double> cpu_limit;  ///< of the control group, if any
  double threads = 1;               ///< that decoded and augmented
  double sample_bytes = 0;          ///< mean stored size
  double read_bytes_per_second = 0;
  std::optional<stats::Interval> read_interval;  ///< of that
  double readers = 1;                            ///< reads in flight
  std::optional<MoreReaders> more_readers;
  double read_cpu_seconds = 0;  ///< CPU time per sample
  CacheState cache_state = CacheState::none;
  std::optional<double> decode_samples_per_second;
  std::optional<stats::Interval> decode_interval;
  double decode_cpu_seconds = 0;  ///< CPU time per sample
  std::optional<double> augment_samples_per_second;
  std::optional<stats::Interval> augment_interval;
  double augment_cpu_seconds = 0;                     ///< CPU time per sample
  std::optional<double> pipeline_samples_per_second;  ///< of all stages at once
  std::optional<stats::Interval> pipeline_interval;   ///< of repetitions; absent for one
  std::string pipeline_stage;                         ///< its bottleneck, from where its threads spent their time
  std::optional<double> transfer_bytes_per_second;    ///< pinned host memory to the slowest GPU
  std::optional<stats::Interval> transfer_interval;   ///< of that
  std::uint64_t transfer_gpus = 0;                    ///< GPUs that were measured
  double transfer_copy_bytes = 0;                     ///< of one copy
  double megapixels = 0;                              ///< mean stored size of an image
  std::uint64_t crop = 224;                           ///< width and height after decoding
  std::optional<double> file_costs_ratio;             ///< for image files: FileCosts::other_ratio
  SampleWork sample_work;                             ///< of PyTorch's loader
  LoaderReads loader_reads;
  std::optional<Calibration> calibration;
  Neighbors neighbors;
};

/// The medians of several repetitions, each value separately, with the 95 % intervals of the rates over the
/// repetitions. Values that one of them lacks are left out; constant ones are those of the first. Requires at least one
/// repetition.
MeasuredNode median_node(std::span<const MeasuredNode> repetitions);

/// Workloads other than JPEGs are compared with the bytes of storage, whatever the files contain.
bool decodes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// Sample size of the job: that of the data, or the preset's if its samples are not images.
double sample_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// Size of a sample in memory and on its way to the GPU: `tensor_bytes` if it is decoded (per pixel for whole images),
/// else its stored size.
double decoded_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                     std::uint64_t tensor_bytes);

/// Rate of copying to the job's GPUs, or to the measured ones without a job: each has its own link. Empty if it was not
/// measured.
std::optional<StageRate> transfer_rate(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                                       std::uint64_t tensor_bytes);

/// Reading first, then the threads that decode and augment, named by the slower of both. Their rate is limited by the
/// cores that all stages share, and by these threads, which do both one after the other.
std::vector<StageRate> stage_rates(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// A pipeline reads through the page cache. With direct reading it measures storage only if it found the cache empty.
bool reads_storage_too(const ReadResult& read, const PipelineResult& pipeline);

/// Conclusion about the node from the stages of a run. Pure.
MeasuredNode measured_node(const RunResult& result, const RunOptions& options);

/// Settings of the job's loader, and what it has to work with.
struct LoaderOptions {
  std::optional<std::uint64_t> workers{};  ///< per GPU; empty: the best number
  std::uint64_t prefetch = 2;
  std::uint64_t tensor_bytes = 0;  ///< of a decoded image; of a pixel for whole images
  std::uint64_t batch = 256;       ///< without a job
  bool force_verdict = false;      ///< also if others disturbed the measurement
  image::TensorType dtype = image::TensorType::f32;
  LoaderData data{};
  LoaderLimits limits{};
  std::vector<std::string> operands{};  ///< of the data, for commands
};

struct LadderRow {
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
  std::string text;    ///< one line
  std::string remedy;  ///< what would close the gap; empty if there is none

  void describe(FieldList& v);
};

struct Conclusion {
  std::optional<RunRequirement> requirement;
  PredictedSupply predicted;
  std::string feeds;  ///< GPUs of published workloads; empty with a requirement, and if decoding was not measured
  std::vector<LadderRow> ladder;
  std::vector<PresetRow> presets;  ///< only without a requirement
  LoaderAdvice loader;
  Verdict verdict;
};

/// Whether data came from the page cache, so that storage was not measured.
bool from_memory(const MeasuredNode& node);

Conclusion conclude(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                    const LoaderOptions& loader);

/// The GPUs that a run copies to; if there is none, with the reason. Borrowed.
struct RunGpus {
  TransferMachine machine;
  std::string missing;
};

/// What to copy.
struct BatchCopies {
  std::uint64_t gpus = 1;   ///< maximum number of the available GPUs
  std::uint64_t batch = 1;  ///< samples of one GPU's batch
  double sample_bytes = 0;  ///< size on the bus
  double seconds = 0;       ///< approximate time for all GPUs together
};

/// Copies of the job's batches to the GPUs, one GPU at a time, from pinned memory of its own NUMA node.
struct TransferStage {
  bool measured = false;
  std::string text;
  std::string gpu;
  std::uint64_t gpus = 0;
  std::uint64_t batch = 0;
  double sample_bytes = 0;
  std::uint64_t copy_bytes = 0;
  std::optional<double> pinned_h2d;
  std::optional<stats::Interval> interval;
  std::vector<TransferDevice> devices;
  std::vector<TransferRow> rows;

  void describe(FieldList& v);
};

/// Copies batches and parts of them to one GPU after the other, and checks every byte. A reason for not measuring is in
/// the result, with a warning if there are GPUs. Throws only Error{cancelled}, and Error{corrupt} if bytes arrive
/// wrong.
TransferStage measure_transfer(const RunGpus& gpus, const BatchCopies& wanted, Context& context);

/// The values of a stage's result for one repetition, with the same names, so that compare finds both.
struct ReadStageRepetition {
  double bytes_per_second = 0;
  std::optional<double> samples_per_second;
  stats::LatencyQuantiles latency;
  CacheState cache_state = CacheState::none;

  void describe(FieldList& v);
};

struct DecodeRepetition {
  double samples_per_second = 0;
  double samples_per_second_per_core = 0;

  void describe(FieldList& v);
};

/// Of all stages together: measured, or predicted.
struct SamplesRepetition {
  double samples_per_second = 0;

  void describe(FieldList& v);
};

struct TransferRepetition {
  double pinned_h2d = 0;

  void describe(FieldList& v);
};

/// One repetition of all stages.
struct Repetition {
  ReadStageRepetition read;
  std::optional<DecodeRepetition> decode;
  std::optional<SamplesRepetition> pipeline;
  std::optional<TransferRepetition> transfer;
  SamplesRepetition predicted;

  void describe(FieldList& v);
};

/// The repetitions, counted from 1, that provide the stages of a result: those with the median rate.
struct ShownRepetitions {
  std::uint64_t read = 1;
  std::optional<std::uint64_t> decode;
  std::optional<std::uint64_t> pipeline;
  std::optional<std::uint64_t> transfer;

  void describe(FieldList& v);
};

/// A metric over all repetitions.
struct RepeatedMetric {
  std::string metric;  ///< as compare names it
  double median = 0;
  double low = 0;  ///< of the median's 95 % interval (stats/summary.hpp)
  double high = 0;
  std::optional<stats::Interval> next;
  std::string text;

  void describe(FieldList& v);
};

Repetition repetition_of(const ReadResult& read, const std::optional<DecodeResult>& decode,
                         const std::optional<PipelineResult>& pipeline, const TransferStage& transfer,
                         double predicted_samples);

/// One row per metric that all repetitions have.
std::vector<RepeatedMetric> repeated_metrics(std::span<const Repetition> repetitions);

/// The repetition with the median rate: the lower of the two in the middle for an even number. Requires at least one
/// rate.
std::size_t median_repetition(std::span<const double> rates);

/// Advice of the pipeline (bench/pipeline/pipeline_verdict.hpp) with run's options instead of the pipeline's; advice
/// without such an option is left out. Pure.
std::vector<std::string> in_words_of_run(std::vector<std::string> advice);

/// Of the budget after listing, which measure_stages() leaves for copying batches to the GPUs.
inline constexpr double kShareForTransfer = 0.04;

/// Measures the stages once, each within its share of options.budget, into `result`: reading, decoding and augmenting,
/// reading like PyTorch's loader, then all as a pipeline. `input` is spread. `cores` are available. Throws
/// Error{not_found} if there are no samples, or no JPEGs for a preset that needs them, Error{corrupt} if none of the
/// job's images can be decoded, Error{usage} if no complete one was read in time.
void measure_stages(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context,
                    RunResult& result);

/// Page cache state to read from.
enum class RunCache {
  automatic,  ///< the first available of cold, direct, warm, any
  cold,
  direct,  ///< bypass it with O_DIRECT: storage is measured whatever the cache contains
  warm,
  any,
};
constexpr auto enum_names(RunCache) {
  return std::to_array<std::string_view>({"auto", "cold", "direct", "warm", "any"});
}

struct RunOptions : JobOptions {
  std::vector<std::string> paths;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> workers;
  std::uint64_t prefetch = 2;
  std::uint64_t crop = 224;
  image::TensorType dtype = image::TensorType::f32;
  RunCache cache = RunCache::automatic;
  double budget = 60;
  std::uint64_t repeat = 1;
  bool force_verdict = false;
  std::optional<std::string> python;
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

struct RunResult {
  Environment environment;
  ReadResult read;
  std::optional<DecodeResult> decode;      ///< empty if the data contains no images
  std::optional<PipelineResult> pipeline;  ///< empty if nothing is decoded, or whole images are
  std::optional<MoreReaders> more_readers;
  std::optional<FileCosts> file_costs;     ///< for files that are not shards
  std::optional<Calibration> calibration;  ///< with --python
  std::optional<LoaderData> loader_data;   ///< once looked at; not in the result, but `conclusion` has what follows
  SampleWork sample_work;
  LoaderReads loader_reads;
  TransferStage transfer;
  Neighbors neighbors;
  Conclusion conclusion;                              ///< its members are in the result next to the stages
  std::vector<RepeatedMetric> repeated;               ///< with --repeat: each metric over all repetitions
  std::optional<ShownRepetitions> shown_repetitions;  ///< with --repeat: the repetitions of read, decode and pipeline
  std::vector<Repetition> repetitions;                ///< with --repeat: values of each repetition
  std::string command;                                ///< command that repeats it
  bool interrupted = false;                           ///< then only the stages or repetitions before are in the result
  std::optional<Error> failure;                       ///< of a repetition after the first, like `interrupted`

  /// True if a requirement was given and missed.
  bool has_findings() const { return !conclusion.verdict.ok.value_or(true); }
  /// Throws `failure`, and Error{in_use} if a requirement was missed while others disturbed the measurement.
  void throw_if_failed() const;
  void describe(FieldList& v);
};

/// Measures for `budget` seconds with as many files as that allows, spread over all; it may take two seconds longer.
/// With `repeat`, it repeats this from the same cache state as the first time. Ladder and verdict then use the medians
/// over all repetitions, while each stage in the result is from the one with its median rate (`shown_repetitions`).
/// Without a requirement it reports how many GPUs of each preset the node feeds.
RunResult run(const RunOptions& options, Context& context);
/// The same with other GPUs than those of CUDA.
RunResult run(const RunOptions& options, const RunGpus& gpus, Context& context);

/// Warns once for all repetitions if the pipeline of one made too few steps for a rate, so that the ladder has none.
void warn_of_steps(std::span<const RunResult> repetitions, Context& context);

}  // namespace shardkit::bench
