#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/watch/watch_summary.hpp"
#include "bench/watch/watch_target.hpp"
#include "core/fields.hpp"

/// From the summary of a watch to the bottleneck, its share of the time, and what to do. Pure.
namespace shardkit::bench {

struct WatchVerdict {
  Shortage short_of = Shortage::nothing;
  std::optional<double> share;        ///< of the watched time
  std::string text;                   ///< one line
  std::vector<std::string> evidence;  ///< figures that support it, one line each
  std::string remedy;                 ///< what to do; empty if nothing

  void describe(FieldList& v) {
    v.field({"short_of", "bottleneck; compute: none, the GPUs are busy"}, short_of);
    v.field({"share", Unit::ratio, "share of the watched time with this bottleneck"}, share);
    v.field({"text", "the verdict in a line"}, text);
    v.field({"evidence", "figures that support it"}, evidence);
    v.field({"remedy", "what to do"}, remedy);
  }
};

/// The bottleneck with the largest share of the time, if that is 10 % or more; among equal ones the first in the order
/// of the rules. Else compute if GPUs were busy for half of the time or more, else nothing.
WatchVerdict judge_watch(const WatchTarget& target, const WatchSummary& summary);

}  // namespace shardkit::bench
