#pragma once

#include <string>

namespace shardkit::dataset {

/// Throws Error{unsupported} when `folder`, or the part of its path that is there, lies on a network file system: locks
/// and memory maps of those are not to be relied on, and a copy there brings no speed.
void check_local(const std::string& folder);

}  // namespace shardkit::dataset
