#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/input/input_files.hpp"
#include "bench/input/jpeg_store.hpp"
#include "bench/machine/cache_state.hpp"
#include "bench/machine/gpu_machine.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/step_loop.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// `iobench pipeline`: reading, decoding, augmenting, batching and copying at once, with emulated training steps.
namespace shardkit::bench {

/// Where samples are flipped, normalized and laid out: where they were decoded, and on some rungs of the ladder on the
/// GPU after decoding on the CPU.
enum class NormalizeKind { cpu, gpu };
constexpr auto enum_names(NormalizeKind) { return std::to_array<std::string_view>({"cpu", "gpu"}); }

/// The value of --device with which batches stay in host memory.
inline constexpr std::string_view kNoDevice = "none";

/// The verb whose options advice and errors name.
enum class AdvisedVerb { pipeline, run };

struct PipelineOptions {
  std::vector<std::string> paths;
  std::optional<std::string> preset;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::optional<double> step_time;
  std::uint64_t epochs = 1;
  std::string prefetch = "2";
  std::optional<std::uint64_t> workers;
  CacheRequest cache = CacheRequest::any;
  DecodeKind backend = DecodeKind::cpu;
  std::uint64_t crop = 224;
  image::TensorType dtype = image::TensorType::f32;
  std::string device;  ///< GPU numbers separated by commas; empty: the first ones, if any; kNoDevice: none
  StepKind step = StepKind::emulated;
  bool ladder = false;
  std::optional<std::uint64_t> samples;
  std::optional<double> budget;
  std::optional<std::string> trace;
  catalog::StoreAccess access = {};
  std::optional<std::uint64_t> readers = {};  ///< threads; empty: at most 4 for shards, 16 for files
  bool pinned = true;                         ///< host memory for GPU copies; pageable only on a rung of the ladder
  bool normalize_on_gpu = false;              ///< after decoding on the CPU; only on rungs of the ladder
  AdvisedVerb advised = AdvisedVerb::pipeline;

  void describe(FieldList& v);
};

/// Of the time of a stage's threads; the three shares add up to 1.
struct StageRow {
  std::string name;
  std::uint64_t threads = 0;
  double busy_ratio = 0;
  double starved_ratio = 0;
  double blocked_ratio = 0;
  double cpu_seconds_per_sample = 0;

  void describe(FieldList& v);
};

struct EpochRow {
  std::uint64_t epoch = 0;  ///< from 1
  std::optional<double> residency_before_ratio;
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  double samples_per_second = 0;
  double first_batch_seconds = 0;
  std::optional<double> stall_ratio;
  std::optional<double> boundary_stall_seconds;  ///< absent for the first

  void describe(FieldList& v);
};

/// The same pipeline with another prefetch.
struct PrefetchRow {
  std::uint64_t prefetch = 0;
  double samples_per_second = 0;
  BatchLatency batch_latency;
  std::optional<double> stall_ratio;
  std::optional<double> au_ratio;
  std::string limiting_stage;

  void describe(FieldList& v);
};

/// Cost of the pipeline if nothing is read, decoded or computed.
struct ToolOverhead {
  double samples_per_second = 0;
  double cpu_seconds_per_sample = 0;
  double cpu_seconds_per_batch = 0;
  double share_ratio = 0;
  double step_late_mean = 0;
  double step_late_max = 0;

  void describe(FieldList& v);
};

/// What was copied to GPUs.
struct CopyReport {
  std::vector<std::string> devices;
  bool pinned = false;
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
  std::optional<double> bytes_per_second;

  void describe(FieldList& v);
};

/// Samples in batches by decoder, if the GPU decodes.
struct JpegReport : JpegPaths {
  std::string decoder;
  double gpu_ratio = 0;
  double busy_ratio = 0;

  void describe(FieldList& v);
};

/// A rung of the ladder, from a naive loader to one in which all stages overlap.
struct PipelineRung {
  std::string rung;
  std::optional<std::string> missing;  ///< why it was not measured; then the rest is empty
  bool pinned = false;
  std::uint64_t prefetch = 0;
  DecodeKind decode = DecodeKind::cpu;
  NormalizeKind normalize = NormalizeKind::cpu;
  std::optional<double> samples_per_second;
  std::optional<double> factor;
  std::optional<double> stall_ratio;
  std::optional<double> au_ratio;
  std::optional<double> process_cpu_seconds_per_sample;
  std::string limiting_stage;

  void describe(FieldList& v);
};

struct TraceReport {
  std::string file;
  std::uint64_t events = 0;
  std::uint64_t dropped = 0;

  void describe(FieldList& v);
};

/// The bottleneck.
struct PipelineVerdict {
  std::string limiting_stage;
  std::string reason;               ///< one line
  std::vector<std::string> advice;  ///< settings that would help

  void describe(FieldList& v);
};

/// What was run.
struct PipelineTerms {
  SourceForm source = SourceForm::shards;
  std::uint64_t files = 0;
  DecodeKind decode = DecodeKind::cpu;
  SinkKind sink = SinkKind::host;
  NormalizeKind normalize = NormalizeKind::cpu;
  std::uint64_t gpus = 1;
  std::uint64_t batch = 0;
  StepKind step = StepKind::emulated;
  double step_seconds = 0;
  std::uint64_t prefetch = 0;
  std::uint64_t readers = 0;
  std::uint64_t workers = 0;
  std::uint64_t crop = 0;
  image::TensorType dtype = image::TensorType::f32;
  double batch_memory = 0;

  void describe(FieldList& v);
};

/// Samples used by training steps, over all epochs.
struct PipelineRates {
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  std::optional<double> required_samples_per_second;
  double samples_per_second = 0;
  double bytes_per_second = 0;
  double mean_sample = 0;
  BatchLatency batch_latency;
  double first_batch_seconds = 0;
  std::optional<double> stall_ratio;
  std::optional<double> au_ratio;

  void describe(FieldList& v);
};

/// Steps for the rate of a pipeline; the first one only fills it.
inline constexpr std::uint64_t kLeastSteps = 5;

struct PipelineResult : PipelineVerdict, PipelineTerms, PipelineRates {
  std::vector<StageRow> stages;
  double cpu_seconds_per_sample = 0;
  double process_cpu_seconds_per_sample = 0;
  std::vector<EpochRow> epochs;
  std::vector<PrefetchRow> prefetches;
  std::vector<PipelineRung> ladder;
  CacheReport cache;
  std::optional<CopyReport> copies;
  std::optional<JpegReport> jpegs;
  DecodeFailures failures;
  std::uint64_t images_tried = 0;
  ToolOverhead overhead;
  std::optional<TraceReport> trace;
  Neighbors neighbors;       ///< while the last value of --prefetch was measured
  bool interrupted = false;  ///< then the rates are those until the stop

  void describe(FieldList& v);
};

/// Runs the pipeline once for each value of --prefetch, and once more without checkpoints if there are some; or once
/// for each rung of --ladder. Values that are not listed by prefetch or rung are from the last measured one. Writes
/// only checkpoints, which it removes, and the trace. Throws Error{usage, not_found, corrupt, no_space, unsupported,
/// io}; unsupported if a requested GPU is not available.
PipelineResult pipeline(const PipelineOptions& options, Context& context);
/// The same for an existing input; options.paths is ignored.
PipelineResult pipeline(const PipelineOptions& options, const InputSet& input, Context& context);
/// The same with these GPUs; options.device decides whether they are used. Without any, batches stay in host memory.
PipelineResult pipeline(const PipelineOptions& options, const InputSet& input, const GpuMachine& machine,
                        Context& context);

}  // namespace shardkit::bench
