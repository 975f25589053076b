#pragma once

#include <string>

#include "cli/app.hpp"

namespace shardkit::cli {

/// The JSON Schema (draft 2020-12) of the envelope of one verb. Groups of fields are "$defs".
std::string envelope_schema(const App& app, const Command& command);

}  // namespace shardkit::cli
