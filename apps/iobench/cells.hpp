#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "bench/repetition/repetitions.hpp"

/// Cells and tables that several verbs have; "-" for an unknown value.
namespace shardkit::apps {

/// "48 %"; `digits` after the decimal point.
std::string percent_cell(const std::optional<double>& ratio, int digits = 0);

/// "1,200/s"
std::string per_second_cell(const std::optional<double>& count);

/// The medians of a number of repetitions and what to expect of as many more, a metric in each line; empty without
/// metrics, or for a single repetition.
std::string repeated_text(std::span<const bench::RepeatedMetric> metrics, std::size_t repetitions);

}  // namespace shardkit::apps
