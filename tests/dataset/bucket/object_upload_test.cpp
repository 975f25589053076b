#include "dataset/bucket/object_upload.hpp"

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "net/bucket_server.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit_test;
using io::StoreChecks, io::Written;

namespace {

const std::vector<std::string> kBlocks{std::string(100, 'a'), std::string(100, 'b'), std::string(100, 'c'), "end"};
const std::string kWhole = kBlocks[0] + kBlocks[1] + kBlocks[2] + kBlocks[3];
constexpr StoreChecks kCrc{ChecksumKind::xxhash128, ChecksumKind::crc64nvme, true};
constexpr StoreChecks kMd5{};
constexpr StoreChecks kNothing{ChecksumKind::md5, ChecksumKind::md5, false};  // own ETags, no checksums

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

/// A command that uploads "x", after it has listed what there is.
struct Command {
  explicit Command(BucketServer& server, const StoreChecks& checks = kCrc)
      : store(server.store("set")), uploads(*store, checks, listed(*store), context) {}

  static StoreListing listed(io::ObjectStore& store) {
    StoreListing objects;
    for (io::ObjectInfo& object : store.list()) objects.emplace(object.name, std::move(object));
    return objects;
  }
  std::unique_ptr<ObjectUpload> open() { return uploads.open("x", kWhole.size(), 100); }

  Context context;
  std::unique_ptr<io::ObjectStore> store;
  Uploads uploads;
};

std::uint64_t write_all(ObjectUpload& upload) {
  std::uint64_t sent = 0;
  for (std::uint64_t i : {2, 0, 3, 1}) sent += upload.write(i, as_bytes(kBlocks.at(i)), {}) ? kBlocks.at(i).size() : 0;
  return sent;
}

/// Nothing is left open, and no record.
void check_clean(const BucketServer& server) {
  CHECK(server.open_uploads() == 0);
  for (const auto& [key, object] : server.objects()) CHECK(key.find(".shardkit/uploads/") == std::string::npos);
}

/// Writes an object in parts through `faults` of its last request.
Written finish_with(BucketServer& server, std::vector<WriteFault> faults, const StoreChecks& checks = kCrc) {
  Command command(server, checks);
  const auto upload = command.open();
  write_all(*upload);
  break_next(server, "POST", "uploadId", std::move(faults));
  return upload->finish({});
}

/// How a store without a proof of its objects is set up.
void take_proofs(BucketServer& server) {
  server.checksums = {};
  server.has_own_etags = true;
}

}  // namespace

TEST_CASE("whatever happens to an upload in parts, it ends with the right bytes, and nothing stays open") {
  for (const WriteFault fault :
       {WriteFault::none, WriteFault::busy, WriteFault::dropped, WriteFault::lost, WriteFault::failed_after,
        WriteFault::error_in_200, WriteFault::error_after, WriteFault::expired, WriteFault::skewed}) {
    for (const auto& [method, target] : {std::pair("POST", "uploads"), {"PUT", "partNumber=2"}, {"POST", "uploadId"}}) {
      for (const Conditions conditions : {Conditions::work, Conditions::unknown, Conditions::ignored}) {
        for (const StoreChecks& checks : {kCrc, kMd5, kNothing}) {
          CAPTURE(static_cast<int>(fault));
          CAPTURE(target);
          BucketServer server;
          server.conditions = conditions;
          if (!checks.versions_are_md5) take_proofs(server);
          Command command(server, checks);
          break_next(server, method, target, {fault});
          const auto upload = command.open();
          CHECK(write_all(*upload) == kWhole.size());
          CHECK(upload->finish({}) == Written::done);
          CHECK(server.bytes("set/x") == kWhole);
          check_clean(server);
        }
      }
    }
  }
}

TEST_CASE("an end whose answer is lost is settled by looking at the object, not by its repetition") {
  for (const WriteFault fault : {WriteFault::lost, WriteFault::failed_after, WriteFault::error_after}) {
    BucketServer server;
    CHECK(finish_with(server, {fault}) == Written::done);
    CHECK(server.bytes("set/x") == kWhole);
    if (fault != WriteFault::lost) CHECK(server.count("POST", "uploadId") == 1);  // libcurl itself repeats a lost one
  }
}

TEST_CASE("an end without an answer does not wait for ever: the object decides") {
  BucketServer server;
  server.longest_answer = system::Seconds(0.5);
  CHECK(finish_with(server, {WriteFault::silent}) == Written::done);
  CHECK(server.bytes("set/x") == kWhole);
}

TEST_CASE("an end that another one prevents needs a new upload") {
  BucketServer server;
  CHECK(finish_with(server, {WriteFault::conflict}) == Written::lost);
  CHECK(server.objects().empty());
  check_clean(server);
}

