#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/field_tree.hpp"

/// Described structs as JSON, and values in JSON by their paths.
namespace shardkit {

/// Described members as a JSON object, in their order; absent ones are null.
nlohmann::ordered_json fields_json(const std::vector<FieldNode>& nodes);

/// The member of `object` at a path with dots, "latency_seconds.p99"; null if it does not exist.
const nlohmann::json* member(const nlohmann::json& object, std::string_view path);
/// The number or text at such a path; empty if it does not exist.
std::optional<double> number_at(const nlohmann::json& object, std::string_view path);
std::optional<std::string> text_at(const nlohmann::json& object, std::string_view path);

}  // namespace shardkit
