#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/read/read.hpp"
#include "bench/read/read_work.hpp"
#include "system/block_device.hpp"

/// Timing reads: passes over the data until there was enough time, and repetitions of that.
namespace shardkit::bench {

/// What is read, and how.
struct ReadPlan {
  std::span<const InputFile> files;
  const io::ReadEngine& engine;
  const ReadOptions& options;  ///< job and defaults included
  const RandomOrder* order;    ///< of random reads; null for sequential ones
  bool counts_samples = true;
};

/// What one or several passes measured together.
class ReadMeasurement {
 public:
  void add(const Timing& timing, const std::vector<ReadTally>& tallies);
  void add_device(const std::optional<system::DiskCounters>& before, const std::optional<system::DiskCounters>& after);
  void merge(const ReadMeasurement& other);

  const ReadTally& total() const { return total_; }
  double seconds() const { return timing_.seconds; }
  /// Of all passes, their slices in a row.
  const Timing& timing() const { return timing_; }
  std::optional<DeviceActivity> device() const;

 private:
  ReadTally total_;
  Timing timing_;
  system::DiskCounters device_;  ///< what the passes added to its counters
  bool device_known_ = true;
};

struct RepetitionRun {
  ReadMeasurement measured;
  std::uint64_t passes = 0;
  std::string hint;  ///< of the work; empty for none
};

/// One repetition. The caches are in the state asked for at its start; before further passes of cold reads they are
/// dropped again, which is not timed. Reads that may not be made again (may_read_again()) end after one pass, unless
/// `is_warm`: everything was in memory.
RepetitionRun run_repetition(const ReadPlan& plan, bool is_warm, const std::string& device, Context& context);

/// Adds to result.hints what a reader of its numbers should know; `input` is what was found, of which the plan's files
/// are those that were read.
void add_read_hints(const ReadOptions& options, const InputSet& input, const ReadPlan& plan, ReadResult& result);

/// Why reading `files` counted no sample, and what to do: nothing was read, nothing whole, or there are none.
std::string why_no_samples(const ReadOptions& options, std::span<const InputFile> files, const ReadResult& result);

}  // namespace shardkit::bench
