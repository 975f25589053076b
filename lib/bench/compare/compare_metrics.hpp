#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "bench/compare/compare.hpp"
#include "bench/compare/compared_fields.hpp"
#include "core/units.hpp"
#include "stats/comparison.hpp"

namespace shardkit::bench {

/// A figure of a result by which two results are held against each other.
using CompareMetric = ComparedField;

/// All of them.
std::span<const CompareMetric> compare_metrics();

/// By name; throws Error{usage} that lists them for any other, naming `option`, or the `file` that says it.
const CompareMetric& compare_metric(std::string_view name, std::string_view option, const std::string& file = {});

/// Its value in the `result` of an envelope of `verb`, or in one of that result's repetitions. Empty when it is not
/// there, which is the rule for metrics of other verbs.
std::optional<double> metric_value(const CompareMetric& metric, std::string_view verb, const nlohmann::json& result);

/// "-9.8 %: 1.20 GB/s to 1.08 GB/s, between -12.1 % and -7.4 %, p 0.0002".
std::string change_text(const CompareRow& row, Unit unit);

/// The line that stands first in every report: the verdict, and what it comes from.
std::string verdict_text(const CompareResult& result, const std::optional<std::string>& saved);

}  // namespace shardkit::bench
