#pragma once

#include <stop_token>
#include <string>
#include <string_view>
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
  bool keeps_objects = false;    ///< it never replaces an object that must be new
};

/// Finds out which checksums the store keeps, by writing `bytes` as the object `name`, with the strongest first:
/// XXH3-128, CRC-64/NVME, MD5. Replaces an object of that name.
StoreChecks find_checks(ObjectStore& store, const std::string& name, Bytes bytes, const std::stop_token& stop);

/// What is known of `bytes` before they are sent as a whole object.
ObjectProof proof_of(Bytes bytes, const StoreChecks& checks);

/// Writes a whole object that must be new, or have these bytes: false if it has others. Reads an object whose checksum
/// and version prove nothing.
bool put_new(ObjectStore& store, const std::string& name, Bytes bytes, const StoreChecks& checks,
             const std::stop_token& stop);

/// The version that S3 gives an object with this MD5: a quoted ETag.
std::string md5_version(std::string_view digits);
/// The digits of a version that is an MD5; empty for another.
std::string md5_of_version(const std::string& version);
/// The version that S3 gives an object in parts: the MD5 of their MD5s, and their number. Empty if a part's version is
/// not an MD5.
std::string version_of_parts(const std::vector<UploadPart>& parts);

}  // namespace shardkit::io
