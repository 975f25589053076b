#include <chrono>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "dataset/bucket/store_files.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/reshard/reshard.hpp"
#include "net/bucket_server.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit_test;

namespace {

constexpr StoreMemory kMemory{.part_bytes = 1 << 20, .sent_parts = 2};  // about three parts for a shard

/// A source tree and a bucket.
struct Fixture {
  TempDir dir;
  ImageTree tree{.root = dir.path("src"), .largest = 150'000};
  BucketServer server;

  Fixture() { tree.make(); }

  ConvertOptions options(const std::string& target) const {
    ConvertOptions options;
    options.source = tree.root;
    options.target = target;
    options.sharding.samples = 40;
    options.index = {"wids", "dali"};
    options.threads = 2;
    return options;
  }

  /// The files of the same set on disk.
  std::map<std::string, std::string> on_disk() const {
    Context context;
    convert(options(dir.path("set")), context);
    return tree_content(dir.path("set"));
  }

  ConvertResult convert_to_bucket(const ConvertOptions& options, Context& context) {
    StoreFiles files(server.store("set"), context, kMemory);
    ConvertOptions there = options;
    there.target = files.location();
    return convert_on(files, there, context);
  }
  ConvertResult convert_to_bucket() {
    Context context;
    return convert_to_bucket(options(""), context);
  }

  std::map<std::string, std::string> in_bucket() const {
    std::map<std::string, std::string> content;
    for (const auto& [key, object] : server.objects()) content[key.substr(4)] = object.bytes;
    return content;
  }

  std::size_t first_request(const std::string& method, const std::string& path) const {
    const auto requests = server.requests();
    const auto found = std::ranges::find_if(requests, [&](const ServedRequest& request) {
      return request.method == method && request.path() == "/bucket/set/" + path;
    });
    return static_cast<std::size_t>(found - requests.begin());
  }
};

const std::string kFirst = "shard-000000.tar";

}  // namespace

TEST_CASE("a set in a bucket has the bytes of the set on disk, whatever the store knows") {
  struct Store {
    std::set<std::string> checksums;
    Conditions conditions = Conditions::work;
    bool has_own_etags = false;
  };
  Fixture f;
  const auto expected = f.on_disk();
  for (const Store& store : {Store{{"xxhash128", "crc64nvme"}}, Store{{"crc64nvme"}, Conditions::work, true},
                             Store{{}, Conditions::ignored_for_uploads}, Store{{}, Conditions::unknown, true}}) {
    Fixture here;
    here.tree.root = f.tree.root;
    here.server.checksums = store.checksums;
    here.server.conditions = store.conditions;
    here.server.has_own_etags = store.has_own_etags;
    const ConvertResult result = here.convert_to_bucket();
    CHECK(here.in_bucket() == expected);
    CHECK(here.server.open_uploads() == 0);
    CHECK(result.manifest == "s3://bucket/set/manifest.json");
    CHECK(here.first_request("PUT", "manifest.json") > here.first_request("POST", "shard-000002.tar"));
    CHECK(here.server.count("POST", "uploads") > 0);
  }
}

TEST_CASE("the same convert continues inside the shards that a failure interrupted") {
  Fixture f;
  f.server.set_fault([](const ServedRequest& request) {
    return request.target.find("partNumber=2") != std::string::npos ? WriteFault::denied : WriteFault::none;
  });
  CHECK(failure_of([&] { f.convert_to_bucket(); }) == ErrorCode::denied);
  CHECK_FALSE(f.in_bucket().contains("manifest.json"));
  const std::size_t sent = f.server.count("PUT", "partNumber=1&");
  REQUIRE(sent > 0);
  f.server.set_fault({});
  f.convert_to_bucket();
  CHECK(f.in_bucket() == f.on_disk());
  CHECK(f.server.open_uploads() == 0);
}

TEST_CASE("finished shards are kept, and a finished set needs no write") {
  Fixture f;
  f.convert_to_bucket();
  f.server.erase("set/" + kFirst);
  const ConvertResult repaired = f.convert_to_bucket();
  CHECK(repaired.shards_written == 1);
  CHECK(f.in_bucket() == f.on_disk());
}

TEST_CASE("the record of a complete shard, which a kill has left, is removed by the next run") {
  Fixture f;
  f.convert_to_bucket();
  f.server.put("set/.shardkit/uploads/" + kFirst + ".upload", to_text(PartsRecord{f.server.begin("set/" + kFirst)}));
  f.convert_to_bucket();
  CHECK(f.server.open_uploads() == 0);
  CHECK(f.in_bucket() == f.on_disk());
}

TEST_CASE("a stop in the middle leaves no manifest, and the next run goes on") {
  Fixture f;
  std::stop_source stop;
  Context stopped(stop.get_token());
  f.server.set_fault([&](const ServedRequest& request) {
    if (request.method == "PUT" && request.path().ends_with(kFirst)) stop.request_stop();
    return WriteFault::none;
  });
  CHECK(failure_of([&] { f.convert_to_bucket(f.options(""), stopped); }) == ErrorCode::cancelled);
  CHECK_FALSE(f.in_bucket().contains("manifest.json"));
  f.server.set_fault({});
  f.convert_to_bucket();
  CHECK(f.in_bucket() == f.on_disk());
}

TEST_CASE("faults of the store at random places change no byte, or end with an error that the next run heals") {
  Fixture f;
  const auto expected = f.on_disk();
  constexpr WriteFault kFaults[] = {WriteFault::busy,         WriteFault::dropped,     WriteFault::lost,
                                    WriteFault::failed_after, WriteFault::error_after, WriteFault::error_in_200,
                                    WriteFault::expired,      WriteFault::conflict};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    Fixture here;
    here.tree.root = f.tree.root;
    here.server.set_fault([&kFaults, random = Prng(seed)](const ServedRequest&) mutable {
      return random.below(8) == 0 ? kFaults[random.below(std::size(kFaults))] : WriteFault::none;
    });
    failure_of([&] { here.convert_to_bucket(); });
    here.server.set_fault({});
    here.convert_to_bucket();
    CHECK(here.in_bucket() == expected);
    CHECK(here.server.open_uploads() == 0);
  }
}

