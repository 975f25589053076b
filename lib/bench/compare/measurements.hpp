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

/// What was measured, under which conditions, and whether two measurements can be compared. Baselines: what machines of
/// each class gave once, in one file that a repository can hold (docs/comparing.md).
namespace shardkit::bench {

/// A field of a result that has a role in a comparison.
struct ComparedField {
  /// That measures it; in the result of `run` the member that holds it; "host": of the envelope.
  std::string_view verb;
  std::string path;  ///< within what that verb measured: "latency_seconds.p99"
  Unit unit = Unit::none;
  Comparison role;

  /// "read.latency_seconds.p99"
  std::string name() const { return std::string(verb) + "." + path; }
};

/// All of them, verb by verb; the rates of a verb stand before its times.
const std::vector<ComparedField>& compared_fields();

/// True for an option of any verb, by its name in JSON, in which results may differ.
bool is_free_option(std::string_view name);

/// The metrics by which two results are compared.
std::span<const ComparedField> compare_metrics();

/// By name; throws Error{usage} that lists them for any other, naming `option`, or the `file` that says it.
const ComparedField& compare_metric(std::string_view name, std::string_view option, const std::string& file = {});

/// Its value in the `result` of an envelope of `verb`, or in one of that result's repetitions. Empty when it is not
/// there, which is the rule for metrics of other verbs.
std::optional<double> metric_value(const ComparedField& metric, std::string_view verb, const nlohmann::json& result);

using Conditions = std::map<std::string, std::string>;

/// What is not the same on both sides.
struct Difference {
  std::string key;
  std::string base;
  std::string changed;
  bool decisive = false;  ///< measurements that differ in it tell nothing about each other
  bool allowed = false;   ///< the user wants them compared all the same

  void describe(FieldVisitor& v) {
    v.field({"key", "key of the difference"}, key);
    v.field({"base", "value in BASE"}, base);
    v.field({"new", "value in NEW"}, changed);
    v.field({"decisive", "true if results that differ in this cannot be compared"}, decisive);
    v.field({"allowed", "true when --allow-different names it"}, allowed);
  }
};

/// The conditions that an envelope tells: tool, host, options, and of each stage what it really used.
Conditions conditions_of(const nlohmann::json& envelope);

/// A name for machines of a kind: "8cpu-32gib-nvme".
std::string machine_class_of(const nlohmann::json& envelope);

/// What differs, decisive ones first, then by key. `allow` holds keys: "engine" allows every key that ends in
/// ".engine", "host" every one that starts with "host.".
std::vector<Difference> differences(const Conditions& base, const Conditions& changed,
                                    std::span<const std::string> allow);

/// Throws Error{usage} when one of `allow` fits no condition of either side, as a typing error would.
void check_allowed(const Conditions& base, const Conditions& changed, std::span<const std::string> allow);

/// One side of a comparison: what was measured, how often, and under which conditions.
struct Measurements {
  std::string verb;                                   ///< "read", "run", ...
  std::string machine_class;                          ///< named by its processors, memory and storage
  std::vector<std::string> files;                     ///< that it was read from
  Conditions conditions;                              ///< by key: "read.cache.state" is "cold"
  std::map<std::string, std::vector<double>> values;  ///< by name of the metric, one for each repetition
};

/// Reads a result, or a folder with one result in each *.json of it, hidden ones left out. A result with repetitions
/// (`run --repeat`) gives a value for each of them, any other gives one. Throws Error{usage} when the files of a folder
/// are no repetitions of one measurement and for results without a metric; Error{conflict} for a run that failed,
/// Error{corrupt} for files that are no results, Error{not_found} when there are none.
Measurements read_measurements(const std::string& path, Context& context);

/// True for a file of baselines. Throws what read_own_json() throws for a file that is none of ours; false for a
/// folder.
bool is_baseline(const std::string& path);

/// The stored measurements of `verb` for a class. Throws Error{not_found} that lists the classes when there are none,
/// Error{corrupt} for a damaged file.
Measurements read_baseline(const std::string& path, const std::string& machine_class, const std::string& verb);

/// Puts `measured` in the place of what the file holds for its class and verb, or makes the file. One at a time: others
/// wait, behind a hidden lock file that stays beside it. Throws Error{cancelled} when `stop` comes meanwhile.
void save_baseline(const std::string& path, const Measurements& measured, const std::stop_token& stop);

}  // namespace shardkit::bench
