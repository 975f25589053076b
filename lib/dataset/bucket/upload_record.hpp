#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/hash.hpp"

/// What an upload keeps at the store until it has finished, so that a process without a disk can continue it.
namespace shardkit::dataset {

/// An upload into a folder: the object formats::kUploadRecord there.
struct UploadRecord {
  std::string set;  ///< the hash of the manifest; empty for files without one
};
std::string to_text(const UploadRecord& record);
/// Empty for a text that is not a record.
std::optional<UploadRecord> read_upload_record(std::string_view text);

/// An object that is written in parts.
struct PartsRecord {
  std::string upload_id;
  std::uint64_t bytes = 0;
  std::uint64_t part_bytes = 0;
  ChecksumKind checksum = ChecksumKind::md5;  ///< of each part

  /// Whether an upload of the same shape can continue it.
  bool fits(const PartsRecord& other) const {
    return bytes == other.bytes && part_bytes == other.part_bytes && checksum == other.checksum;
  }
};
/// The name of the record for an object.
std::string parts_record_name(const std::string& object);
std::string to_text(const PartsRecord& record);
/// Empty for a text that is not a record.
std::optional<PartsRecord> read_parts_record(std::string_view text);

}  // namespace shardkit::dataset
