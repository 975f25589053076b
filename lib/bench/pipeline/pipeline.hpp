#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/decode/decode_failures.hpp"
#include "bench/input/input_files.hpp"
#include "bench/pipeline/loader.hpp"
#include "bench/pipeline/step_log.hpp"
#include "bench/read/cache_state.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// `iobench pipeline`: reading, decoding, augmenting, batching and handing over at once, beside an emulated step.
namespace shardkit {

enum class SourceKind {
  data,
  null,  ///< no images at all: what is left is the tool's own work
};
template <>
struct EnumNames<SourceKind> {
  static constexpr std::array<std::string_view, 2> names{"data", "null"};
};

struct PipelineOptions {
  std::vector<std::string> paths;
  std::optional<std::string> preset;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::optional<double> step_time;
  std::uint64_t epochs = 1;
  std::string prefetch = "2";
  std::optional<std::uint64_t> workers;
  std::optional<std::uint64_t> readers;
  std::uint64_t shuffle_buffer = 0;
  CacheRequest cache = CacheRequest::any;
  SourceKind source = SourceKind::data;
  DecodeKind decode = DecodeKind::cpu;
  std::uint64_t crop = 224;
  TensorType dtype = TensorType::f32;
  TensorLayout layout = TensorLayout::nchw;
  bool drop_last = false;
  std::optional<std::uint64_t> samples;
  std::optional<double> budget;
  std::optional<std::uint64_t> checkpoint_every;
  std::optional<std::uint64_t> checkpoint_bytes;
  std::string checkpoint_dir = ".";
  std::optional<std::string> trace;
  std::uint64_t seed = 0;

  void describe(FieldVisitor& v);
};

/// Of a stage's threads' time; the three shares sum up to 1.
struct StageRow {
  std::string name;
  std::uint64_t threads = 0;
  double busy_ratio = 0;
  double starved_ratio = 0;
  double blocked_ratio = 0;
  double cpu_seconds_per_sample = 0;

  void describe(FieldVisitor& v);
};

struct EpochRow {
  std::uint64_t epoch = 0;  ///< from 1
  std::optional<double> residency_before_ratio;
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  double samples_per_second = 0;
  double first_batch_seconds = 0;
  std::optional<double> stall_ratio;
  std::optional<double> boundary_stall_seconds;  ///< none for the first

  void describe(FieldVisitor& v);
};

/// The same pipeline with another prefetch.
struct PrefetchRow {
  std::uint64_t prefetch = 0;
  double samples_per_second = 0;
  BatchLatency batch_latency;
  std::optional<double> stall_ratio;
  std::optional<double> au_ratio;
  std::string limiting_stage;

  void describe(FieldVisitor& v);
};

/// What the pipeline costs when nothing is read, decoded or computed.
struct ToolOverhead {
  double samples_per_second = 0;
  double cpu_seconds_per_sample = 0;
  double cpu_seconds_per_batch = 0;
  double share_ratio = 0;
  double step_late_mean = 0;
  double step_late_max = 0;

  void describe(FieldVisitor& v);
};

struct CheckpointInterference {
  std::uint64_t every = 0;
  double bytes = 0;
  std::uint64_t written = 0;
  double mean_seconds = 0;
  double max_seconds = 0;
  double bytes_per_second = 0;
  double share_ratio = 0;
  double samples_per_second_with = 0;
  double samples_per_second_without = 0;
  double lost_ratio = 0;

  void describe(FieldVisitor& v);
};

struct TraceReport {
  std::string file;
  std::uint64_t events = 0;
  std::uint64_t dropped = 0;

  void describe(FieldVisitor& v);
};

struct PipelineResult {
  std::string limiting_stage;
  std::string reason;
  std::vector<std::string> advice;
  std::string source;  ///< shards, files or null
  std::uint64_t files = 0;
  DecodeKind decode = DecodeKind::cpu;
  std::string sink;
  std::uint64_t gpus = 1;
  std::uint64_t batch = 0;
  double step_seconds = 0;
  std::uint64_t prefetch = 0;
  std::uint64_t readers = 0;
  std::uint64_t workers = 0;
  std::uint64_t crop = 0;
  TensorType dtype = TensorType::f32;
  TensorLayout layout = TensorLayout::nchw;
  double batch_memory = 0;
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  std::uint64_t samples_dropped = 0;
  std::optional<double> required_samples_per_second;
  double samples_per_second = 0;
  double bytes_per_second = 0;
  double mean_sample = 0;
  BatchLatency batch_latency;
  double first_batch_seconds = 0;
  std::optional<double> stall_ratio;
  std::optional<double> au_ratio;
  std::vector<StageRow> stages;
  double cpu_seconds_per_sample = 0;
  std::vector<EpochRow> epochs;
  std::vector<PrefetchRow> prefetches;
  CacheReport cache;
  DecodeFailures failures;
  ToolOverhead overhead;
  std::optional<CheckpointInterference> checkpoint;
  std::optional<TraceReport> trace;

  void describe(FieldVisitor& v);
};

/// Runs the pipeline once for each value of --prefetch, and once more without checkpoints when there are some. What is
/// not listed by prefetch is of the last value. Writes nothing but checkpoints, which it removes, and the trace. Throws
/// Error{usage, not_found, corrupt, no_space, unsupported, io}.
PipelineResult pipeline(const PipelineOptions& options, Context& context);
/// The same over an input that was found already; options.paths is not looked at.
PipelineResult pipeline(const PipelineOptions& options, const InputSet& input, Context& context);

}  // namespace shardkit
