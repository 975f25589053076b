#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/context.hpp"

namespace shardkit {

/// One side of a comparison: what was measured, how often, and under which conditions.
struct Measurements {
  std::string verb;                                   ///< "read", "run", ...
  std::string machine_class;                          ///< named by its processors, memory and storage
  std::vector<std::string> files;                     ///< that it was read from
  std::map<std::string, std::string> conditions;      ///< by key: "read.cache.state" is "cold"
  std::map<std::string, std::vector<double>> values;  ///< by name of the metric, one for each repetition
};

/// Reads a result, or a folder with one result in each *.json of it, hidden ones left out. A result with repetitions
/// (`run --repeat`) gives a value for each of them, any other gives one. Throws Error{usage} when the files of a folder
/// are no repetitions of one measurement and for results without a metric; Error{conflict} for a run that failed,
/// Error{corrupt} for files that are no results, Error{not_found} when there are none.
Measurements read_measurements(const std::string& path, Context& context);

}  // namespace shardkit
