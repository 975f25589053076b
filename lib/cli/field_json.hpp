#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/field_tree.hpp"

namespace shardkit::cli {

/// Described members as a JSON object, in their order; what is absent is null.
nlohmann::ordered_json fields_json(const std::vector<FieldNode>& nodes);

/// The same as one line, with a member "event" before the others and a newline behind: a row of JSON lines. Valid JSON
/// for any input: NaN and infinity become null, bytes that are not UTF-8 become U+FFFD.
std::string json_line(std::string_view event, const std::vector<FieldNode>& nodes);

}  // namespace shardkit::cli
