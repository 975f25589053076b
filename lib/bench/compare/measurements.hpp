#pragma once

#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "stats/comparison.hpp"

/// Measured values, their conditions, and whether two measurements can be compared. Baselines: earlier values of
/// machines by class, in one file that can be committed (docs/explain/comparing.md).
namespace shardkit::bench {

/// A field of a result that has a role in a comparison.
struct ComparedField {
  /// verb that measures it; in a result of `run` the member that contains it; "host": from the envelope
  std::string_view verb;
  std::string path;  ///< within what that verb measured: "latency_seconds.p99"
  Unit unit = Unit::none;
  Comparison comparison;

  /// "read.latency_seconds.p99"
  std::string name() const { return std::string(verb) + "." + path; }
};

/// All compared fields, verb by verb; rates come before times.
const std::vector<ComparedField>& compared_fields();

/// True for an option of any verb, by its JSON name, that may differ between results.
bool is_free_option(std::string_view name);

/// The metrics by which two results are compared.
std::span<const ComparedField> compare_metrics();

/// Finds a metric by name. Throws Error{usage} with a list of all metrics, naming `option`, or the `file` that contains
/// the name.
const ComparedField& compare_metric(std::string_view name, std::string_view option, std::string_view file = {});

using Conditions = std::map<std::string, std::string>;

/// A difference between the two sides.
struct Difference {
  std::string key;
  std::string base;
  std::string changed;
  bool decisive = false;  ///< such measurements cannot be compared
  bool allowed = false;   ///< the user wants to compare them anyway
  bool disturbs = false;  ///< no verdict: the same was requested, and something else was found

  void describe(FieldList& v) {
    v.field({"key", "key of the difference"}, key);
    v.field({"base", "value in BASE"}, base);
    v.field({"new", "value in NEW"}, changed);
    v.field({"decisive", "true if results that differ in this cannot be compared"}, decisive);
    v.field({"allowed", "true when --allow-different names it"}, allowed);
    v.field({"disturbs", "true if both requested the same and results that differ in this have no verdict"}, disturbs);
  }
};

/// All differences, decisive ones first, then by key. `allow` contains keys: "engine" allows every key that ends in
/// ".engine", "host" every one that starts with "host.".
std::vector<Difference> differences(const Conditions& base, const Conditions& changed,
                                    std::span<const std::string> allow);

/// Throws Error{usage} if one of `allow` matches no condition of either side, such as a typing error.
void check_allowed(const Conditions& base, const Conditions& changed, std::span<const std::string> allow);

/// What is known of a run besides its values.
struct MeasuredRun {
  Conditions conditions;
  std::string disturbed;  ///< why its values say nothing: "page cache ..."; empty if they do
};

/// One side of a comparison: values, their number, and their conditions.
struct Measurements {
  std::string verb;                ///< "read", "run", ...
  std::string machine_class;       ///< from its processors, memory and storage
  std::vector<std::string> files;  ///< files it was read from
  Conditions conditions;           ///< of the last run, by key: "read.cache.state" is "cold"
  std::vector<MeasuredRun> runs;
  std::map<std::string, stats::Runs> values;  ///< by name of the metric; for each run its repetitions, or none

  /// The median of a metric's repetitions in the first run; empty if that did not measure it.
  std::optional<double> median(const std::string& metric) const;
};

/// Adds the result of one more run, read from `path`. Throws Error{usage} if it is of another measurement.
void add_run(const std::string& path, const nlohmann::json& envelope, Measurements& measured);

/// After the last one: runs in other circumstances than it, as when the first one filled the page cache, are disturbed.
/// Throws Error{usage} if no run has a metric.
void settle(Measurements& measured);

/// Reads a result, or a folder with one result in each *.json, without hidden files. A result with repetitions (`run
/// --repeat`) gives one value for each, any other gives one; each result is a run. Throws Error{usage} if the files of
/// a folder are not repetitions of one measurement, and for results without a metric. Throws Error{conflict} for a
/// failed run, Error{corrupt} for files that are not results, Error{not_found} if there are none.
Measurements read_measurements(const std::string& path, Context& context);

/// True for a baseline file, false for a folder. Throws the errors of read_own_json() for other files.
bool is_baseline(const std::string& path);

/// The stored measurements of `verb` for a class. Throws Error{not_found} with a list of the classes if there are none,
/// Error{corrupt} for a damaged file.
Measurements read_baseline(const std::string& path, const std::string& machine_class, const std::string& verb);

/// Adds the runs to those of its class and verb in the file, unless they are there; runs under other conditions replace
/// them, and their number is returned. Creates the file if there is none. A hidden lock file next to it keeps
/// concurrent calls apart. Throws Error{cancelled} on a stop.
std::size_t save_baseline(const std::string& path, const Measurements& measured, const std::stop_token& stop);

}  // namespace shardkit::bench
