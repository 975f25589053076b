#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "io/store_checks.hpp"
#include "net/bucket_server.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

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

}  // namespace

TEST_CASE("the strongest checksum that the store keeps is used") {
  struct Row {
    std::set<std::string> keeps;
    ChecksumKind object, part;
    bool has_own_etags = false;
    bool refuses_headers = false;  ///< as wrong signatures
  };
  for (const Row& row :
       {Row{{"xxhash128", "crc64nvme"}, ChecksumKind::xxhash128, ChecksumKind::crc64nvme},
        Row{{"crc64nvme"}, ChecksumKind::crc64nvme, ChecksumKind::crc64nvme},
        Row{{}, ChecksumKind::md5, ChecksumKind::md5}, Row{{}, ChecksumKind::md5, ChecksumKind::md5, true},
        Row{{}, ChecksumKind::md5, ChecksumKind::md5, false, true}}) {
    BucketServer server;
    server.checksums = row.keeps;
    server.has_own_etags = row.has_own_etags;
    server.set_fault([&](const ServedRequest& request) {
      const bool has_header =
          !request.header("x-amz-checksum-xxhash128").empty() || !request.header("x-amz-checksum-crc64nvme").empty();
      return row.refuses_headers && has_header ? WriteFault::denied : WriteFault::none;
    });
    const StoreChecks checks = find_checks(*server.store(), "probe", as_bytes(std::string_view("text")), {});
    CHECK(checks.object == row.object);
    CHECK(checks.part == row.part);
    CHECK(checks.versions_are_md5 != row.has_own_etags);
    CHECK(put(*server.store("set"), "bytes", checks) == Written::done);
  }
}

TEST_CASE("whether a store keeps an object that must be new is tried, for whole objects and those in parts") {
  for (const auto& [conditions, keeps] : {std::pair(Conditions::work, true),
                                          {Conditions::unknown, false},
                                          {Conditions::ignored, false},
                                          {Conditions::ignored_for_uploads, false}}) {
    BucketServer server;
    server.conditions = conditions;
    server.put("probe", "text");
    CHECK(server.store()->keeps_objects("probe", as_bytes(std::string_view("text")), {}) == keeps);
    CHECK(server.bytes("probe") == "text");
    CHECK(server.open_uploads() == 0);
  }
}

TEST_CASE("an upload whose begin was not answered does not stay open") {
  for (const WriteFault fault : {WriteFault::lost, WriteFault::failed_after, WriteFault::error_after}) {
    BucketServer server;
    const std::string other = server.begin("set/y");
    const std::string older = server.begin("set/x");
    server.clock().advance(std::chrono::minutes(5));
    break_next(server, "POST", "uploads", {fault, fault});
    const auto store = server.store("set");
    const std::string id = store->begin("x", ChecksumKind::md5, {});
    CHECK(server.open_uploads() ==
          3);  // that of the other object, one of an earlier command, and the one that is known
    store->abandon({"x", id}, {});
    CHECK(server.open_uploads() == 2);
    break_next(server, "POST", "uploads", std::vector<WriteFault>(20, fault));
    CHECK(failure_of([&] { store->begin("x", ChecksumKind::md5, {}); }) == ErrorCode::network);
    CHECK(server.open_uploads() == 2);
  }
}

TEST_CASE("an object is written with its checksum, its wishes and a condition; the answer proves its bytes") {
  BucketServer server;
  const auto store = server.store("set", {{"x-amz-storage-class", "STANDARD_IA"}});
  CHECK(put(*store, "bytes") == Written::done);
  CHECK(server.bytes("set/x") == "bytes");
  const auto requests = server.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].method == "HEAD");  // nobody knows yet whether the store heeds the condition
  CHECK(requests[1].header("x-amz-storage-class") == "STANDARD_IA");
  CHECK(requests[1].header("if-none-match") == "*");
  CHECK(requests[1].header("x-amz-content-sha256") == "UNSIGNED-PAYLOAD");
  CHECK_FALSE(requests[1].header("x-amz-checksum-xxhash128").empty());
  CHECK(store->keeps_objects("x", as_bytes(std::string_view("bytes")), {}));
  const std::size_t before = server.requests().size();
  CHECK(store->put("y", as_bytes(std::string_view("b")), proof_of(as_bytes(std::string_view("b")), kMd5), false, {}) ==
        Written::done);
  CHECK(server.requests().size() == before + 1);
}

