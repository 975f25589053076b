#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/hash.hpp"
#include "io/object_store.hpp"

namespace shardkit::io {

/// The checksums by which a store shows that it keeps the bytes it was sent.
struct StoreChecks {
  ChecksumKind object = ChecksumKind::md5;  ///< of an object that is sent whole
  ChecksumKind part = ChecksumKind::md5;    ///< of a part
  bool versions_are_md5 = true;  ///< ETags are made from MD5s; not if the store encrypts with a key of its own
};

/// Finds out which checksums the store keeps, by writing `bytes` as the object `name`, with the strongest first:
/// XXH3-128, CRC-64/NVME, MD5.
StoreChecks find_checks(ObjectStore& store, const std::string& name, Bytes bytes, const std::stop_token& stop);

/// What is known of `bytes` before they are sent as a whole object.
ObjectProof proof_of(Bytes bytes, const StoreChecks& checks);

/// The version that S3 gives an object in parts: the MD5 of their MD5s, and their number. Empty if a part's version is
/// not an MD5.
std::string version_of_parts(const std::vector<UploadPart>& parts);

/// Writes a large object as blocks of a fixed size, the last of which may be shorter. Each block is in memory only
/// during its write(). Thread-safe.
class ObjectWriter {
 public:
  /// Continues the upload `id`, or begins one if it is empty. A stop does not interrupt the beginning, because an
  /// upload whose id is unknown stays open. `store` outlives the writer.
  ObjectWriter(ObjectStore& store, std::string name, const StoreChecks& checks, std::string id,
               const std::stop_token& stop);

  const OpenUpload& upload() const { return upload_; }
  /// Whether the store had parts of it when the writer was made; without, it may have forgotten the upload.
  bool continues() const { return !known_.empty(); }

  /// Writes block `index`, in any order. False if the store has it already: then nothing is sent.
  bool write(std::uint64_t index, Bytes block, const std::stop_token& stop);

  /// After all blocks, and their writes, have ended. Written::lost: all of them have to be written again, by another
  /// writer.
  Written finish(const std::stop_token& stop);

  /// Whether the store has an object with these bytes, whoever wrote it: after another outcome than Written::done.
  bool is_there();

  void abandon(const std::stop_token& stop) { store_.abandon(upload_, stop); }

 private:
  std::vector<UploadPart> parts() const;
  ObjectProof proof(const std::vector<UploadPart>& parts) const;
  bool has(std::uint64_t number, const Checksum& checksum, std::uint64_t size);

  ObjectStore& store_;
  const StoreChecks checks_;
  OpenUpload upload_;
  std::mutex mutex_;
  std::map<std::uint64_t, UploadPart> known_;    ///< at the store when the writer was made
  std::map<std::uint64_t, UploadPart> written_;  ///< by number
  bool is_lost_ = false;
};

}  // namespace shardkit::io
