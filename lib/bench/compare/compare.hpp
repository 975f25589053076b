#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/gate.hpp"
#include "bench/compare/measurements.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "stats/comparison.hpp"

/// `iobench compare`: whether a node, a version or a setting became slower, and whether a node meets the requirements
/// of a fleet.
namespace shardkit::bench {

struct CompareOptions {
  std::optional<std::string> base = {};
  std::string changed = {};
  std::vector<std::string> threshold = {};
  std::vector<std::string> include = {};  ///< names of metrics; empty: all
  std::vector<std::string> allow_different = {};
  bool ab = false;  ///< `base` and `changed` are commands
  std::uint64_t repeat = 10;
  bool strict = false;
  std::optional<std::string> gate = {};
  std::optional<std::string> save_baseline = {};
  std::optional<std::string> machine_class = {};

  void describe(FieldList& v);
};

/// One side of the report.
struct ComparedSide {
  std::string source;  ///< as given on the command line
  std::string verb;
  std::string machine_class;
  std::uint64_t files = 0;
  std::uint64_t runs = 0;
  std::uint64_t repetitions = 0;  ///< of all runs; smallest number over all metrics
  std::uint64_t disturbed = 0;    ///< runs that say nothing
  std::string disturbance = {};   ///< why, of the first of them

  void describe(FieldList& v);
};

struct CompareRow {
  std::string metric;
  double base = 0;  ///< medians
  double changed = 0;
  stats::Change change;
  double threshold = 0;
  double floor = 0;      ///< values below count as this; 0: none
  bool derived = false;  ///< follows from the others and does not count
  std::string text;      ///< "typically -9.8 %, medians 1.20 GB/s to 1.08 GB/s"

  void describe(FieldList& v);
};

/// "+3.1 %", "0.0 %", "more than 1000 times": beyond a factor of ten, percent are hard to read.
std::string signed_percent(double ratio);

/// How --ab ran both commands.
struct AbRuns {
  std::uint64_t pairs = 0;
  std::string order;  ///< "AB BA AB": which came first in each pair

  void describe(FieldList& v) {
    v.field({"pairs", Unit::count, "how often both commands ran"}, pairs);
    v.field({"order", "order in each pair; A is BASE"}, order);
  }
};

struct CompareResult {
  std::optional<stats::ChangeVerdict> verdict;  ///< empty without BASE
  std::string text;                             ///< the verdict in a line
  std::optional<AbRuns> ab;
  std::optional<ComparedSide> base;
  ComparedSide changed;
  std::vector<Difference> differences;
  std::string disturbance;  ///< why no metric has a verdict; empty if they have
  std::vector<CompareRow> rows;
  std::vector<GateRow> gate;
  std::vector<std::string> hints;
  bool strict = false;       ///< from the options; used by has_findings()
  bool interrupted = false;  ///< then the verdict is that of the pairs before

  void describe(FieldList& v);
  bool has_findings() const;
};

/// Reads results and compares them; measures nothing. Writes only the file of `save_baseline`. Throws Error{usage} for
/// invalid combinations of options, and the errors of read_measurements(), read_baseline() and read_gate().
CompareResult compare(const CompareOptions& options, Context& context);

/// A comparison, and what it is about. Without BASE its measurements are empty.
struct ComparedMeasurements {
  CompareResult result;
  Measurements base;
  Measurements changed;
};

/// The same for a report, which shows single runs too.
ComparedMeasurements compare_measurements(const CompareOptions& options, Context& context);

}  // namespace shardkit::bench