TEST_CASE("of two uploads with the same bytes both are done, with other bytes the second finds that one exists") {
  for (const Conditions conditions : {Conditions::work, Conditions::unknown, Conditions::ignored}) {
    for (const StoreChecks& checks : {kCrc, kMd5, kNothing}) {
      for (const bool is_same : {true, false}) {
        for (const bool is_shared : {true, false}) {
          CAPTURE(static_cast<int>(conditions));
          CAPTURE(is_same);
          CAPTURE(is_shared);
          BucketServer server;
          server.conditions = conditions;
          if (!checks.versions_are_md5) take_proofs(server);
          Command first(server, checks);
          auto one = is_shared ? first.open() : nullptr;
          if (one) write_all(*one);
          Command second(server, checks);
          const auto two = second.open();
          if (!one) one = first.open();
          if (!is_shared) write_all(*one);
          write_all(*two);
          if (!is_same) CHECK(two->write(0, as_bytes(std::string_view(std::string(100, 'o'))), {}));
          const bool is_with_end = is_shared && !is_same;
          CHECK(two->finish({}) == Written::done);
          CHECK(one->finish({}) == (is_same ? Written::done : Written::exists));
          if (!is_with_end) CHECK((server.bytes("set/x") == kWhole) == is_same);
          check_clean(server);
        }
      }
    }
  }
}

TEST_CASE("a store that keeps other bytes than it was sent is an error") {
  BucketServer server;
  CHECK(failure_of([&] { finish_with(server, {WriteFault::damaged}); }) == ErrorCode::corrupt);
}

TEST_CASE("a part that arrives damaged is sent again at once") {
  BucketServer server;
  Command command(server, kMd5);
  const auto upload = command.open();
  break_next(server, "PUT", "partNumber", {WriteFault::other_part});
  write_all(*upload);
  CHECK(server.count("PUT", "partNumber") == kBlocks.size() + 1);
  CHECK(upload->finish({}) == Written::done);
  CHECK(server.bytes("set/x") == kWhole);
  const auto broken = command.uploads.open("y", 5, 5);
  break_next(server, "PUT", "partNumber", std::vector<WriteFault>(9, WriteFault::other_part));
  CHECK(failure_of([&] { broken->write(0, as_bytes(std::string_view("bytes")), {}); }) == ErrorCode::corrupt);
}

TEST_CASE("an upload continues with the parts that the store has, of all pages of their listing") {
  for (const StoreChecks& checks : {kCrc, kMd5}) {
    BucketServer server;
    {
      Command command(server, checks);
      const auto upload = command.open();
      write_all(*upload);
      upload->write(1, as_bytes(std::string_view(std::string(100, 'o'))), {});  // of equal size
    }
    Command command(server, checks);
    const auto upload = command.open();
    CHECK(write_all(*upload) == kBlocks[1].size());
    CHECK(upload->finish({}) == Written::done);
    CHECK(server.bytes("set/x") == kWhole);
    CHECK(server.count("GET", "part-number-marker") == 1);
    check_clean(server);
  }
}

TEST_CASE("uploads of another shape, and those whose record was never written, are given up by the next command") {
  BucketServer server;
  Command(server).uploads.open("x", kWhole.size(), 50);
  server.begin("set/x");
  server.begin("set/y");  // another program's
  Command command(server);
  const auto upload = command.open();
  write_all(*upload);
  CHECK(upload->finish({}) == Written::done);
  CHECK(server.open_uploads() == 1);
}

TEST_CASE("an upload whose record cannot be written, or whose command is refused, does not stay open") {
  BucketServer server;
  Command command(server);
  break_next(server, "PUT", ".upload", {WriteFault::denied});
  CHECK(failure_of([&] { command.open(); }) == ErrorCode::denied);
  check_clean(server);
  {
    const auto upload = command.open();
    upload->write(0, as_bytes(kBlocks[0]), {});
    command.uploads.refuse();
  }
  check_clean(server);
}

TEST_CASE("a stop at the begin of an upload leaves its record, by which the next command continues it") {
  BucketServer server;
  std::stop_source stop;
  {
    Context context(stop.get_token());
    const auto store = server.store("set");
    Uploads uploads(*store, kCrc, {}, context);
    server.set_fault([&](const ServedRequest& request) {
      if (request.method == "POST") stop.request_stop();
      return WriteFault::none;
    });
    const auto upload = uploads.open("x", kWhole.size(), 100);
    CHECK(failure_of([&] { upload->write(0, as_bytes(kBlocks[0]), stop.get_token()); }) == ErrorCode::cancelled);
  }
  CHECK(server.open_uploads() == 1);
  CHECK(server.objects().size() == 1);
  Command command(server);
  const auto upload = command.open();
  write_all(*upload);
  CHECK(upload->finish({}) == Written::done);
  check_clean(server);
}

TEST_CASE("a part for an upload that no longer exists means that all of it is lost") {
  BucketServer server;
  Command command(server);
  const auto upload = command.open();
  upload->write(0, as_bytes(kBlocks[0]), {});
  upload->give_up({});
  upload->give_up({});
  CHECK(upload->write(1, as_bytes(kBlocks[1]), {}));
  CHECK(upload->finish({}) == Written::lost);
}

/// Writes an object by two commands, the second of which continues the upload of the first. Returns the checksum of the
/// whole object that was sent at last.
std::string continue_upload(BucketServer& server) {
  Command(server).open()->write(0, as_bytes(kBlocks[0]), {});
  Command second(server);
  const auto upload = second.open();
  write_all(*upload);
  CHECK(upload->finish({}) == Written::done);
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
  CHECK(continue_upload(server) == net::base64_of(checksum_of(ChecksumKind::crc64nvme, as_bytes(kWhole))));
}
