#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"

/// What was measured on a node, and the rates that follow from it. Pure; docs/model.md has the formulas.
namespace shardkit::bench {

struct PipelineResult;
struct ReadResult;
struct RunOptions;
struct RunResult;

/// Per sample of the data at hand.
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

/// Workloads other than JPEGs are held against the bytes that storage gives, whatever the files at hand hold.
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

}  // namespace shardkit::bench
