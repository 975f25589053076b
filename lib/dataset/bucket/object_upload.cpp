#include "dataset/bucket/object_upload.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/json.hpp"
#include "formats/manifest.hpp"
#include "net/url.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::uint64_t kPartUnit = 1ULL << 20U;
constexpr std::size_t kLongestKey = 1024;  // of S3, in bytes
constexpr std::uint64_t kLongestRecord = 1ULL << 20U;

std::uint64_t rounded_up(std::uint64_t size, std::uint64_t unit) { return (size + unit - 1) / unit; }

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

std::uint64_t least_part_bytes(std::uint64_t size) {
  return rounded_up(rounded_up(size, kMostParts), kPartUnit) * kPartUnit;
}

void require_key_fits(const io::ObjectStore& store, const std::string& name) {
  if (net::parse_s3_location(store.address_of(name)).key.size() <= kLongestKey) return;
  throw Error(ErrorCode::usage, At{name}, "'{}': its key would be longer than 1024 bytes; use a shorter prefix",
              store.address_of(name));
}

std::string record_text(io::ObjectStore& store, const io::ObjectInfo& record, const std::stop_token& stop) try {
  return io::fetch_text(store, record, kLongestRecord, stop);
} catch (const Error& error) {
  if (error.code() != ErrorCode::io) throw;
  return {};
}

bool remove_record(io::ObjectStore& store, const std::string& name, const std::stop_token& stop) try {
  store.remove(name, stop);
  return true;
} catch (const Error& error) {
  if (error.code() != ErrorCode::denied) throw;
  return false;
}

std::unique_ptr<io::ObjectWriter> open_upload(io::ObjectStore& store, const std::string& name,
                                              const io::StoreChecks& checks, PartsRecord wanted,
                                              const std::optional<PartsRecord>& earlier, const std::stop_token& stop) {
  if (earlier && earlier->fits(wanted)) {
    auto writer = std::make_unique<io::ObjectWriter>(store, name, checks, earlier->upload_id, stop);
    if (writer->continues()) return writer;
  }
  if (earlier) store.abandon({name, earlier->upload_id}, stop);
  auto writer = std::make_unique<io::ObjectWriter>(store, name, checks, "", stop);
  wanted.upload_id = writer->upload().id;
  const std::string text = to_text(wanted);
  // Also after a stop: nothing else knows the id.
  store.put(parts_record_name(name), as_bytes(text), io::proof_of(as_bytes(text), checks), true, {});
  return writer;
}

}  // namespace shardkit::dataset
