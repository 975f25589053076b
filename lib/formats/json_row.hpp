#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "formats/row_fault.hpp"

namespace shardkit {

/// Reads `text` as one JSON object (RFC 8259) into `row`, whose names keep their order. More is refused than by the
/// parser alone: what is no object, a name twice in one object, bytes that are not UTF-8, a number beyond a double's
/// range, and more than 100 objects and lists within each other. Returns what is wrong, or nothing.
std::optional<RowFault> read_json_row(std::string_view text, nlohmann::ordered_json& row);

}  // namespace shardkit
