#include "io/store_checks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit::io {

std::string md5_version(std::string_view digits) { return fmt::format("\"{}\"", digits); }

std::string md5_of_version(const std::string& version) {
  Hash128 ignored;
  const std::string digits = version.size() == 34 ? version.substr(1, 32) : version;
  return parse_hex(digits, ignored) ? digits : "";
}

StoreChecks find_checks(ObjectStore& store, const std::string& name, Bytes bytes, const std::stop_token& stop) {
  StoreChecks checks;
  for (const ChecksumKind kind : {ChecksumKind::xxhash128, ChecksumKind::crc64nvme, ChecksumKind::md5}) {
    if (kind != ChecksumKind::md5 && !store.knows_checksums()) continue;
    const Checksum checksum = checksum_of(kind, bytes);
    std::optional<ObjectInfo> found;
    try {
      store.put(name, bytes, {bytes.size(), checksum}, true, stop);
      found = store.find(name);
    } catch (const Error& error) {
      // A store that does not know the header may say that it is unknown, or that the signature is wrong.
      const bool may_be_header = error.code() == ErrorCode::unsupported || error.code() == ErrorCode::denied;
      if (kind == ChecksumKind::md5 || !may_be_header) throw;
    }
    if (kind == ChecksumKind::md5) {
      checks.versions_are_md5 = found && found->version == md5_version(checksum.digits);
    } else if (found && found->checksum == checksum) {
      checks.object = kind;
      break;
    }
  }
  if (checks.object != ChecksumKind::md5) checks.part = ChecksumKind::crc64nvme;
  return checks;
}

ObjectProof proof_of(Bytes bytes, const StoreChecks& checks) {
  ObjectProof proof{bytes.size(), checksum_of(checks.object, bytes)};
  if (checks.object == ChecksumKind::md5 && checks.versions_are_md5)
    proof.version = md5_version(proof.checksum->digits);
  return proof;
}

bool put_new(ObjectStore& store, const std::string& name, Bytes bytes, const StoreChecks& checks,
             const std::stop_token& stop) {
  const ObjectProof proof = proof_of(bytes, checks);
  if (store.put(name, bytes, proof, false, stop) == Written::done) return true;
  const auto found = store.find(name);
  if (!found || compare(*found, proof) != Evidence::none) return found && compare(*found, proof) == Evidence::same;
  std::vector<std::byte> there(bytes.size());
  return fetch_bytes(store, *found, there, stop) == Fetched::whole && std::ranges::equal(there, bytes);
}

std::string version_of_parts(const std::vector<UploadPart>& parts) {
  ChecksumStream md5(ChecksumKind::md5);
  for (const UploadPart& part : parts) {
    const std::string digits = md5_of_version(part.version);
    if (digits.empty()) return {};
    md5.update(bytes_of_hex(digits));
  }
  return fmt::format("\"{}-{}\"", md5.finish(), parts.size());
}

}  // namespace shardkit::io