TEST_CASE("two converts of one set at the same time make one set") {
  Fixture f;
  std::jthread other([&] { f.convert_to_bucket(); });
  f.convert_to_bucket();
  other.join();
  CHECK(f.in_bucket() == f.on_disk());
  CHECK(f.server.open_uploads() == 0);
}

TEST_CASE("another plan, another program's manifest and other bytes under a shard's name are refused, and stay") {
  Fixture f;
  f.server.put("set/manifest.json", "{}");
  CHECK(failure_of([&] { f.convert_to_bucket(); }).says("manifest.json"));
  CHECK(f.server.count("PUT", "") == 0);
  f.server.erase("set/manifest.json");
  f.server.put("set/notes.txt", "mine");
  f.convert_to_bucket();
  CHECK(f.server.bytes("set/notes.txt") == "mine");
  ConvertOptions other = f.options("");
  other.sharding.samples = 30;
  Context context;
  const Failure differs = failure_of([&] { f.convert_to_bucket(other, context); });
  CHECK(differs == ErrorCode::conflict);
  CHECK(differs.says("s3://bucket/set"));
  std::string changed = f.server.bytes("set/" + kFirst);
  changed[1000] ^= 1;
  f.server.put("set/" + kFirst, changed);
  f.server.erase("set/.shardkit/" + kFirst + ".index");
  CHECK(failure_of([&] { f.convert_to_bucket(); }).says("has other bytes"));
  CHECK(f.server.bytes("set/" + kFirst) == changed);
  CHECK(f.server.open_uploads() == 0);
}

TEST_CASE("a small object under a shard's name is refused and stays, like a large one") {
  Fixture f;
  f.convert_to_bucket();
  f.server.put("set/" + kFirst, "mine");
  f.server.erase("set/.shardkit/" + kFirst + ".index");
  StoreMemory whole;  // each shard is one part
  Context context;
  StoreFiles files(f.server.store("set"), context, whole);
  ConvertOptions there = f.options(files.location());
  CHECK(failure_of([&] { convert_on(files, there, context); }) == ErrorCode::conflict);
  CHECK(f.server.bytes("set/" + kFirst) == "mine");
}

