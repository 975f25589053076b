#pragma once

#include <string>

/// JSON Schemas of the files that compare reads and writes beside results; docs/schema holds them.
namespace shardkit {

/// Of what --gate takes: every file that fits can be read, but for limits given as texts that are no sizes.
std::string gate_schema();

/// Of what --save-baseline writes.
std::string baseline_schema();

}  // namespace shardkit
