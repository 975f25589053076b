#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "catalog/inputs.hpp"

namespace shardkit::dataset {

/// Reads labels by class name: a JSON object {"name": label}, or text with one class name a line, the first label 0;
/// empty without a path. Throws Error{corrupt} with the position of a repeated name or a label that is not a whole
/// number.
std::map<std::string, std::uint64_t> read_class_map(const std::string& path, catalog::Inputs& inputs);

}  // namespace shardkit::dataset
