#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
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

/// A phase of Progress, and the stage that it belongs to.
struct PhaseOfStage {
  std::string_view phase;
  std::string_view stage;
};

/// Reads the counters of a command many times a second, on its own thread, from construction to stop(). Phases that are
/// not listed are left out.
class SecondWatch {
 public:
  SecondWatch(Progress& progress, std::vector<PhaseOfStage> phases);
  /// All rows in order. Call it once.
  std::vector<SecondRow> stop();

 private:
  void look(double seconds);

  Progress& progress_;
  std::vector<PhaseOfStage> phases_;
  std::uint64_t starts_ = 0;
  std::uint64_t bytes_ = 0;  ///< at the last look, in this phase
  std::uint64_t samples_ = 0;
  std::vector<SecondRow> rows_;
  std::mutex mutex_;
  std::condition_variable_any never_;
  std::jthread thread_;
};

}  // namespace shardkit::bench
