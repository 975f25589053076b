#include "core/json.hpp"

#include <nlohmann/json.hpp>

#include "core/hash.hpp"

namespace shardkit {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

OrderedJson parse_ordered_json(std::string_view text) { return OrderedJson::parse(text, nullptr, false); }

namespace {

template <class AnyJson>
std::optional<std::uint64_t> count_of(const AnyJson& json) {
  return json.is_number_unsigned() ? std::optional(json.template get<std::uint64_t>()) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> json_count(const Json& json) { return count_of(json); }

std::optional<std::uint64_t> json_count(const OrderedJson& json) { return count_of(json); }

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string json_text(const OrderedJson& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string json_file_text(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string json_file_text(const OrderedJson& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

constexpr const char* kChecksum = "checksum";

std::string checksum_of(const OrderedJson& json) { return to_hex(xxh3_128(as_bytes(json_file_text(json)))); }

}  // namespace

std::string sealed_json_text(OrderedJson json) {
  json[kChecksum] = checksum_of(json);
  return json_file_text(json);
}

bool unseal(OrderedJson& json) {
  if (!json.is_object() || !json.contains(kChecksum)) return true;
  const OrderedJson checksum = json[kChecksum];
  json.erase(kChecksum);
  return checksum == checksum_of(json);
}

std::string python_json_text(const OrderedJson& json) { return json.dump(2, ' ', true); }

}  // namespace shardkit
