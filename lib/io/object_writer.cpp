#include "io/object_writer.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/fields.hpp"

namespace shardkit::io {
namespace {

std::string md5_version(std::string_view digits) { return fmt::format("\"{}\"", digits); }

/// The digits of an ETag that is an MD5; empty for another.
std::string md5_of_version(const std::string& version) {
  Hash128 ignored;
  const std::string digits = version.size() == 34 ? version.substr(1, 32) : version;
  return parse_hex(digits, ignored) ? digits : "";
}

}  // namespace

StoreChecks find_checks(ObjectStore& store, const std::string& name, Bytes bytes, const std::stop_token& stop) {
  StoreChecks checks;
  for (const ChecksumKind kind : {ChecksumKind::xxhash128, ChecksumKind::crc64nvme, ChecksumKind::md5}) {
    const Checksum checksum = checksum_of(kind, bytes);
    std::optional<ObjectInfo> found;
    try {
      store.put(name, bytes, {bytes.size(), checksum}, true, stop);
      found = store.find(name);
    } catch (const Error& error) {
      if (kind == ChecksumKind::md5 || error.code() != ErrorCode::unsupported) throw;
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

std::string version_of_parts(const std::vector<UploadPart>& parts) {
  ChecksumStream md5(ChecksumKind::md5);
  for (const UploadPart& part : parts) {
    const std::string digits = md5_of_version(part.version);
    if (digits.empty()) return {};
    md5.update(bytes_of_hex(digits));
  }
  return fmt::format("\"{}-{}\"", md5.finish(), parts.size());
}

ObjectWriter::ObjectWriter(ObjectStore& store, std::string name, const StoreChecks& checks, std::string id,
                           const std::stop_token& stop)
    : store_(store), checks_(checks), upload_{std::move(name), std::move(id)} {
  if (upload_.id.empty()) {
    upload_.id = store.begin(upload_.name, checks.part, {});  // also after a stop: only its id can give it up
  } else {
    for (UploadPart& part : store.parts(upload_, stop)) known_.emplace(part.number, std::move(part));
  }
}

/// Whether the store has the part; takes it over.
bool ObjectWriter::has(std::uint64_t number, const Checksum& checksum, std::uint64_t size) {
  const std::scoped_lock lock(mutex_);
  const auto known = known_.find(number);
  if (known == known_.end() || known->second.size != size) return false;
  const bool is_same = checksum.kind == ChecksumKind::md5 ? md5_of_version(known->second.version) == checksum.digits
                                                          : known->second.checksum == checksum;
  if (is_same) written_.insert_or_assign(number, known->second);
  return is_same;
}

bool ObjectWriter::write(std::uint64_t index, Bytes block, const std::stop_token& stop) {
  const Checksum checksum = checksum_of(checks_.part, block);
  if (has(index + 1, checksum, block.size())) return false;
  auto part = store_.send(upload_, index + 1, block, checksum, stop);
  const std::scoped_lock lock(mutex_);
  if (!part) {
    is_lost_ = true;
    const bool is_md5 = checksum.kind == ChecksumKind::md5;
    part = UploadPart{index + 1, block.size(), is_md5 ? md5_version(checksum.digits) : "", checksum};
  }
  written_.insert_or_assign(index + 1, *std::move(part));
  return true;
}

/// A CRC of the whole is put together from those of the parts.
ObjectProof ObjectWriter::proof(const std::vector<UploadPart>& parts) const {
  ObjectProof proof;
  std::uint64_t crc = 0;
  for (const UploadPart& part : parts) {
    proof.size += part.size;
    std::uint64_t next = 0;
    if (part.checksum && parse_hex(part.checksum->digits, next)) crc = combine_crc64nvme(crc, next, part.size);
  }
  if (checks_.part == ChecksumKind::crc64nvme) proof.checksum = Checksum{checks_.part, to_hex(crc)};
  if (checks_.versions_are_md5) proof.version = version_of_parts(parts);
  return proof;
}

std::vector<UploadPart> ObjectWriter::parts() const {
  std::vector<UploadPart> parts;
  for (const auto& [number, part] : written_) parts.push_back(part);
  return parts;
}

Written ObjectWriter::finish(const std::stop_token& stop) {
  if (is_lost_) return Written::lost;
  return store_.finish(upload_, parts(), proof(parts()), stop);
}

bool ObjectWriter::is_there() {
  const auto found = store_.find(upload_.name);
  return found && compare(*found, proof(parts())) == Evidence::same;
}

}  // namespace shardkit::io
