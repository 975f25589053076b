#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/torch/calibration.hpp"
#include "bench/torch/loader_costs.hpp"
#include "core/fields.hpp"
#include "image/image_header.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {

/// Reading with more reads in flight than the job's loader has.
struct MoreReaders {
  std::uint64_t readers = 0;
  double samples_per_second = 0;
  double bytes_per_second = 0;

  void describe(FieldList& v);
};

/// A stage that was measured.
struct MeasuredStage {
  double rate = 0;                            ///< samples per second; for reads and copies, bytes per second
  std::optional<stats::Interval> interval{};  ///< of that; for the pipeline only over repetitions
  double cpu_seconds = 0;                     ///< CPU time per sample
};

/// Measurements on a node, per sample of the data, and the rates that follow; docs/explain/model.md has the formulas.
struct MeasuredNode {
  double cores = 1;                 ///< shared by all stages; a control group may allow a fraction of one
  std::optional<double> cpu_limit;  ///< of the control group, if any
  double threads = 1;               ///< that decoded and augmented
  double sample_bytes = 0;          ///< mean stored size
  MeasuredStage read;
  double readers = 1;  ///< reads in flight
  std::optional<MoreReaders> more_readers;
  std::optional<UnpackCosts> unpack{};  ///< of compressed shards
  CacheState cache_state = CacheState::none;
  std::optional<MeasuredStage> decode;
  std::optional<MeasuredStage> augment;
  std::optional<MeasuredStage> pipeline;             ///< all stages at once
  std::string pipeline_stage;                        ///< its bottleneck, from where its threads spent their time
  std::optional<MeasuredStage> transfer;             ///< pinned host memory to the slowest GPU
  std::uint64_t transfer_gpus = 0;                   ///< GPUs that were measured
  double transfer_copy_bytes = 0;                    ///< of one copy
  image::ImageKind images = image::ImageKind::jpeg;  ///< the format of most
  double megapixels = 0;                             ///< mean stored size of an image
  std::uint64_t crop = 224;                          ///< width and height after decoding
  std::optional<double> file_costs_ratio;            ///< for image files: FileCosts::other_ratio
  SampleWork sample_work;                            ///< of PyTorch's loader
  LoaderReads loader_reads;
  std::optional<Calibration> calibration;
  Neighbors neighbors;
};

/// The medians of several repetitions, each value separately, with the 95 % intervals of the rates over the
/// repetitions. Stages that one of them lacks are left out; constant values are those of the first. Requires at least
/// one repetition.
MeasuredNode median_node(std::span<const MeasuredNode> repetitions);

/// Whether data came from the page cache, so that storage was not measured.
bool from_memory(const MeasuredNode& node);

/// Workloads other than JPEGs are compared with the bytes of storage, whatever the files contain.
bool decodes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// Sample size of the job: that of the data, or the preset's if its samples are not images.
double sample_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// Size of a sample in memory and on its way to the GPU: `tensor_bytes` if it is decoded (per pixel for whole images),
/// else its stored size.
double decoded_bytes(const MeasuredNode& node, const std::optional<JobRequirement>& requirement, double tensor_bytes);

/// Rate of copying to the job's GPUs, or to the measured ones without a job: each has its own link. Empty if it was not
/// measured.
std::optional<StageRate> transfer_rate(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                                       double tensor_bytes);

/// Reading first, then unpacking if shards are compressed, then the threads that decode and augment, named by what
/// takes most of the CPU time. Their rate is limited by the cores that all stages share, and by these threads, which do
/// both one after the other.
std::vector<StageRate> stage_rates(const MeasuredNode& node, const std::optional<JobRequirement>& requirement);

/// CPU time per sample of all stages together.
double cpu_seconds(const MeasuredNode& node);

/// Cores that can unpack at once: each unpacks one shard.
double unpacking_cores(const MeasuredNode& node);

}  // namespace shardkit::bench