TEST_CASE("an upload that has not finished, and a live command with another plan, are not written into") {
  Fixture f;
  f.server.put("set/.shardkit/uploads/upload.json", to_text(UploadRecord{"1"}));
  CHECK(failure_of([&] { f.convert_to_bucket(); }).says("upload --clean"));
  f.server.erase("set/.shardkit/uploads/upload.json");
  f.server.put("set/.shardkit/uploads/writer.json", to_text(WriterRecord{"upload 1", "host", 1, ""}));
  CHECK(failure_of([&] { f.convert_to_bucket(); }) == ErrorCode::in_use);
  CHECK(f.in_bucket().size() == 1);
  CHECK(f.server.open_uploads() == 0);
  f.server.clock().advance(std::chrono::minutes(3));
  f.convert_to_bucket();
  CHECK(f.in_bucket() == f.on_disk());
}

TEST_CASE("a sample index that another command wrote is not replaced, and no manifest describes a shard that is gone") {
  Fixture f;
  const std::string index = "set/.shardkit/" + kFirst + ".index";
  f.server.set_fault([&, is_first = true](const ServedRequest& request) mutable {
    const bool is_last = request.method == "PUT" && request.path().ends_with("shardindex.json");
    return is_last && std::exchange(is_first, false) ? WriteFault::shard_gone : WriteFault::none;
  });
  CHECK(failure_of([&] { f.convert_to_bucket(); }).says("was changed or removed"));
  CHECK_FALSE(f.in_bucket().contains("manifest.json"));
  f.server.set_fault({});
  f.convert_to_bucket();
  CHECK(f.in_bucket() == f.on_disk());
  f.server.erase("set/manifest.json");
  ConvertOptions other = f.options(f.dir.path("other"));
  other.sharding.samples = 30;
  Context context;
  convert(other, context);
  const std::string others = read_file(f.dir.path("other/.shardkit/" + kFirst + ".index"));
  f.server.put(index, others);
  CHECK(failure_of([&] { f.convert_to_bucket(); }) == ErrorCode::conflict);
  CHECK(f.server.bytes(index) == others);
}

TEST_CASE("what is damaged of a set in a bucket is written again: manifest, index and shard") {
  Fixture f;
  f.convert_to_bucket();
  const auto expected = f.in_bucket();
  const std::string manifest = expected.at("manifest.json");
  const std::string index = ".shardkit/" + kFirst + ".index";
  for (const auto& [name, content] : std::map<std::string, std::string>{
           {"manifest.json", manifest.substr(0, manifest.size() / 2)}, {index, "damaged"}, {kFirst, "short"}}) {
    CAPTURE(name);
    f.server.put("set/" + name, content);
    f.convert_to_bucket();
    CHECK(f.in_bucket() == expected);
    CHECK(f.server.open_uploads() == 0);
  }
  f.server.put("set/" + kFirst, "short");
  {
    Context context;
    StoreFiles files(f.server.store("set"), context, StoreMemory());  // each shard is one part
    convert_on(files, f.options(files.location()), context);
  }
  CHECK(f.in_bucket() == expected);
}

TEST_CASE("reshard writes to a bucket what it writes to a disk") {
  Fixture f;
  f.on_disk();
  ReshardOptions options;
  options.inputs = {f.dir.path("set")};
  options.target = f.dir.path("other");
  options.sizes.samples = 50;
  options.shuffle = 7;
  Context context;
  reshard(options, context);
  {
    StoreFiles files(f.server.store("set"), context, kMemory);
    options.target = files.location();
    reshard_on(files, options, context);
  }
  CHECK(f.in_bucket() == tree_content(f.dir.path("other")));
}

TEST_CASE("what only a folder can do is refused") {
  Fixture f;
  ConvertOptions options = f.options("s3://bucket/set");
  options.append = true;
  Context context;
  CHECK(failure_of([&] { convert(options, context); }) == ErrorCode::usage);
  options.append = false;
  options.source = "s3://bucket/images";
  options.target = "s3://bucket/images/shards";
  CHECK(failure_of([&] { convert(options, context); }).says("is inside the source"));
  CHECK(f.server.count("PUT", "") == 0);
}

TEST_CASE("a target in the folder of shardkit's own files is refused") {
  Fixture f;
  for (const std::string& target : {std::string("s3://bucket/set/.shardkit/"), f.dir.path("set/.shardkit/more")}) {
    CAPTURE(target);
    Context context;
    const Failure refused = failure_of([&] { convert(f.options(target), context); });
    CHECK(refused == ErrorCode::usage);
    CHECK(refused.says(".shardkit, which is reserved"));
  }
}
