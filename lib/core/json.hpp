#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

/// JSON as text. The library's parser and writer are templates that take seconds to compile in each file that uses
/// them; here they are compiled once.
namespace shardkit {

/// The value of `text`; "discarded", which only is_discarded() recognizes, if `text` is not JSON. Of two members with
/// one name the last one counts.
nlohmann::json parse_json(std::string_view text);
/// Like parse_json; members keep their order.
nlohmann::ordered_json parse_ordered_json(std::string_view text);

/// A whole number from 0 to 2^64-1, written without sign, fraction and exponent; empty for any other value. Always use
/// this for numbers in files: nlohmann silently converts larger or fractional ones.
std::optional<std::uint64_t> json_count(const nlohmann::json& json);
std::optional<std::uint64_t> json_count(const nlohmann::ordered_json& json);

/// `json` in one line, without a line end. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& json);
std::string json_text(const nlohmann::ordered_json& json);

/// `json` as in a file: one line per value, indented by one space per level, with a line end. Bytes that are not UTF-8
/// become U+FFFD.
std::string json_file_text(const nlohmann::json& json);
std::string json_file_text(const nlohmann::ordered_json& json);

/// A file of our own state: json_file_text() of the object `json` with a last member "checksum", the XXH3-128 of its
/// text without it.
std::string sealed_json_text(nlohmann::ordered_json json);
/// False if `json` has a checksum of other content. Removes it. Files of other programs have none.
bool unseal(nlohmann::ordered_json& json);

/// Like Python's json.dumps(json, indent=2): only ASCII, without a line end. Throws nlohmann's type_error if a string
/// is not UTF-8.
std::string python_json_text(const nlohmann::ordered_json& json);

}  // namespace shardkit
