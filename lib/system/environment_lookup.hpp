#pragma once

#include <functional>
#include <optional>
#include <string>

namespace shardkit {

/// Looks up an environment variable; one that is set to nothing counts as not set. A seam for tests.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// This process's.
EnvironmentLookup process_environment();

}  // namespace shardkit
