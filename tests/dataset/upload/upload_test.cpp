#include "dataset/upload/upload.hpp"

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "dataset/bucket/object_upload.hpp"
#include "dataset/bucket/prefix_claim.hpp"
#include "dataset/stage/stage_support.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "net/bucket_server.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit_test;

namespace {

constexpr std::uint64_t kPartBytes = 100'000;  // about four for a shard

/// A set of three shards here, and a bucket for it.
struct Fixture {
  Fixture() {
    options.part_bytes = kPartBytes;
    options.concurrency = 3;
  }

  UploadResult upload() { return upload(source); }
  UploadResult upload(FakeSource& from, const std::string& manifest = "manifest.json") {
    const auto store = server.store("set");
    Context context;
    staging::StageRequest wanted;
    wanted.manifest_name = manifest;
    return upload_to(*store, from, wanted, options, context);
  }

  UploadResult clean(double older_than_seconds) {
    options.older_than_seconds = older_than_seconds;
    Context context;
    UploadResult result = clean_uploads(*server.store("set"), options, context);
    warned.clear();
    for (const Finding& warning : context.warnings()) warned.push_back(warning.code);
    return result;
  }
  std::vector<std::string> warned;  ///< by the last clean()

  /// What is in the bucket, without records of uploads.
  std::map<std::string, std::string> uploaded() const {
    std::map<std::string, std::string> content;
    for (const auto& [key, object] : server.objects()) {
      if (key.find(".shardkit/uploads/") == std::string::npos) content[key.substr(4)] = object.bytes;
    }
    return content;
  }
  bool has_records() const { return server.objects().size() != uploaded().size(); }

  /// When the object was written for the first time, by the order of requests.
  std::size_t written_at(const std::string& name) const {
    const auto requests = server.requests();
    std::size_t last = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].method != "HEAD" && requests[i].path() == "/bucket/set/" + name) last = i;
    }
    return last;
  }

  Shards shards;
  FakeSource source = shards.fake();
  BucketServer server;
  UploadOptions options;
};

const std::string kFirst = "shard-000000.tar";

}  // namespace

TEST_CASE("a set is uploaded: shards in parts, then their indexes, the manifest last") {
  Fixture set;
  const UploadResult result = set.upload();
  CHECK(set.uploaded() == set.shards.content);
  CHECK_FALSE(set.has_records());
  CHECK(set.server.open_uploads() == 0);
  CHECK(result.files == set.shards.content.size());
  CHECK(result.bytes_sent == result.bytes);
  CHECK(result.bytes_reused == 0);
  CHECK(result.verified_by == "crc64nvme, xxhash128");
  const std::size_t manifest = set.written_at("manifest.json");
  for (const auto& [name, content] : set.shards.content) {
    if (name.ends_with(".index")) CHECK(set.written_at(name) < manifest);
    if (name.ends_with(".tar")) CHECK(set.written_at(name) < set.written_at(".shardkit/" + name + ".index"));
  }
}

TEST_CASE("what is there already is compared and not sent again, whatever the store keeps of it") {
  for (const auto& [has_checksums, has_own_etags] : {std::pair(true, false), {false, false}, {false, true}}) {
    Fixture set;
    if (!has_checksums) set.server.checksums = {};
    set.server.has_own_etags = has_own_etags;
    set.upload();
    const UploadResult again = set.upload();
    CHECK(again.bytes_sent == 0);
    CHECK(again.bytes_reused == again.bytes);
    CHECK((again.verified_by.find("md5") != std::string::npos) == (!has_checksums && !has_own_etags));
    CHECK((again.verified_by.find("bytes") != std::string::npos) == has_own_etags);
    CHECK(set.uploaded() == set.shards.content);
    std::string changed = set.shards.content.at(kFirst);
    changed[1000] ^= 1;
    set.server.put("set/" + kFirst, changed);
    set.server.erase("set/manifest.json");
    CHECK(failure_of([&] { set.upload(); }) == ErrorCode::conflict);
    CHECK(set.server.bytes("set/" + kFirst) == changed);
  }
}

