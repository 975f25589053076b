#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/results/result_file.hpp"
#include "bench/watch/shortage.hpp"
#include "bench/watch/watch_sample.hpp"
#include "bench/watch/watch_summary.hpp"
#include "core/fields.hpp"

/// From the summary of a watch to what is short, by how much, and what to do about it. Pure.
namespace shardkit::bench {

namespace watch_rules {
inline constexpr double kNoticeable = 0.1;  ///< of the watched time: less of a shortage is no verdict
inline constexpr double kMostly = 0.5;      ///< of the watched time
}  // namespace watch_rules

struct WatchVerdict {
  Shortage short_of = Shortage::nothing;
  std::optional<double> share;        ///< of the watched time
  std::string text;                   ///< one line
  std::vector<std::string> evidence;  ///< the figures behind it, a line each
  std::string remedy;                 ///< what to do; empty when nothing is to be done

  void describe(FieldVisitor& v) {
    v.field({"short_of", "what is short; compute: nothing, the GPUs are busy"}, short_of);
    v.field({"share", Unit::ratio, "share of the watched time in which that was so"}, share);
    v.field({"text", "the verdict in a line"}, text);
    v.field({"evidence", "figures behind it"}, evidence);
    v.field({"remedy", "what to do"}, remedy);
  }
};

/// The shortage that took the most of the time, when that is a tenth or more of it; of equals the one that is asked for
/// first. Else compute, where GPUs were busy for half of the time or more, else nothing.
WatchVerdict judge_watch(const WatchTarget& target, const WatchSummary& summary);

/// The figures of a kind of shortage, a line for each thing that they are of.
std::vector<std::string> watch_evidence(const WatchTarget& target, const WatchSummary& summary, Shortage shortage);

/// Figures that a platform engineer would point at, whatever the verdict: never a verdict of their own.
std::vector<Finding> watch_findings(const WatchSummary& summary);

}  // namespace shardkit::bench
