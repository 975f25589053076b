#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "io/object_writer.hpp"
#include "net/bucket_server.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

const std::vector<std::string> kBlocks{std::string(100, 'a'), std::string(100, 'b'), std::string(100, 'c'), "end"};
const std::string kWhole = kBlocks[0] + kBlocks[1] + kBlocks[2] + kBlocks[3];
constexpr StoreChecks kCrc{ChecksumKind::xxhash128, ChecksumKind::crc64nvme, true};
constexpr StoreChecks kMd5{};

/// Faults for the next requests of a kind, one for each.
void break_next(BucketServer& server, const std::string& method, const std::string& target,
                std::vector<WriteFault> faults) {
  server.set_fault([=](const ServedRequest& request) mutable {
    const bool is_meant = request.method == method && request.target.find(target) != std::string::npos;
    if (!is_meant || faults.empty()) return WriteFault::none;
    const WriteFault fault = faults.front();
    faults.erase(faults.begin());
    return fault;
  });
}

Written put(ObjectStore& store, const std::string& text, const StoreChecks& checks = kCrc) {
  return store.put("x", as_bytes(text), proof_of(as_bytes(text), checks), false, {});
}

std::uint64_t write_all(ObjectWriter& writer) {
  std::uint64_t sent = 0;
  for (std::uint64_t i : {2, 0, 3, 1}) sent += writer.write(i, as_bytes(kBlocks.at(i)), {}) ? kBlocks.at(i).size() : 0;
  return sent;
}

/// Writes an object in parts through `faults` of its last request.
Written finish_with(BucketServer& server, std::vector<WriteFault> faults, const StoreChecks& checks = kCrc) {
  const auto store = server.store("set");
  ObjectWriter writer(*store, "x", checks, "", {});
  write_all(writer);
  break_next(server, "POST", "uploadId", std::move(faults));
  return writer.finish({});
}

}  // namespace

TEST_CASE("the strongest checksum that the store keeps is used") {
  BucketServer all;
  CHECK(find_checks(*all.store(), "probe", as_bytes(std::string_view("text")), {}).object == ChecksumKind::xxhash128);
  BucketServer crc;
  crc.checksums = {"crc64nvme"};
  const StoreChecks weaker = find_checks(*crc.store(), "probe", as_bytes(std::string_view("text")), {});
  CHECK(weaker.object == ChecksumKind::crc64nvme);
  CHECK(weaker.part == ChecksumKind::crc64nvme);
  BucketServer none;
  none.checksums = {};
  const StoreChecks weakest = find_checks(*none.store(), "probe", as_bytes(std::string_view("text")), {});
  CHECK(weakest.object == ChecksumKind::md5);
  CHECK(weakest.part == ChecksumKind::md5);
  CHECK(weakest.versions_are_md5);
  BucketServer encrypting;
  encrypting.checksums = {};
  encrypting.has_own_etags = true;
  CHECK_FALSE(find_checks(*encrypting.store(), "probe", as_bytes(std::string_view("text")), {}).versions_are_md5);
  CHECK(put(*encrypting.store("set"), "bytes", {ChecksumKind::md5, ChecksumKind::md5, false}) == Written::done);
}

TEST_CASE("an object is written with its checksum, its wishes and a condition, and looked at afterwards") {
  BucketServer server;
  const auto store = server.store("set", {{"x-amz-storage-class", "STANDARD_IA"}});
  CHECK(put(*store, "bytes") == Written::done);
  CHECK(server.bytes("set/x") == "bytes");
  const auto requests = server.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].header("x-amz-storage-class") == "STANDARD_IA");
  CHECK(requests[0].header("if-none-match") == "*");
  CHECK(requests[0].header("x-amz-content-sha256") == "UNSIGNED-PAYLOAD");
  CHECK_FALSE(requests[0].header("x-amz-checksum-xxhash128").empty());
  CHECK(requests[1].method == "HEAD");
}