TEST_CASE(
    "a set that has grown is sent to where it was before: new shards, indexes of the whole set, the manifest last") {
  Fixture set;
  FakeSource whole = set.source;
  formats::Manifest earlier = formats::read_manifest(whole.content.at("manifest.json"), "");
  const formats::ManifestShard added = earlier.shards.back();
  earlier.shards.pop_back();
  earlier.samples -= added.samples;
  earlier.bytes -= added.bytes;
  for (ManifestClass& item : earlier.classes) item.samples = 0;
  const auto with_readers = [](FakeSource& source, formats::Manifest manifest, const std::string& index) {
    source.content["shardindex.json"] = index;
    manifest.files = {{"shardindex.json", index.size(), xxh3_128(as_bytes(index))}};
    source.content["manifest.json"] = formats::write_manifest(manifest);
  };
  with_readers(set.source, earlier, "of two shards");
  set.source.content.erase(added.name);
  set.source.content.erase(formats::shard_index_path(added.name));
  with_readers(whole, formats::read_manifest(whole.content.at("manifest.json"), ""), "of three shards, more bytes");

  set.upload();
  const UploadResult grown = set.upload(whole);
  CHECK(set.uploaded() == whole.content);
  CHECK_FALSE(set.has_records());
  CHECK(grown.bytes_sent < added.bytes + 20'000);
  CHECK(set.written_at("shardindex.json") < set.written_at("manifest.json"));
  CHECK(set.written_at(added.name) < set.written_at("shardindex.json"));
  CHECK(set.upload(whole).bytes_sent == 0);

  CHECK(failure_of([&] { set.upload(); }).says("which this one does not extend"));  // backwards
  Fixture other;
  other.upload(set.source);
  other.server.put("set/shardindex.json", "of somebody else");
  CHECK(failure_of([&] { other.upload(whole); }) == ErrorCode::conflict);
  CHECK(other.server.bytes("set/shardindex.json") == "of somebody else");
}

TEST_CASE("an upload without its manifest is unfinished, and the same command continues it inside the shards") {
  Fixture set;
  set.options.part_bytes = kPartBytes / 5;
  set.options.concurrency = 1;
  set.server.set_fault([](const ServedRequest& request) {
    return request.target.find("partNumber=6") != std::string::npos ? WriteFault::denied : WriteFault::none;
  });
  CHECK(failure_of([&] { set.upload(); }) == ErrorCode::denied);
  CHECK(set.has_records());
  CHECK_FALSE(set.uploaded().contains("manifest.json"));
  const auto store = set.server.store("set");
  StageOptions stage = into(set.shards.dir.path("staged"));
  Context context;
  const Failure unfinished = failure_of([&] { stage_on(*io::posix_file_system(), *store, {}, stage, context); });
  CHECK(unfinished == ErrorCode::conflict);
  CHECK(unfinished.says("the upload into"));
  set.server.set_fault({});
  const UploadResult result = set.upload();
  CHECK(result.bytes_reused == kPartBytes);
  CHECK(set.uploaded() == set.shards.content);
  CHECK(set.server.open_uploads() == 0);
  CHECK_FALSE(set.has_records());
}

TEST_CASE("an upload in parts of another size begins again, and leaves nothing open") {
  Fixture set;
  set.server.set_fault([](const ServedRequest& request) {
    return request.target.find("partNumber=2") != std::string::npos ? WriteFault::denied : WriteFault::none;
  });
  CHECK(failure_of([&] { set.upload(); }) == ErrorCode::denied);
  set.server.set_fault({});
  set.options.part_bytes = kPartBytes / 2;
  set.upload();
  CHECK(set.uploaded() == set.shards.content);
  CHECK(set.server.open_uploads() == 0);
}

TEST_CASE("other bytes under a name of the set, and another set, are refused before the first byte") {
  Fixture set;
  set.server.put("set/" + kFirst, "other");
  const Failure other = failure_of([&] { set.upload(); });
  CHECK(other == ErrorCode::conflict);
  CHECK(other.says("has other bytes"));
  set.server.erase("set/" + kFirst);
  set.server.put("set/manifest.json", "{}");
  CHECK(failure_of([&] { set.upload(); }) == ErrorCode::conflict);
  set.server.erase("set/manifest.json");
  set.server.put("set/.shardkit/uploads/upload.json", to_text(UploadRecord{"another"}));
  CHECK(failure_of([&] { set.upload(); }).says("another set"));
  CHECK(set.server.count("PUT", "") == 0);
}

TEST_CASE("other bytes of the same size are refused, and stay, also if another tool sent them in parts") {
  for (const char* etag : {"", "0123456789abcdef0123456789abcdef-3"}) {
    Fixture set;
    std::string changed = set.shards.content.at(kFirst);
    changed[1000] ^= 1;
    set.server.put("set/" + kFirst, changed, etag);
    CHECK(failure_of([&] { set.upload(); }) == ErrorCode::conflict);
    CHECK(set.server.bytes("set/" + kFirst) == changed);
    CHECK_FALSE(set.uploaded().contains("manifest.json"));
    CHECK(set.server.open_uploads() == 0);
  }
}

TEST_CASE("a shard that differs from its manifest never becomes an object") {
  Fixture set;
  set.source.content[kFirst][1000] ^= 1;
  const Failure damaged = failure_of([&] { set.upload(); });
  CHECK(damaged == ErrorCode::corrupt);
  CHECK(damaged.says("differs from its manifest"));
  CHECK_FALSE(set.uploaded().contains(kFirst));
  CHECK_FALSE(set.uploaded().contains("manifest.json"));
}

TEST_CASE("files without a manifest are uploaded, also empty ones") {
  Fixture set;
  FakeSource files;
  files.content = {{"a/b.bin", noise(250'000, 1)}, {"empty", ""}, {"small", "bytes"}};
  const UploadResult result = set.upload(files, "");
  CHECK(set.uploaded() == files.content);
  CHECK(result.files == 3);
  CHECK_FALSE(set.has_records());
}

TEST_CASE("keys and numbers of parts that S3 does not allow are refused before the first byte") {
  Fixture set;
  FakeSource files;
  std::string name;
  for (int i = 0; i < 210; ++i) name += "abcd/";
  files.content = {{name + "x", "bytes"}};
  CHECK(failure_of([&] { set.upload(files, ""); }).says("1024 bytes"));
  files.content = {{"x", std::string(20'001, 'x')}};
  set.options.part_bytes = 2;
  CHECK(failure_of([&] { set.upload(files, ""); }) == ErrorCode::usage);
  CHECK(set.server.count("PUT", "") == 0);
}

TEST_CASE("options that no upload can follow are refused") {
  UploadOptions good;
  good.sources = {"x"};
  good.target = "s3://bucket/x";
  check(good);
  const auto refused = [&](auto change) {
    UploadOptions options = good;
    change(options);
    return failure_of([&] { check(options); });
  };
  CHECK(refused([](UploadOptions& o) { o.target = "/a/folder"; }).says("is not a bucket"));
  CHECK(refused([](UploadOptions& o) {
          o.target = std::exchange(o.sources.front(), o.target);
        }).says("they look swapped. Nothing was written. In the other order: `shardctl upload "));
  CHECK(refused([](UploadOptions& o) { o.target = "https://host/x"; }) == ErrorCode::usage);
  for (const char* target : {"s3://", "s3://bucket/set*r", "s3://bucket/x.tar", "s3://bucket/q?x", "s3://bucket/a//b"})
    CHECK(refused([&](UploadOptions& o) { o.target = target; }) == ErrorCode::usage);
  CHECK(refused([](UploadOptions& o) { o.sources = {"s3://bucket/y"}; }).says("shardctl stage"));
  CHECK(refused([](UploadOptions& o) { o.sources.clear(); }) == ErrorCode::usage);
  CHECK(refused([](UploadOptions& o) { o.clean = true; }) == ErrorCode::usage);
  CHECK(refused([](UploadOptions& o) { o.part_bytes = 1 << 20; }) == ErrorCode::usage);
  CHECK(refused([](UploadOptions& o) { o.encryption_key = "k"; }) == ErrorCode::usage);
}

TEST_CASE("a refused upload leaves neither records nor uploads, so that others can read and write what is there") {
  Fixture set;
  std::string changed = set.shards.content.at(".shardkit/shard-000002.tar.index");
  changed[10] ^= 1;
  const std::string healthy = "set/.shardkit/shard-000002.tar.index";
  set.server.put(healthy, changed);  // of the same size: noticed only after the shards were sent
  CHECK(failure_of([&] { set.upload(); }) == ErrorCode::conflict);
  CHECK(set.server.open_uploads() == 0);
  Fixture other;
  for (const auto& [name, bytes] : other.shards.content) {
    std::string same_size = bytes;
    same_size.back() ^= 1;
    if (name != "manifest.json") other.server.put("set/" + name, same_size);
  }
  CHECK(failure_of([&] { other.upload(); }) == ErrorCode::conflict);
  CHECK(other.server.open_uploads() == 0);
  CHECK_FALSE(other.has_records());
}

TEST_CASE("while a live command writes something else, an upload waits for its end; one that is dead hinders nobody") {
  Fixture set;
  const auto store = set.server.store("set");
  {
    const PrefixClaim claim(*store, {}, "", "plan 1", {});
    const Failure refused = failure_of([&] { set.upload(); });
    CHECK(refused == ErrorCode::in_use);
    CHECK(refused.says("another run writes to"));
    const PrefixClaim same(*store, {}, "", "plan 1", {});
  }
  CHECK_FALSE(set.has_records());
  set.server.put("set/.shardkit/uploads/writer.json", to_text(WriterRecord{"plan 1", "host", 1, ""}));
  CHECK(failure_of([&] { set.upload(); }) == ErrorCode::in_use);
  set.server.clock().advance(std::chrono::minutes(3));
  set.upload();
  CHECK(set.uploaded() == set.shards.content);
  CHECK_FALSE(set.has_records());
}

TEST_CASE("a prefix where a convert has not finished is refused") {
  Fixture set;
  set.server.put("set/.shardkit/plan", set.shards.plan);
  CHECK(failure_of([&] { set.upload(); }).says("the convert into"));
  CHECK(set.server.count("PUT", "") == 0);
}

TEST_CASE("a shard of the set that is cut in the bucket is written again") {
  for (const bool is_small : {true, false}) {
    Fixture set;
    set.upload();
    if (is_small) set.options.part_bytes = 100'000'000;  // whole objects
    set.server.put("set/" + kFirst, set.shards.content.at(kFirst).substr(0, 1000));
    const UploadResult result = set.upload();
    CHECK(result.bytes_sent == set.shards.content.at(kFirst).size());
    CHECK(set.uploaded() == set.shards.content);
    CHECK_FALSE(set.has_records());
    CHECK(set.server.open_uploads() == 0);
  }
}

TEST_CASE("a set that lacks a shard is not uploaded, and one with a damaged index is uploaded without that") {
  Fixture set;
  set.source.content.erase(kFirst);
  const Failure refused = failure_of([&] { set.upload(); });
  CHECK(refused == ErrorCode::not_found);
  CHECK(refused.says(kFirst));
  CHECK(set.server.count("PUT", "") == 0);
  set.source.content = set.shards.content;
  const std::string index = ".shardkit/shard-000002.tar.index";
  set.source.content[index][10] ^= 1;
  set.upload();
  auto rest = set.shards.content;
  rest.erase(index);
  CHECK(set.uploaded() == rest);
}

TEST_CASE("--clean gives up what a dead command has left at once, and uploads of others after a while") {
  Fixture set;
  set.server.set_fault([](const ServedRequest& request) {
    return request.target.find("partNumber=3") != std::string::npos ? WriteFault::denied : WriteFault::none;
  });
  CHECK(failure_of([&] { set.upload(); }) == ErrorCode::denied);
  set.server.set_fault({});
  const std::size_t ours = set.server.open_uploads();
  REQUIRE(ours > 0);
  const std::string sending = set.server.begin("set/sending.bin");
  set.server.begin("set/other.bin");
  set.server.put("set/.shardkit/uploads/notes.upload", "mine");
  {
    const auto store = set.server.store("set");
    const PrefixClaim claim(*store, {}, "", "upload x", {});
    CHECK(set.clean(1e12).uploads_kept == ours + 2);
    CHECK(set.warned == std::vector<std::string>{"writer_alive", "uploads_recent"});
  }
  const UploadResult cleaned = set.clean(1e12);
  CHECK(set.warned == std::vector<std::string>{"uploads_recent"});
  CHECK(cleaned.aborted.size() == ours);
  CHECK(cleaned.uploads_kept == 2);
  set.server.clock().advance(system::system_clock().now() - set.server.clock().now());
  set.server.store("set")->send({"sending.bin", sending}, 1, as_bytes(std::string_view("x")),
                                checksum_of(ChecksumKind::md5, as_bytes(std::string_view("x"))), {});
  CHECK(set.clean(24 * 3600).aborted == std::vector<std::string>{"other.bin"});
  CHECK(set.server.open_uploads() == 1);
  CHECK(set.server.objects().at("set/.shardkit/uploads/notes.upload").bytes == "mine");
  set.server.erase("set/.shardkit/uploads/notes.upload");
  CHECK_FALSE(set.has_records());
  set.upload();
  CHECK(set.uploaded() == set.shards.content);
}

TEST_CASE("--clean says that records of a command stay that was killed a moment ago") {
  Fixture set;
  set.server.put("set/.shardkit/uploads/upload.json", to_text(UploadRecord{"x"}));
  set.server.put("set/.shardkit/uploads/writer.json",
                 to_text(WriterRecord{"upload x", "node", 7, "2026-01-01T00:00:00Z"}));
  CHECK(set.clean(0).uploads_kept == 0);
  CHECK(set.warned == std::vector<std::string>{"writer_alive"});
  CHECK(set.has_records());
}

TEST_CASE("objects in parts of another size are verified by their bytes, and the result says so") {
  Fixture set;
  set.server.checksums = {};
  set.upload();
  set.options.part_bytes = kPartBytes / 2;
  const UploadResult again = set.upload();
  CHECK(again.bytes_sent == 0);
  CHECK(again.verified_by.find("bytes") != std::string::npos);
}

TEST_CASE("a record that another upload removes after it was listed is not one") {
  Fixture set;
  set.server.set_fault([](const ServedRequest& request) {
    return request.target.find("partNumber=3") != std::string::npos ? WriteFault::denied : WriteFault::none;
  });
  CHECK(failure_of([&] { set.upload(); }) == ErrorCode::denied);
  REQUIRE(set.has_records());
  set.server.set_fault([is_first = true](const ServedRequest&) mutable {
    return std::exchange(is_first, false) ? WriteFault::records_gone : WriteFault::none;
  });
  set.upload();
  CHECK(set.uploaded() == set.shards.content);
  CHECK(set.server.open_uploads() == 0);
}

TEST_CASE("an upload that a killed command began, and that the store begins only now, does not stay open") {
  Fixture set;
  set.server.put("set/" + kFirst, set.shards.content.at(kFirst));  // what the command had sent before
  set.server.set_fault([&, is_first = true](const ServedRequest& request) mutable {
    return request.method == "POST" && std::exchange(is_first, false) ? WriteFault::late_begin : WriteFault::none;
  });
  set.upload();
  CHECK(set.server.open_uploads() == 0);
}

TEST_CASE("a probe of a killed command, which the store began after its object was removed, does not stay open") {
  Fixture set;
  set.server.leave_upload("set/.shardkit/uploads/probe");
  set.upload();
  CHECK(set.server.open_uploads() == 0);
}

TEST_CASE("an object in parts of another size, as other programs send them, is compared by its bytes") {
  for (const bool is_same : {true, false}) {
    Fixture set;
    set.server.checksums = {};
    std::string bytes = set.shards.content.at(kFirst);
    if (!is_same) bytes[1000] ^= 1;
    set.server.put("set/" + kFirst, bytes, "0123456789abcdef0123456789abcdef-3");
    CHECK(failure_of([&] { set.upload(); }).failed == !is_same);
    CHECK(set.server.bytes("set/" + kFirst) == bytes);
  }
}

TEST_CASE("a file that cannot be read while others are sent leaves the record of the upload") {
  for (int i = 0; i < 8; ++i) {
    Fixture set;
    set.options.part_bytes = 100'000'000;  // whole objects
    set.server.set_fault([&, puts = 0](const ServedRequest& request) mutable {
      const bool is_data = request.method == "PUT" && request.target.find("uploads/") == std::string::npos;
      return is_data && ++puts > 2 ? WriteFault::denied : WriteFault::none;
    });
    CHECK(failure_of([&] { set.upload(); }).failed);
    CHECK((set.has_records() || set.uploaded().empty()));
  }
}

TEST_CASE("two uploads of one set at the same time make one set") {
  Fixture set;
  std::jthread other([&] {
    FakeSource source = set.shards.fake();
    set.upload(source);
  });
  set.upload();
  other.join();
  CHECK(set.uploaded() == set.shards.content);
  CHECK(set.server.open_uploads() == 0);
}

TEST_CASE("random faults end with the right bytes or an error, and nothing stays open") {
  static constexpr std::array faults{WriteFault::busy,         WriteFault::dropped,     WriteFault::lost,
                                     WriteFault::failed_after, WriteFault::error_after, WriteFault::error_in_200,
                                     WriteFault::expired,      WriteFault::conflict,    WriteFault::denied};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Fixture set;
    if (seed % 2 == 1) set.server.checksums = {};
    if (seed % 3 == 1) set.server.conditions = seed % 2 == 0 ? Conditions::unknown : Conditions::ignored;
    set.server.set_fault([prng = Prng(seed)](const ServedRequest&) mutable {
      const std::uint64_t roll = prng.next() % 1000;
      return roll < 250 ? faults.at(roll % (faults.size() - (roll < 240 ? 1 : 0))) : WriteFault::none;
    });
    bool is_done = false;
    for (int run = 0; run < 30 && !is_done; ++run) {
      FakeSource source = set.shards.fake();
      const Failure failure = failure_of([&] { set.upload(source); });
      is_done = !failure.failed;
      for (const auto& [name, bytes] : set.uploaded()) CHECK(bytes == set.shards.content.at(name));
    }
    CHECK(is_done);
    CHECK(set.uploaded() == set.shards.content);
    CHECK(set.server.open_uploads() == 0);
  }
}
