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
#include "bench/model/model.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"
#include "bench/transfer/transfer.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "stats/comparison.hpp"

/// `iobench run`: the whole ladder on one node, ending in a verdict. With --repeat several turns of it, and what they
/// tell together.
namespace shardkit::bench {

struct RunOptions;
struct RunResult;

/// What was measured on a node, per sample of the data at hand, and the rates that follow from it; docs/model.md has
/// the formulas.
struct MeasuredNode {
  double cores = 1;                 ///< that all stages share; a control group may allow parts of one
  std::optional<double> cpu_limit;  ///< of the control group, where there is one
  double threads = 1;               ///< that decoded and augmented
  double sample_bytes = 0;          ///< mean stored size
  double read_bytes_per_second = 0;
  std::optional<RateInterval> read_interval;  ///< of that
  double read_cpu_seconds = 0;                ///< processor time per sample
  CacheState cache_state = CacheState::none;
  std::optional<double> decode_samples_per_second;
  std::optional<RateInterval> decode_interval;
  double decode_cpu_seconds = 0;  ///< processor time per sample
  std::optional<double> augment_samples_per_second;
  std::optional<RateInterval> augment_interval;
  double augment_cpu_seconds = 0;                     ///< processor time per sample
  std::optional<double> pipeline_samples_per_second;  ///< of all stages at once
  std::optional<RateInterval> pipeline_interval;      ///< of repetitions; one has none
  std::optional<double> transfer_bytes_per_second;    ///< pinned host memory to one GPU, the slowest
  std::optional<RateInterval> transfer_interval;      ///< of that
  std::uint64_t transfer_gpus = 0;                    ///< GPUs that were measured
  double transfer_copy_bytes = 0;                     ///< of one copy
  double megapixels = 0;                              ///< of an image as stored, mean
  std::uint64_t crop = 224;                           ///< side that is decoded for
  std::optional<double> shards_gain_ratio;            ///< of image files: FileCosts
  std::optional<std::uint64_t> dev_shm;
};

/// The medians of several turns, each number by itself, with the 95 % intervals of the rates over the turns. What one
/// of them lacks is left out; what does not vary is the first one's. Not for no turns.
MeasuredNode median_node(std::span<const MeasuredNode> turns);

/// Workloads other than JPEGs are compared with the bytes that storage gives, whatever the files contain.
bool decodes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// What samples of the job weigh: those at hand, or the preset's where it is about something else than images.
double sample_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// What a sample takes in memory and on its way to the GPU; `tensor_bytes` where it is decoded, which are
/// of a pixel where whole images are; else it stays as it is.
double decoded_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                     std::uint64_t tensor_bytes);

