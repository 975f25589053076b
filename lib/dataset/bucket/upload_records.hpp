#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/hash.hpp"
#include "io/object_store.hpp"

/// The objects in ".shardkit/uploads/" by which commands that write to a bucket know of each other (formats.md,
/// "Uploads").
namespace shardkit::dataset {

/// Objects below a prefix, by name.
using StoreListing = std::map<std::string, io::ObjectInfo>;

/// The records of all kinds at the top of the store.
StoreListing list_records(io::ObjectStore& store);

/// An upload into a folder that has not finished: formats::kUploadRecord there.
struct UploadRecord {
  std::string set;  ///< the hash of the manifest; empty for files without one
};
std::string to_text(const UploadRecord& record);
/// Empty for a text that is not a record.
std::optional<UploadRecord> read_upload_record(std::string_view text);

/// The command that writes to a folder: kWriterRecord there.
struct WriterRecord {
  std::string writes;  ///< commands with equal ones may work together: "plan HASH", "upload HASH", "index"
  std::string host;
  std::uint64_t process = 0;
  std::string started_at;  ///< RFC 3339
};
inline constexpr const char* kWriterRecord = ".shardkit/uploads/writer.json";
std::string to_text(const WriterRecord& record);
/// Empty for a text that is not a record.
std::optional<WriterRecord> read_writer_record(std::string_view text);

/// The object with which a command tries what the store can do.
inline constexpr const char* kProbe = ".shardkit/uploads/probe";

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
/// The name of the record of an upload of an object: two at a time have two records.
std::string parts_record_name(const std::string& object, std::string_view upload_id);
/// The object of a record with that name; empty for other names.
std::string object_of_record(std::string_view name);
std::string to_text(const PartsRecord& record);
/// Empty for a text that is not a record.
std::optional<PartsRecord> read_parts_record(std::string_view text);

inline constexpr std::uint64_t kMostParts = 10'000;  ///< of an object of S3

/// The smallest parts, in whole MiB, of which an object has no more than kMostParts.
std::uint64_t least_part_bytes(std::uint64_t size);

/// Throws Error{usage} if the key of an object, or of its record, is longer than S3 allows.
void require_key_fits(const io::ObjectStore& store, const std::string& name);

/// A record that was listed; empty if another process has removed or replaced it since.
std::string record_text(io::ObjectStore& store, const io::ObjectInfo& record, const std::stop_token& stop);

/// False if the store denies it.
bool remove_record(io::ObjectStore& store, const std::string& name, const std::stop_token& stop);

}  // namespace shardkit::dataset
