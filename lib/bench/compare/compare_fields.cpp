#include "bench/compare/compare.hpp"

namespace shardkit {

void CompareOptions::describe(FieldVisitor& v) {
  v.field({"BASE", Unit::none,
           "what is compared with: a result, a folder of repetitions, or a file of baselines; may be left out for "
           "--gate and --save-baseline",
           Role::optional_positional},
          base);
  v.field({"NEW", Unit::none, "what is judged: a result, or a folder of repetitions", Role::positional}, changed);
  v.field({"threshold", Unit::none,
           "how much worse a metric may become: 5% (default) for all, read.bytes_per_second=3% for one; several with "
           "commas",
           Role::option, "LIST"},
          threshold);
  v.field({"metric", Unit::none, "judge these metrics alone", Role::option, "LIST"}, metric);
  v.field({"allow-different", Unit::none,
           "compare although these differ: a key as the report names it, or its first or last part: host, engine, verb",
           Role::option, "LIST"},
          allow_different);
  v.field({"fail-on-inconclusive", Unit::none, "exit 3 when the values do not tell, too"}, fail_on_inconclusive);
  v.field({"gate", Unit::none, "requirements that NEW must meet, whatever BASE gave; docs/comparing.md", Role::option,
           "FILE"},
          gate);
  v.field({"save-baseline", Unit::none,
           "keep NEW in FILE as the baseline of its machine class, unless it misses the gate", Role::option, "FILE"},
          save_baseline);
  v.field({"class", Unit::none, "name of the machine class, for baselines; made from the host where it is not given",
           Role::option, "NAME"},
          machine_class);
}

void ComparedSide::describe(FieldVisitor& v) {
  v.field({"source", Unit::none, "file or folder"}, source);
  v.field({"verb", Unit::none, "what measured it"}, verb);
  v.field({"machine_class", Unit::none, "kind of machine"}, machine_class);
  v.field({"files", Unit::count, "results read"}, files);
  v.field({"repetitions", Unit::count, "values of each metric, at least"}, repetitions);
}

void CompareRow::describe(FieldVisitor& v) {
  v.field({"metric", Unit::none, "what was measured"}, metric);
  v.field({"base", Unit::none, "median in BASE, in the metric's unit"}, base);
  v.field({"new", Unit::none, "median in NEW"}, changed);
  v.field({"change_ratio", Unit::ratio, "by how much NEW is more: -0.1 is a tenth less; by Hodges and Lehmann"},
          change.ratio);
  v.field({"interval", Unit::none, "where the true change lies"}, change.interval);
  v.field({"p_value", Unit::none, "of Mann and Whitney's U test: how likely chance alone makes sides differ so much"},
          change.p_value);
  v.field({"threshold_ratio", Unit::ratio, "how much worse it may become"}, threshold);
  v.field({"floor", Unit::none, "smaller values count as this, in the metric's unit; 0: none"}, floor);
  v.field({"derived", Unit::none, "true when it follows from the others and does not count towards the verdict of all"},
          derived);
  v.field({"verdict", Unit::none, "what comes of it"}, change.verdict);
  v.field({"text", Unit::none, "the same in words"}, text);
}

void CompareResult::describe(FieldVisitor& v) {
  v.field({"verdict", Unit::none,
           "pass, regressed, improved, inconclusive or incomparable, of all metrics together; none without BASE"},
          verdict);
  v.field({"text", Unit::none, "the verdict in a line"}, text);
  v.field({"base", Unit::none, "what was compared with"}, base);
  v.field({"new", Unit::none, "what was judged"}, changed);
  v.field({"differences", Unit::none, "what differs between how they were measured"}, differences);
  v.field({"rows", Unit::none, "metric by metric"}, rows);
  v.field({"gate", Unit::none, "requirement by requirement"}, gate);
  v.field({"hints", Unit::none, "what would make the verdict clearer"}, hints);
}

}  // namespace shardkit