TEST_CASE("an object with other bytes is not replaced, one with the same is done") {
  BucketServer server;
  const auto store = server.store("set");
  server.put("set/x", "other");
  CHECK(put(*store, "bytes") == Written::exists);
  CHECK(server.bytes("set/x") == "other");
  CHECK(put(*store, "other", kMd5) == Written::done);
  CHECK(store->put("x", as_bytes(std::string_view("new")), {3}, true, {}) == Written::done);
  CHECK(server.bytes("set/x") == "new");
}

TEST_CASE("a store without conditions gets none") {
  BucketServer server;
  server.has_conditions = false;
  const auto store = server.store("set");
  CHECK(put(*store, "bytes") == Written::done);
  CHECK(server.requests()[1].header("if-none-match").empty());
  server.erase("set/x");
  CHECK(finish_with(server, {}) == Written::done);
  CHECK(server.bytes("set/x") == kWhole);
}

TEST_CASE("whatever happens to a write, it ends with the right bytes") {
  for (const WriteFault fault :
       {WriteFault::busy, WriteFault::dropped, WriteFault::lost, WriteFault::failed_after, WriteFault::error_in_200,
        WriteFault::error_after, WriteFault::expired, WriteFault::skewed, WriteFault::conflict}) {
    CAPTURE(static_cast<int>(fault));
    for (const StoreChecks& checks : {kCrc, kMd5}) {
      BucketServer server;
      const auto store = server.store("set");
      break_next(server, "PUT", "/x", {fault});
      CHECK(put(*store, "bytes", checks) == Written::done);
      CHECK(server.bytes("set/x") == "bytes");
    }
    if (fault == WriteFault::conflict) continue;
    for (const auto& [method, target] : {std::pair("POST", "uploads"), {"PUT", "partNumber=2"}, {"POST", "uploadId"}}) {
      CAPTURE(target);
      for (const StoreChecks& checks : {kCrc, kMd5}) {
        BucketServer server;
        break_next(server, method, target, {fault});
        const auto store = server.store("set");
        ObjectWriter writer(*store, "x", checks, "", {});
        CHECK(write_all(writer) == kWhole.size());
        CHECK(writer.finish({}) == Written::done);
        CHECK(server.bytes("set/x") == kWhole);
      }
    }
  }
}

TEST_CASE("a finish whose answer is lost is settled by looking at the object, not by its repetition") {
  for (const WriteFault fault : {WriteFault::lost, WriteFault::failed_after, WriteFault::error_after}) {
    BucketServer server;
    CHECK(finish_with(server, {fault}) == Written::done);
    CHECK(server.bytes("set/x") == kWhole);
    CHECK(server.open_uploads() == 0);
    if (fault != WriteFault::lost) CHECK(server.count("POST", "uploadId") == 1);  // libcurl itself repeats a lost one
  }
}

TEST_CASE("a finish that another one prevents needs a new upload") {
  BucketServer server;
  CHECK(finish_with(server, {WriteFault::conflict}) == Written::lost);
  CHECK(server.objects().empty());
}

TEST_CASE("an upload that another process finished with the same bytes is done, with other bytes it exists") {
  for (const bool is_same : {true, false}) {
    BucketServer server;
    const auto store = server.store("set");
    ObjectWriter writer(*store, "x", kMd5, "", {});
    write_all(writer);
    ObjectWriter other(*store, "x", kMd5, writer.upload().id, {});
    CHECK(write_all(other) == 0);
    if (!is_same) CHECK(other.write(0, as_bytes(std::string_view("other")), {}));
    CHECK(other.finish({}) == Written::done);
    CHECK(writer.finish({}) == (is_same ? Written::done : Written::exists));
  }
}

TEST_CASE("a store that keeps other bytes than it was sent is an error") {
  BucketServer server;
  const auto store = server.store("set");
  break_next(server, "PUT", "/x", {WriteFault::damaged});
  const Failure damaged = failure_of([&] { put(*store, "bytes"); });
  CHECK(damaged == ErrorCode::corrupt);
  CHECK(damaged.says("s3://bucket/set/x"));
  BucketServer parts;
  CHECK(failure_of([&] { finish_with(parts, {WriteFault::damaged}); }) == ErrorCode::corrupt);
}

