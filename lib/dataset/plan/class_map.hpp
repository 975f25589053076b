#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace shardkit {

/// Reads labels by class name: a JSON object {"name": label}, or text with one class name a line, the first label 0.
/// Throws Error{corrupt} with the place for a name that comes twice or a label that is no whole number.
std::map<std::string, std::uint64_t> read_class_map(const std::string& path);

}  // namespace shardkit
