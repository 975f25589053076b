#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/hash.hpp"
#include "io/object_writer.hpp"

/// Uploads that a process without a disk can continue, because their records are at the store until they have finished.
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

inline constexpr std::uint64_t kMostParts = 10'000;  ///< of an object of S3

/// The smallest parts, in whole MiB, of which an object has no more than kMostParts.
std::uint64_t least_part_bytes(std::uint64_t size);

/// Throws Error{usage} for an object whose key is longer than S3 allows.
void require_key_fits(const io::ObjectStore& store, const std::string& name);

/// A record that was listed; empty if another process has removed or replaced it since.
std::string record_text(io::ObjectStore& store, const io::ObjectInfo& record, const std::stop_token& stop);

/// False if the store denies it.
bool remove_record(io::ObjectStore& store, const std::string& name, const std::stop_token& stop);

/// The writer of an object in parts. Continues the upload of `earlier` if it has the shape of `wanted` and parts; gives
/// up any other, and begins one. Its record is at the store until somebody removes it. The id of `wanted` is ignored.
/// `store` outlives the writer.
std::unique_ptr<io::ObjectWriter> open_upload(io::ObjectStore& store, const std::string& name,
                                              const io::StoreChecks& checks, PartsRecord wanted,
                                              const std::optional<PartsRecord>& earlier, const std::stop_token& stop);

}  // namespace shardkit::dataset
