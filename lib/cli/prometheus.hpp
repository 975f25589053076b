#pragma once

#include <string>

#include "cli/envelope.hpp"

namespace shardkit::cli {

/// The report in Prometheus' text exposition format 0.0.4, for the textfile collector: every number of the result as
/// gauge shardkit_<verb>_<field> (shardkit_cache_ls_files), groups joined by "_"; of a list whose items have a
/// Field::label, a series for each item with that label, other lists left out. And of every run, also a failed one,
/// shardkit_<verb>_success, _exit_code, _elapsed_seconds and _finished_timestamp_seconds. All are gauges: they tell of
/// the last run, and nothing counts up over runs.
std::string prometheus_text(const Report& report);

}  // namespace shardkit::cli
