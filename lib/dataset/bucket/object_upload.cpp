#include "dataset/bucket/object_upload.hpp"

#include <utility>

#include "core/error.hpp"
#include "net/url.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::uint64_t kPartUnit = 1ULL << 20U;
constexpr std::size_t kLongestKey = 1024;  // of S3, in bytes
constexpr std::uint64_t kLongestRecord = 1ULL << 20U;

std::uint64_t rounded_up(std::uint64_t size, std::uint64_t unit) { return (size + unit - 1) / unit; }

}  // namespace

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

ObjectUpload::ObjectUpload(io::ObjectStore& store, const std::string& name, const io::StoreChecks& checks,
                           PartsRecord wanted, const std::optional<PartsRecord>& earlier, const std::stop_token& stop)
    : part_bytes_(wanted.part_bytes) {
  if (earlier && earlier->fits(wanted)) {
    writer_.emplace(store, name, checks, earlier->upload_id, stop);
    if (writer_->continues()) return;
  }
  if (earlier) store.abandon({name, earlier->upload_id}, stop);
  writer_.emplace(store, name, checks, "", stop);
  wanted.upload_id = writer_->upload().id;
  const std::string text = to_text(wanted);
  // Also after a stop: nothing else knows the id.
  store.put(parts_record_name(name), as_bytes(text), io::proof_of(as_bytes(text), checks), true, {});
}

}  // namespace shardkit::dataset
