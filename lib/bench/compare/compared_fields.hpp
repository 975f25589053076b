#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/fields.hpp"

/// What compare knows about results: the roles that their fields have in a comparison.
namespace shardkit::bench {

struct ComparedField {
  std::string_view
      verb;          ///< that measures it; in the result of `run` the member that holds it; "host": of the envelope
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

/// Those by which two results are held against each other.
std::span<const ComparedField> compare_metrics();

/// By name; throws Error{usage} that lists them for any other, naming `option`, or the `file` that says it.
const ComparedField& compare_metric(std::string_view name, std::string_view option, const std::string& file = {});

/// Its value in the `result` of an envelope of `verb`, or in one of that result's repetitions. Empty when it is not
/// there, which is the rule for metrics of other verbs.
std::optional<double> metric_value(const ComparedField& metric, std::string_view verb, const nlohmann::json& result);

}  // namespace shardkit::bench