TEST_CASE(
    "an object with other bytes is not replaced, one with the same is done, whatever the store makes of conditions") {
  for (const Conditions conditions : {Conditions::work, Conditions::unknown, Conditions::ignored}) {
    BucketServer server;
    server.conditions = conditions;
    const auto store = server.store("set");
    server.put("set/x", "other");
    CHECK(put(*store, "bytes") == Written::exists);
    CHECK(put(*store, "BYTES") == Written::exists);  // of the same size
    CHECK(server.bytes("set/x") == "other");
    CHECK(put(*store, "other", kMd5) == Written::done);
    CHECK(store->put("x", as_bytes(std::string_view("new")), {3}, true, {}) == Written::done);
    CHECK(server.bytes("set/x") == "new");
  }
}

TEST_CASE("an object whose checksum and version prove nothing is read, to see whether it has the bytes") {
  BucketServer server;
  server.checksums = {};
  server.has_own_etags = true;
  const auto store = server.store("set");
  constexpr StoreChecks kNone{ChecksumKind::md5, ChecksumKind::md5, false};
  for (const std::string bytes : {"", "bytes"}) {
    server.put("set/x", bytes);
    CHECK(put_new(*store, "x", as_bytes(bytes), kNone, {}));
  }
  CHECK_FALSE(put_new(*store, "x", as_bytes(std::string_view("other")), kNone, {}));
  CHECK(server.bytes("set/x") == "bytes");
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
  }
}

TEST_CASE("a store that keeps other bytes than it was sent is an error") {
  BucketServer server;
  const auto store = server.store("set");
  break_next(server, "PUT", "/x", {WriteFault::damaged});
  const Failure damaged = failure_of([&] { put(*store, "bytes"); });
  CHECK(damaged == ErrorCode::corrupt);
  CHECK(damaged.says("s3://bucket/set/x"));
}

TEST_CASE("a refusal is final, and says that the credentials may not write") {
  BucketServer server;
  const auto store = server.store("set");
  break_next(server, "PUT", "/x", {WriteFault::denied});
  const Failure denied = failure_of([&] { put(*store, "bytes"); });
  CHECK(denied == ErrorCode::denied);
  CHECK(denied.says("may not write it"));
  CHECK(server.count("PUT", "") == 1);
}

TEST_CASE("an upload in parts begins with the wishes for new objects, too") {
  BucketServer server;
  server.store("set", {{"x-amz-server-side-encryption", "AES256"}})->begin("x", ChecksumKind::md5, {});
  CHECK(server.requests().back().header("x-amz-server-side-encryption") == "AES256");
}

TEST_CASE("a store that repeats a page of its open uploads is refused") {
  BucketServer server;
  const auto store = server.store("set");
  for (const char* name : {"a", "b", "c"}) store->begin(name, ChecksumKind::md5, {});
  server.repeats_pages = true;
  CHECK(failure_of([&] { store->uploads("", {}); }) == ErrorCode::corrupt);
}

TEST_CASE("open uploads are listed below the folder, all pages, and given up") {
  BucketServer server;
  const auto store = server.store("set");
  for (const char* name : {"a b", "c", "d", "e", "f"}) store->begin(name, ChecksumKind::md5, {});
  server.store("other")->begin("z", ChecksumKind::md5, {});
  const auto found = store->uploads("", {});
  REQUIRE(found.size() == 5);
  CHECK(found[0].name == "a b");
  CHECK(store->uploads("c", {}).size() == 1);
  for (const OpenUpload& upload : found) store->abandon(upload, {});
  CHECK(store->uploads("", {}).empty());
  CHECK(server.open_uploads() == 1);
}
