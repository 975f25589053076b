#pragma once

#include <optional>
#include <string>

#include "core/fields.hpp"

namespace shardkit::bench {

/// What a node gives, as far as it is known.
struct Supply {
  std::optional<double> read_bytes_per_second;
  std::optional<double> read_samples_per_second;
  std::optional<double> decode_samples_per_second;
  std::optional<double> decode_samples_per_second_per_core;
  /// Of all stages at once, and the stage that set their pace; "compute" and "checkpoint" were waited for themselves,
  /// so that more may be there.
  std::optional<double> pipeline_samples_per_second;
  std::optional<std::string> pipeline_stage;
  std::optional<std::string> cache_state;       ///< in which reading was measured, as cache_state() names it
  std::optional<double> measured_sample_bytes;  ///< mean size of what was read, which the job's samples need not have
  std::optional<double> decoded_sample_bytes;   ///< the same of what was decoded

  bool is_known() const {
    return read_bytes_per_second || read_samples_per_second || decode_samples_per_second || pipeline_samples_per_second;
  }

  void describe(FieldVisitor& v) {
    v.field({"read_bytes_per_second", Unit::bytes_per_second, "bytes that storage gives"}, read_bytes_per_second);
    v.field({"read_samples_per_second", Unit::per_second, "samples that storage gives"}, read_samples_per_second);
    v.field({"decode_samples_per_second", Unit::per_second,
             "samples that the cores decode; from a run, beside reading them"},
            decode_samples_per_second);
    v.field({"decode_samples_per_second_per_core", Unit::per_second, "samples that one core decodes"},
            decode_samples_per_second_per_core);
    v.field({"pipeline_samples_per_second", Unit::per_second, "samples that all stages gave at once"},
            pipeline_samples_per_second);
    v.field({"pipeline_stage", "the stage that set their pace"}, pipeline_stage);
    v.field({"cache_state", "what the page cache held when reading was measured"}, cache_state);
    v.field({"measured_sample_bytes", Unit::bytes, "mean size of the samples that were measured"},
            measured_sample_bytes);
    v.field({"decoded_sample_bytes", Unit::bytes, "mean size of the images whose decoding was measured"},
            decoded_sample_bytes);
  }
};

/// What a checkpoint took.
struct MeasuredCheckpoint {
  double bytes = 0;                    ///< of a whole one
  double written_bytes = 0;            ///< less where --budget ended the writing
  double bytes_per_second = 0;         ///< until it is durable
  std::optional<double> copy_seconds;  ///< that training waits for a copy of the whole in memory, if that was measured
};

struct MeasuredNodeResult {
  Supply supply;
  std::optional<MeasuredCheckpoint> checkpoint;
};

/// Takes the rates out of a result that `iobench read`, `decode`, `pipeline`, `checkpoint` or `run` wrote with --json;
/// of a run the rates by which it judges too: decoding beside reading, and the pipeline for the slower of both; of a
/// pipeline that decoded nothing the rate of reading. Throws Error{corrupt} when the file is no such result,
/// Error{conflict} when it is of a run that failed, Error{usage} when it is one of another verb or of a pipeline that
/// read nothing.
MeasuredNodeResult read_measured(const std::string& path);

}  // namespace shardkit::bench
