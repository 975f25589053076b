#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/requirement/requirement.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// `iobench model`: what a training job needs from its input, and how many GPUs a node can feed. Measures nothing.
namespace shardkit::bench {

/// What a node delivers, as far as known.
struct Supply {
  std::optional<double> read_bytes_per_second;
  std::optional<double> read_samples_per_second;
  std::optional<double> decode_samples_per_second;
  std::optional<double> decode_samples_per_second_per_core;
  /// Rate of all stages together, and their bottleneck; for "compute" and "checkpoint" the node may deliver more.
  std::optional<double> pipeline_samples_per_second;
  std::optional<std::string> pipeline_stage;
  std::optional<std::string> cache_state;       ///< state when reading was measured, as in cache_state()
  std::optional<double> measured_sample_bytes;  ///< mean size of the samples read, which may differ from the job's
  std::optional<double> decoded_sample_bytes;   ///< the same for the decoded samples

  bool is_known() const {
    return read_bytes_per_second || read_samples_per_second || decode_samples_per_second || pipeline_samples_per_second;
  }

  void describe(FieldList& v) {
    v.field({"read_bytes_per_second", Unit::bytes_per_second, "bytes that storage delivers"}, read_bytes_per_second);
    v.field({"read_samples_per_second", Unit::per_second, "samples that storage delivers"}, read_samples_per_second);
    v.field({"decode_samples_per_second", Unit::per_second,
             "samples that all cores decode; from a result of run, while reading"},
            decode_samples_per_second);
    v.field({"decode_samples_per_second_per_core", Unit::per_second, "samples that one core decodes"},
            decode_samples_per_second_per_core);
    v.field({"pipeline_samples_per_second", Unit::per_second, "samples that all stages together deliver"},
            pipeline_samples_per_second);
    v.field({"pipeline_stage", "the bottleneck of these stages"}, pipeline_stage);
    v.field({"cache_state", "page cache state when reading was measured"}, cache_state);
    v.field({"measured_sample_bytes", Unit::bytes, "mean size of the measured samples"}, measured_sample_bytes);
    v.field({"decoded_sample_bytes", Unit::bytes, "mean compressed size of the images in the decoding measurement"},
            decoded_sample_bytes);
  }
};

struct ModelOptions : JobOptions {
  bool list_presets = false;
  std::uint64_t workers = 8;
  std::uint64_t prefetch = 2;
  std::optional<std::uint64_t> nodes;
  std::optional<std::uint64_t> crop;  ///< empty: 224
  image::TensorType dtype = image::TensorType::f32;
  std::optional<std::string> from;
  std::optional<double> read_rate;
  std::optional<double> decode_rate;
  std::optional<std::uint64_t> dataset_bytes;
  std::optional<std::uint64_t> checkpoint_bytes;
  std::optional<double> checkpoint_rate;
  std::optional<std::uint64_t> checkpoint_every;
  std::optional<double> checkpoint_copy_time;
  std::optional<double> gpu_hour_cost;

  void describe(FieldList& v);
};

struct CheckpointCost {
  double write_seconds = 0;
  double synchronous_share_ratio = 0;
  std::optional<double> asynchronous_share_ratio;  ///< empty if the time of the copy is unknown
  double interval_seconds = 0;
  bool fits_interval = false;
  double blocked_seconds = 0;  ///< of training, by one checkpoint

  double share_ratio() const { return asynchronous_share_ratio.value_or(synchronous_share_ratio); }
  void describe(FieldList& v);
};

struct Required {
  double samples_per_second = 0;
  double bytes_per_second = 0;
  double files_per_second = 0;
  std::optional<double> decode_cores;
  double h2d_bytes_per_second = 0;
  double prefetch_memory = 0;
  double dev_shm = 0;
  std::optional<double> epoch_seconds;
  std::optional<CheckpointCost> checkpoint;

  void describe(FieldList& v);
};

/// One preset as a row of a table.
struct PresetRow {
  std::string name;
  double sample_bytes = 0;
  std::uint64_t batch = 0;
  double step_seconds = 0;
  double min_au_ratio = 0;
  double samples_per_second = 0;  ///< needed by one GPU
  double bytes_per_second = 0;
  std::optional<std::uint64_t> gpus_fed;
  std::string edition;

  void describe(FieldList& v);
};

/// Every preset; with a supply also the number of its GPUs that can be fed. JPEG workloads are compared with samples
/// read and decoded, the others with bytes read.
std::vector<PresetRow> preset_rows(const Supply& supply);

struct ModelResult {
  std::string text;  ///< the conclusion in one line
  std::optional<std::string> preset;
  std::optional<std::string> edition;
  std::optional<Required> required;
  std::optional<Supply> supply;
  std::optional<std::string> limiting_stage;
  std::optional<double> headroom_ratio;
  std::optional<double> predicted_au_ratio;
  std::optional<double> predicted_au_serial_ratio;
  std::optional<std::uint64_t> gpus_fed;
  std::optional<RequirementState> requirement;  ///< empty without a supply
  std::vector<std::string> not_measured;        ///< stages of the job that the supply does not cover
  std::optional<std::uint64_t> nodes;           ///< among which the job is divided; then `required` is for one
  std::optional<double> idle_cost_per_hour;
  std::optional<double> checkpoint_cost;
  std::vector<PresetRow> presets;

  bool has_findings() const { return requirement == RequirementState::missed; }
  void describe(FieldList& v);
};

ModelResult model(const ModelOptions& options, Context& context);

}  // namespace shardkit::bench
