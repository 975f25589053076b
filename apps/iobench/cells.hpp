#pragma once

#include <optional>
#include <string>

/// Cells that the tables of several verbs have; "-" for an unknown value.
namespace shardkit::apps {

/// "48 %"; `digits` after the decimal point.
std::string percent_cell(const std::optional<double>& ratio, int digits = 0);

/// "1,200/s"
std::string per_second_cell(const std::optional<double>& count);

}  // namespace shardkit::apps
