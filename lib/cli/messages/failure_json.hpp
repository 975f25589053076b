#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/outcome.hpp"

namespace shardkit {

/// {"code","text","path","offset"}; null for a path or an offset that there is not.
nlohmann::ordered_json failure_json(const Failure& failure);

}  // namespace shardkit