/// Processor time of reading one, which grows with its bytes, and of decoding and augmenting it.
double cpu_seconds(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// What copying to the job's GPUs gives, or to those that were measured where no job is known: each has a link of its
/// own. Empty where it was not measured.
std::optional<StageRate> transfer_rate(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                                       std::uint64_t tensor_bytes);

/// Reading first, then what the threads do that decode and augment, named by what takes more of their time. Their rate
/// is what the cores give that all stages share, or what these threads give that do the two one after the other.
std::vector<StageRate> stage_rates(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// Of a pipeline's rate; the first of them only fills it.
inline constexpr std::uint64_t kLeastSteps = 5;

/// A pipeline reads through the page cache. Beside direct reading it tells of storage when it found the cache empty.
bool reads_storage_too(const ReadResult& read, const PipelineResult& pipeline);

/// What the stages of a run say of the node that they were measured on. Pure.
MeasuredNode measured_node(const RunResult& result, const RunOptions& options);

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

/// The GPUs that a run copies to, none with a line that says why. Borrowed.
struct RunGpus {
  TransferMachine machine;
  std::string missing;
};

/// What is to be copied.
struct BatchCopies {
  std::uint64_t gpus = 1;   ///< at most so many of those that are there
  std::uint64_t batch = 1;  ///< samples of one GPU's batch
  double sample_bytes = 0;  ///< as they go over the bus
  double seconds = 0;       ///< time for all GPUs together, about
};

/// The job's batches on their way to the GPUs, each GPU alone, from pinned memory of its own NUMA node.
struct TransferStage {
  bool measured = false;
  std::string text;
  std::string gpu;
  std::uint64_t gpus = 0;
  std::uint64_t batch = 0;
  double sample_bytes = 0;
  std::uint64_t copy_bytes = 0;
  std::optional<double> pinned_h2d;
  std::optional<RateInterval> interval;
  std::vector<TransferDevice> devices;
  std::vector<TransferRow> rows;

  void describe(FieldVisitor& v);
};

/// Copies batches and parts of them to one GPU after the other, and checks every byte. What keeps it from measuring is
/// in the result, with a warning where there are GPUs; only Error{cancelled} and Error{corrupt}, of bytes that arrive
/// wrong, are thrown.
TransferStage measure_transfer(const RunGpus& gpus, const BatchCopies& wanted, Context& context);

/// What of a stage's result stands for one turn, under the names that it has there, so that compare finds both alike.
struct ReadTurn {
  double bytes_per_second = 0;
  std::optional<double> samples_per_second;
  stats::LatencyQuantiles latency;
  CacheState cache_state = CacheState::none;

  void describe(FieldVisitor& v);
};

struct DecodeTurn {
  double samples_per_second = 0;
  double samples_per_second_per_core = 0;

  void describe(FieldVisitor& v);
};

/// Of all stages together: measured, or predicted.
struct SamplesTurn {
  double samples_per_second = 0;

  void describe(FieldVisitor& v);
};

struct TransferTurn {
  double pinned_h2d = 0;

  void describe(FieldVisitor& v);
};

/// One turn: all stages once.
struct RunTurn {
  ReadTurn read;
  std::optional<DecodeTurn> decode;
  std::optional<SamplesTurn> pipeline;
  std::optional<TransferTurn> transfer;
  SamplesTurn predicted;

  void describe(FieldVisitor& v);
};

/// Which turns, counted from 1, the stages of a result are of: those with the median rate.
struct ShownTurns {
  std::uint64_t read = 1;
  std::optional<std::uint64_t> decode;
  std::optional<std::uint64_t> pipeline;
  std::optional<std::uint64_t> transfer;

  void describe(FieldVisitor& v);
};

/// A metric over all turns.
struct RepeatedMetric {
  std::string metric;  ///< as compare names it
  double median = 0;
  double low = 0;  ///< of the median's 95 % interval (stats/summary.hpp)
  double high = 0;
  std::optional<stats::PredictionInterval> next;
  std::string text;

  void describe(FieldVisitor& v);
};

RunTurn run_turn(const ReadResult& read, const std::optional<DecodeResult>& decode,
                 const std::optional<PipelineResult>& pipeline, const TransferStage& transfer,
                 double predicted_samples);

/// One row for each metric that all turns have.
std::vector<RepeatedMetric> repeated_metrics(std::span<const RunTurn> turns);

/// The turn whose rate is the median: the lower of the two in the middle where their number is even. Not for no rates.
std::size_t median_turn(std::span<const double> rates);

/// Advice of the pipeline (bench/pipeline/pipeline_verdict.hpp) with run's options for the pipeline's; what run has
/// none for is left out. Pure.
std::vector<std::string> in_words_of_run(std::vector<std::string> advice);

/// What the calls of a loader that opens each image take, in the mean over files.
struct FileCosts {
  std::uint64_t files = 0;
  double open_seconds = 0;
  double stat_seconds = 0;
  double read_seconds = 0;
  double close_seconds = 0;
  /// All of them over reading alone: what shards spare of opening and closing, at the same number of reads under way. A
  /// lower bound, since names and attributes may lie in memory from listing, and shards are read in larger pieces.
  double shards_gain_ratio = 1;

  void describe(FieldVisitor& v);
};

/// Opens, stats, reads and closes files from the end of `input` on `threads` threads for at most `seconds`, from the
/// state of the cache asked for. Empty when the input holds shards, or no file was done in that time.
std::optional<FileCosts> measure_file_costs(const InputSet& input, CacheRequest cache, std::uint64_t threads,
                                            double seconds, Context& context);

/// Measures the stages once, each within its share of options.budget, into `result`: reading, what files cost, decoding
/// and augmenting, then all of it as a pipeline. `input` is spread. `cores` may be kept busy. Throws Error{not_found}
/// where there are no samples, or no JPEGs for a preset of such, Error{corrupt} where none of the images that the job
/// is of can be decoded, Error{usage} when no whole one comes in that time.
void measure_stages(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context,
                    RunResult& result);

/// Which state of the page cache to read from.
enum class RunCache {
  automatic,  ///< cold where that can be had, else direct, else warm where memory and time allow, else any
  cold,
  direct,  ///< past it, by O_DIRECT: storage is measured whatever the cache holds
  warm,
  any,
};
constexpr auto enum_names(RunCache) {
  return std::to_array<std::string_view>({"auto", "cold", "direct", "warm", "any"});
}

struct RunOptions {
  std::vector<std::string> paths;
  std::optional<std::string> preset;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::optional<double> step_time;
  std::optional<double> min_au;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> workers;
  std::uint64_t prefetch = 2;
  std::uint64_t crop = 224;
  image::TensorType dtype = image::TensorType::f32;
  RunCache cache = RunCache::automatic;
  double budget = 60;
  std::uint64_t repeat = 1;
  catalog::StoreAccess access = {};

  void describe(FieldVisitor& v);
};

struct RunResult {
  Environment environment;
  ReadResult read;
  std::optional<DecodeResult> decode;      ///< empty when the data holds no images
  std::optional<PipelineResult> pipeline;  ///< empty when nothing is decoded, or whole images are
  std::optional<FileCosts> file_costs;     ///< of files that are no shards
  TransferStage transfer;
  Conclusion conclusion;                  ///< its members stand in the result beside the stages
  std::vector<RepeatedMetric> repeated;   ///< with --repeat: each metric over all turns
  std::optional<ShownTurns> shown_turns;  ///< with --repeat: which turns read, decode and pipeline are of
  std::vector<RunTurn> repetitions;       ///< with --repeat: what each turn measured
  std::string command;                    ///< that repeats it

  /// True when a requirement was given and missed.
  bool has_findings() const { return !conclusion.verdict.ok; }
  void describe(FieldVisitor& v);
};

/// Measures within about `budget` seconds once the files are listed, over as many files as that allows, spread over
/// all. With `repeat` it does so that many times, each time from the same state of the cache as the first; ladder and
/// verdict are then of the medians over all turns, while each stage in the result is of one turn, that with its median
/// rate (`shown_turns`). Without a requirement it says how many GPUs of each preset the node feeds.
RunResult run(const RunOptions& options, Context& context);
/// The same with other GPUs than CUDA's.
RunResult run(const RunOptions& options, const RunGpus& gpus, Context& context);

/// Once for all turns, where the pipeline of one made too few steps for a rate, so that none is in the ladder.
void warn_of_steps(std::span<const RunResult> turns, Context& context);

}  // namespace shardkit::bench