TEST_CASE("a refusal is final, and says that the credentials may not write") {
  BucketServer server;
  const auto store = server.store("set");
  break_next(server, "PUT", "/x", {WriteFault::denied});
  const Failure denied = failure_of([&] { put(*store, "bytes"); });
  CHECK(denied == ErrorCode::denied);
  CHECK(denied.says("may not write it"));
  CHECK(server.requests().size() == 1);
}

TEST_CASE("an upload continues with the parts that the store has, of all pages of their listing") {
  for (const StoreChecks& checks : {kCrc, kMd5}) {
    BucketServer server;
    const auto store = server.store("set");
    std::string id;
    {
      ObjectWriter writer(*store, "x", checks, "", {});
      id = writer.upload().id;
      write_all(writer);
      writer.write(1, as_bytes(std::string_view("other bytes")), {});
    }
    ObjectWriter writer(*store, "x", checks, id, {});
    CHECK(write_all(writer) == kBlocks[1].size());
    CHECK(writer.finish({}) == Written::done);
    CHECK(server.bytes("set/x") == kWhole);
    CHECK(server.count("GET", "part-number-marker") == 1);
  }
}

TEST_CASE("a part for an upload that no longer exists means that all of it is lost") {
  BucketServer server;
  const auto store = server.store("set");
  ObjectWriter writer(*store, "x", kCrc, "", {});
  writer.write(0, as_bytes(kBlocks[0]), {});
  writer.abandon({});
  writer.abandon({});
  CHECK(writer.write(1, as_bytes(kBlocks[1]), {}));
  CHECK(writer.finish({}) == Written::lost);
}

/// Writes an object with two writers, the second of which continues the upload of the first with a store of its own.
/// Returns the checksum of the whole object that was sent at last.
std::string continue_upload(BucketServer& server) {
  const auto first = server.store("set");
  ObjectWriter begun(*first, "x", kCrc, "", {});
  begun.write(0, as_bytes(kBlocks[0]), {});
  const auto second = server.store("set");
  ObjectWriter writer(*second, "x", kCrc, begun.upload().id, {});
  write_all(writer);
  CHECK(writer.finish({}) == Written::done);
  CHECK(server.bytes("set/x") == kWhole);
  for (const ServedRequest& request : server.requests()) {
    if (request.method == "POST" && request.target.find("uploadId") != std::string::npos)
      return request.header("x-amz-checksum-crc64nvme");
  }
  return "never finished";
}

TEST_CASE(
    "a store that makes a checksum of checksums gets none of the whole, and is compared by the ETag of the parts") {
  BucketServer server;
  server.has_composite_checksums = true;
  CHECK(finish_with(server, {}) == Written::done);
  CHECK(server.bytes("set/x") == kWhole);
  CHECK(server.retries == 0);
  BucketServer continued;
  continued.has_composite_checksums = true;
  CHECK(continue_upload(continued) == "");
  BucketServer wrong;
  wrong.has_composite_checksums = true;
  CHECK(failure_of([&] { finish_with(wrong, {WriteFault::damaged}); }) == ErrorCode::corrupt);
}

TEST_CASE("a store that keeps checksums of whole objects compares them, also at the end of a continued upload") {
  BucketServer server;
  CHECK(continue_upload(server) == base64_of(checksum_of(ChecksumKind::crc64nvme, as_bytes(kWhole))));
}

TEST_CASE("open uploads are listed below the folder, all pages, and given up") {
  BucketServer server;
  const auto store = server.store("set");
  for (const char* name : {"a b", "c", "d", "e", "f"}) store->begin(name, ChecksumKind::md5, {});
  server.store("other")->begin("z", ChecksumKind::md5, {});
  const auto found = store->uploads({});
  REQUIRE(found.size() == 5);
  CHECK(found[0].name == "a b");
  for (const OpenUpload& upload : found) store->abandon(upload, {});
  CHECK(store->uploads({}).empty());
  CHECK(server.open_uploads() == 1);
}
