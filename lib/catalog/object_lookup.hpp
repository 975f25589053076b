#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "io/object_source.hpp"

namespace shardkit {

/// Looks up each of `names`, up to `concurrency` (at least 1) at a time: what takes the place of a listing where there
/// is none. The answers are in the order of the names, empty for what is not there. Throws the first error of a
/// look-up, Error{cancelled} on a stop.
std::vector<std::optional<ObjectInfo>> find_all(ObjectSource& source, const std::vector<std::string>& names,
                                                unsigned concurrency, const std::stop_token& stop);

}  // namespace shardkit
