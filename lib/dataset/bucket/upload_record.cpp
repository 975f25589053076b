#include "dataset/bucket/upload_record.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/json.hpp"
#include "formats/manifest.hpp"

namespace shardkit::dataset {
namespace {

/// Empty if the member is missing or not a text.
std::string text_in(const nlohmann::ordered_json& json, const char* name) {
  const auto member = json.find(name);
  return member != json.end() && member->is_string() ? member->get<std::string>() : "";
}

/// An object with a right checksum; empty otherwise.
std::optional<nlohmann::ordered_json> read_sealed(std::string_view text) {
  nlohmann::ordered_json json = parse_ordered_json(text);
  return json.is_object() && unseal(json) ? std::optional(std::move(json)) : std::nullopt;
}

}  // namespace

std::string to_text(const UploadRecord& record) { return sealed_json_text({{"set", record.set}}); }

std::optional<UploadRecord> read_upload_record(std::string_view text) {
  const auto json = read_sealed(text);
  return json ? std::optional(UploadRecord{text_in(*json, "set")}) : std::nullopt;
}

std::string parts_record_name(const std::string& object) {
  return std::string(formats::kUploadsFolder) + object + ".upload";
}

std::string to_text(const PartsRecord& record) {
  return sealed_json_text({{"upload_id", record.upload_id},
                           {"bytes", record.bytes},
                           {"part_bytes", record.part_bytes},
                           {"part_checksum", enum_name(record.checksum)}});
}

std::optional<PartsRecord> read_parts_record(std::string_view text) {
  const auto json = read_sealed(text);
  if (!json || !json->contains("bytes") || !json->contains("part_bytes")) return std::nullopt;
  const auto bytes = json_count(json->at("bytes"));
  const auto part_bytes = json_count(json->at("part_bytes"));
  const auto kinds = enum_names(ChecksumKind());
  const auto kind = std::ranges::find(kinds, text_in(*json, "part_checksum"));
  if (!bytes || !part_bytes || kind == kinds.end()) return std::nullopt;
  return PartsRecord{text_in(*json, "upload_id"), *bytes, *part_bytes, static_cast<ChecksumKind>(kind - kinds.begin())};
}

}  // namespace shardkit::dataset
