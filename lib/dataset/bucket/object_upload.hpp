#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "dataset/bucket/upload_record.hpp"
#include "io/object_writer.hpp"

namespace shardkit::dataset {

inline constexpr std::uint64_t kMostParts = 10'000;  ///< of an object of S3

/// The smallest parts, in whole MiB, of which an object has no more than kMostParts.
std::uint64_t least_part_bytes(std::uint64_t size);

/// Throws Error{usage} for an object whose key is longer than S3 allows.
void require_key_fits(const io::ObjectStore& store, const std::string& name);

/// A record that was listed; empty if another process has removed or replaced it since.
std::string record_text(io::ObjectStore& store, const io::ObjectInfo& record, const std::stop_token& stop);

/// False if the store denies it.
bool remove_record(io::ObjectStore& store, const std::string& name, const std::stop_token& stop);

/// An object that is written in parts. Its record is at the store until somebody removes it, so that a process without
/// a disk can continue inside the object. Thread-safe, as io::ObjectWriter is.
class ObjectUpload {
 public:
  /// Continues the upload of `earlier` if it has the shape of `wanted` and parts; gives up any other, and begins one.
  /// The id of `wanted` is ignored. `store` outlives it.
  ObjectUpload(io::ObjectStore& store, const std::string& name, const io::StoreChecks& checks, PartsRecord wanted,
               const std::optional<PartsRecord>& earlier, const std::stop_token& stop);

  io::ObjectWriter& writer() { return *writer_; }
  std::uint64_t part_bytes() const { return part_bytes_; }

 private:
  std::optional<io::ObjectWriter> writer_;
  std::uint64_t part_bytes_;
};

}  // namespace shardkit::dataset
