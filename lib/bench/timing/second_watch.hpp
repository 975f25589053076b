#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"

/// What was done in each second of the wall clock, so that the results of many nodes can be added where all were busy.
namespace shardkit::bench {

/// Work within one second of one stage.
struct SecondRow {
  std::uint64_t unix_time = 0;  ///< the second, since 1970
  std::string stage;
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
  double measured_seconds = 0;  ///< of this second, with this stage

  void describe(FieldList& v);
};

/// The phases of Progress in which a stage is measured. A phase is recognized by the address of its name, not by its
/// words.
namespace phase {
inline constexpr char kReading[] = "reading";
inline constexpr char kReadingMore[] = "reading with more requests";  ///< no stage: its rate is not that of the job
inline constexpr char kMeasuring[] = "measuring";                     ///< a store
inline constexpr char kDecoding[] = "decoding";
inline constexpr char kAugmenting[] = "augmenting";
inline constexpr char kPipeline[] = "running the pipeline";
}  // namespace phase

/// Reads the counters of a command many times a second, on its own thread, from construction to stop(), while a stage
/// is measured.
class SecondWatch {
 public:
  explicit SecondWatch(Progress& progress);
  /// All rows in order. Call it once.
  std::vector<SecondRow> stop();

 private:
  void look(double seconds);

  Progress& progress_;
  std::uint64_t starts_ = 0;
  std::uint64_t bytes_ = 0;  ///< at the last look, in this phase
  std::uint64_t samples_ = 0;
  std::vector<SecondRow> rows_;
  std::mutex mutex_;
  std::condition_variable_any never_;
  std::jthread thread_;
};

}  // namespace shardkit::bench
