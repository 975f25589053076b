#include "dataset/bucket/upload_records.hpp"

#include <algorithm>

#include <fmt/format.h>
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
constexpr std::string_view kRecordEnding = ".upload";
constexpr std::size_t kIdDigits = 16;

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

StoreListing list_records(io::ObjectStore& store) {
  StoreListing records;
  std::string folder = formats::kUploadsFolder;
  folder.pop_back();  // its slash
  for (io::ObjectInfo& object : store.list(folder)) records.emplace(object.name, std::move(object));
  return records;
}

std::string to_text(const UploadRecord& record) { return sealed_json_text({{"set", record.set}}); }

std::optional<UploadRecord> read_upload_record(std::string_view text) {
  const auto json = read_sealed(text);
  return json ? std::optional(UploadRecord{text_in(*json, "set")}) : std::nullopt;
}

std::string to_text(const WriterRecord& record) {
  return sealed_json_text({{"writes", record.writes},
                           {"host", record.host},
                           {"process", record.process},
                           {"started_at", record.started_at}});
}

std::optional<WriterRecord> read_writer_record(std::string_view text) {
  const auto json = read_sealed(text);
  if (!json || !json->contains("process")) return std::nullopt;
  return WriterRecord{text_in(*json, "writes"), text_in(*json, "host"), json_count(json->at("process")).value_or(0),
                      text_in(*json, "started_at")};
}

std::string parts_record_name(const std::string& object, std::string_view upload_id) {
  return fmt::format("{}{}.{}{}", formats::kUploadsFolder, object, to_hex(xxh3_64(as_bytes(upload_id))), kRecordEnding);
}

std::string object_of_record(std::string_view name) {
  if (!name.starts_with(formats::kUploadsFolder) || !name.ends_with(kRecordEnding)) return {};
  name.remove_prefix(std::string_view(formats::kUploadsFolder).size());
  name.remove_suffix(kRecordEnding.size());
  std::uint64_t id = 0;  // records of older versions have none
  const std::size_t dot = name.rfind('.');
  const bool has_id =
      dot != std::string_view::npos && name.size() - dot - 1 == kIdDigits && parse_hex(name.substr(dot + 1), id);
  return std::string(has_id ? name.substr(0, dot) : name);
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
  if (error.code() != ErrorCode::io && error.code() != ErrorCode::corrupt) throw;
  return {};
}

bool remove_record(io::ObjectStore& store, const std::string& name, const std::stop_token& stop) try {
  store.remove(name, stop);
  return true;
} catch (const Error& error) {
  if (error.code() != ErrorCode::denied) throw;
  return false;
}

}  // namespace shardkit::dataset
