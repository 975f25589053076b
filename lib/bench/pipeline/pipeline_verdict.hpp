#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Which stage sets a pipeline's pace, by where its threads spend their time. Pure.
namespace shardkit::bench {

/// Shares of the time of each kind of thread.
struct PipelineShares {
  double read = 0;  ///< readers that read
  double decode = 0;
  double augment = 0;
  double worker_core = 1;      ///< of a core that a worker has while it decodes: its processor time over the time
  double workers_blocked = 0;  ///< workers without leave to make more samples
  double transfer = 0;
  double device_decode = 0;  ///< the thread that hands over, while a GPU decodes for it
  double compute = 0;        ///< the step loop's
  double checkpoint = 0;
  double step_starved = 0;  ///< waits for batches but for the first of an epoch, over the running time
  double step_waits = 0;    ///< all of the step loop's waits
};

struct PipelineVerdict {
  std::string limiting_stage;
  std::string reason;               ///< one line
  std::vector<std::string> advice;  ///< settings that would help
};

/// The threads with the least idle time set the pace: readers, workers, the one that hands over, or the step loop. Of
/// workers, and of the thread that hands over where GPUs decode, it is what they do most; of the step loop it is
/// computing, unless checkpoints take more than a twentieth of its time. A prefetch that is too small is never a stage:
/// it shows as workers that wait for the step while the step waits for them, and becomes an advice. So do workers that
/// set the pace and have less than four fifths of a core each: others, a CPU limit or too many workers take the rest.
/// With less than half a core each readers never set the pace: they wait for cores as well.
PipelineVerdict judge_pipeline(const PipelineShares& shares, std::uint64_t prefetch);

}  // namespace shardkit::bench
