#pragma once

#include <string_view>

namespace shardkit {

/// Version of the project, "0.1.0".
std::string_view build_version();

/// Git commit this was built from, with "-dirty" after local changes; "unknown" outside a repository.
std::string_view build_commit();

}  // namespace shardkit
