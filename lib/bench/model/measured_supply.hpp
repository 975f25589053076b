#pragma once

#include <optional>
#include <string>

#include "bench/model/model.hpp"

namespace shardkit::bench {

/// A measured checkpoint.
struct MeasuredCheckpoint {
  double bytes = 0;                    ///< of a whole one
  double written_bytes = 0;            ///< less if --budget ended the writing
  double bytes_per_second = 0;         ///< until it is durable
  std::optional<double> copy_seconds;  ///< time that training waits for a copy of the whole in memory, if measured
};

/// What a result says about the node. One of the two is known.
struct MeasuredSupply {
  Supply supply;
  std::optional<MeasuredCheckpoint> checkpoint;
};

/// Takes the rates from a result that `iobench read`, `decode`, `pipeline`, `checkpoint` or `run` wrote with --json.
/// For a run these are the rates of its verdict: decoding while reading, with the pipeline's rate for the slower of
/// both. For a pipeline without decoding it is the rate of reading. Throws Error{corrupt} if the file is not such a
/// result, Error{conflict} for a failed run, Error{usage} for another verb or a pipeline that read nothing.
MeasuredSupply read_measured(const std::string& path);

}  // namespace shardkit::bench
