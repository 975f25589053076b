#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

/// JSON as text. The library's parser and writer are templates that take seconds to compile in each file that calls
/// them; here they are compiled once.
namespace shardkit {

/// The value that `text` holds; "discarded", which none of its is_...() functions but is_discarded() knows, where
/// `text` is not JSON. Of two members of one name the last one counts.
nlohmann::json parse_json(std::string_view text);
/// As parse_json; members keep their order.
nlohmann::ordered_json parse_ordered_json(std::string_view text);

/// A whole number from 0 to 2^64-1, written without sign, fraction and exponent; nothing for any other value. Numbers in
/// files are read by this only: nlohmann converts a larger or fractional one without a word.
std::optional<std::uint64_t> json_count(const nlohmann::json& json);
std::optional<std::uint64_t> json_count(const nlohmann::ordered_json& json);

/// `json` in one line, without a line end. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& json);
std::string json_text(const nlohmann::ordered_json& json);

/// `json` as a file holds it: a line for each value, indented by one space a level, with a line end. Bytes that are not
/// UTF-8 become U+FFFD.
std::string json_file_text(const nlohmann::json& json);
std::string json_file_text(const nlohmann::ordered_json& json);

/// As Python's json.dumps(json, indent=2) writes it: ASCII alone, without a line end. Throws nlohmann's type_error
/// where a string is not UTF-8.
std::string python_json_text(const nlohmann::ordered_json& json);

}  // namespace shardkit
