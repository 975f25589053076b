#include "dataset/stage.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "dataset/convert.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "support/files.hpp"
#include "support/forgetful_file_system.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;

namespace {

constexpr std::uint64_t kPart = 1U << 20U;

/// A source in memory that counts what is read, and can break.
class FakeSource final : public ObjectSource {
 public:
  /// Reads of `name` at or after `byte` throw Error{io}.
  void break_at(std::string name, std::uint64_t byte) { broken_ = {std::move(name), byte}; }
  void mend() { broken_.reset(); }
  /// The first `times` reads of byte `byte` of `name` have a bit flipped.
  void flip(std::string name, std::uint64_t byte, int times) { flipped_ = {std::move(name), byte, times}; }

  /// Calls `action` after each read once `byte` bytes have been read in all.
  void at_byte(std::uint64_t byte, std::function<void()> action) {
    at_every_read([this, byte, action = std::move(action)] {
      if (bytes_read >= byte) action();
    });
  }
  /// Calls `action` after each read.
  void at_every_read(std::function<void()> action) { after_read_ = std::move(action); }

  std::map<std::string, std::string> content;
  std::uint64_t bytes_read = 0;

  const std::string& location() const override { return location_; }
  std::vector<ObjectInfo> list() override {
    std::vector<ObjectInfo> found;
    for (const auto& [name, bytes] : content) found.push_back(*find(name));
    return found;
  }
  std::vector<std::string> names_in(const std::string& folder) override {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : content) {
      const std::size_t slash = name.rfind('/');
      if (folder == (slash == std::string::npos ? "" : name.substr(0, slash))) names.push_back(name);
    }
    return names;
  }
  std::optional<ObjectInfo> find(const std::string& name) override {
    const auto found = content.find(name);
    if (found == content.end()) return std::nullopt;
    return ObjectInfo{name, found->second.size(), to_hex(xxh3_64(as_bytes(found->second)))};
  }
  Fetched fetch(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                const std::stop_token& stop) override {
    std::string block;
    if (!find(object.name)) return Fetched::changed;
    for (std::uint64_t done = 0; done < length; done += block.size()) {
      if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped");
      const std::string& bytes = content.at(object.name);
      if (offset + done >= bytes.size()) return Fetched::changed;
      block = bytes.substr(offset + done, std::min(kPart, length - done));
      if (broken_ && broken_->first == object.name && offset + done + block.size() > broken_->second) {
        throw Error(ErrorCode::io, "the cable was pulled", object.name, offset + done);
      }
      flip_in(block, object.name, offset + done);
      bytes_read += block.size();
      write(as_bytes(block));
      if (after_read_) after_read_();
    }
    return object.version.empty() || find(object.name)->version == object.version ? Fetched::whole : Fetched::changed;
  }
  Fetched fetch_whole(const ObjectInfo& object, const std::function<BodyWriter()>& start,
                      const std::stop_token& stop) override {
    return fetch(object, 0, object.size, start(), stop);
  }

 private:
  struct Flip {
    std::string name;
    std::uint64_t byte;
    int times;
  };

  void flip_in(std::string& block, const std::string& name, std::uint64_t offset) {
    if (flipped_.name != name || flipped_.times == 0) return;
    if (flipped_.byte < offset || flipped_.byte >= offset + block.size()) return;
    block[flipped_.byte - offset] ^= 1;
    --flipped_.times;
  }

  std::string location_ = "/fake";
  std::optional<std::pair<std::string, std::uint64_t>> broken_;
  Flip flipped_{"", 0, 0};
  std::function<void()> after_read_;
};

std::string noise(std::size_t bytes, std::uint64_t seed) {
  Prng prng(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(prng.next());
  return text;
}

/// A folder "shards" of three shards with manifest and indexes, and the same as a FakeSource.
struct Shards {
  Shards() {
    ImageTree{dir.path("src"), 2, 30, 20'000}.make();
    ConvertOptions options;
    options.source = dir.path("src");
    options.target = dir.path("shards");
    options.sharding.samples = 20;
    Context ctx;
    convert(options, ctx);
    std::filesystem::remove(dir.path("shards/.shardkit/plan"));
    content = tree_content(dir.path("shards"));
  }

  FakeSource fake() const {
    FakeSource source;
    source.content = content;
    return source;
  }

  TempDir dir;
  std::map<std::string, std::string> content;
};

StageOptions into(const std::string& target) {
  StageOptions options;
  options.target = target;
  return options;
}

/// What stage() makes of --manifest.
StageWanted wanted(const StageOptions& options) {
  StageWanted wanted;
  if (options.manifest.empty()) wanted.manifest_name = "manifest.json";
  if (!options.manifest.empty() && options.manifest != "none") wanted.manifest_path = options.manifest;
  return wanted;
}

/// One request at a time, in steps as small as a test needs.
CopyLimits steps(std::uint64_t bytes = kPart) { return {1, 1, 64 * kPart, {bytes, false}, {}}; }

StageResult run(ObjectSource& source, const StageOptions& options) {
  Context ctx;
  return stage_on(*posix_file_system(), source, wanted(options), options, ctx, steps());
}

/// The error that staging ends with; fails the test when it ends without.
Error failure(ObjectSource& source, const StageOptions& options) {
  try {
    run(source, options);
  } catch (const Error& error) {
    return error;
  }
  FAIL("staged without an error");
  return {ErrorCode::io, ""};
}

bool says(const Error& error, std::string_view text) {
  return std::string_view(error.what()).find(text) != std::string_view::npos;
}

/// The only partial file of a target.
std::string partial_in(const std::string& target) {
  for (const auto& entry : std::filesystem::directory_iterator(target + "/.shardkit/staging")) {
    if (entry.path().extension() == ".partial") return entry.path();
  }
  FAIL("there is no partial file");
  return {};
}

/// What a target holds besides the stage's own records.
std::map<std::string, std::string> staged_content(const std::string& target) {
  auto content = tree_content(target);
  for (const char* own : {"staged.json", "staged.lock", "stage.journal", "stage.lock"}) {
    content.erase(std::string(".shardkit/") + own);
  }
  std::erase_if(content, [](const auto& item) { return item.first.starts_with(".shardkit/leases/"); });
  return content;
}

}  // namespace

TEST_CASE("stage copies shards, indexes and manifest and marks the folder") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageResult result = run(source, into(shards.dir.path("out")));
  CHECK(staged_content(shards.dir.path("out")) == shards.content);
  CHECK(result.files == shards.content.size());
  std::uint64_t bytes = 0;
  for (const auto& [name, content] : shards.content) bytes += content.size();
  CHECK(result.bytes == bytes);
  CHECK(result.bytes_fetched == bytes);
  CHECK(result.bytes_reused == 0);
  CHECK(result.retries == 0);
  CHECK(result.verified == "checksum");
  CHECK(result.manifest_xxh3_128 == to_hex(xxh3_128(as_bytes(shards.content.at("manifest.json")))));
  CHECK(read_file(shards.dir.path("out/.shardkit/staged.json")).find(result.manifest_xxh3_128) != std::string::npos);
}

TEST_CASE(
    "indexes of other readers that came to the source later, or were edited there, are brought by the next stage") {
  const Shards shards;
  FakeSource source = shards.fake();
  run(source, into(shards.dir.path("out")));
  const std::string shard = "shard-000001";
  source.content[shard + ".idx"] = "v1.2 1\n";
  source.content[shard + ".tar.idx"] = "12345678";
  source.content["shardindex.json"] = "{}";
  source.content[".nv-meta/split.yaml"] = "split_parts: {}";
  source.content["stranger.idx"] = "of no shard";
  source.bytes_read = 0;
  const StageResult more = run(source, into(shards.dir.path("out")));
  CHECK(more.files == source.content.size() - 1);
  CHECK(more.bytes_fetched == source.content.at("manifest.json").size() + 7 + 8 + 2 + 15);
  for (const std::string& name : {shard + ".idx", shard + ".tar.idx", std::string(".nv-meta/split.yaml")}) {
    CHECK(read_file(shards.dir.path("out/" + name)) == source.content.at(name));
  }
  CHECK_FALSE(std::filesystem::exists(shards.dir.path("out/stranger.idx")));

  source.content[".nv-meta/split.yaml"] = "split_parts: {1}";
  run(source, into(shards.dir.path("out")));
  CHECK(read_file(shards.dir.path("out/.nv-meta/split.yaml")) == "split_parts: {1}");
  source.bytes_read = 0;
  CHECK(run(source, into(shards.dir.path("out"))).bytes_fetched == 0);
  CHECK(source.bytes_read == source.content.at("manifest.json").size());
}

TEST_CASE("a second stage reads nothing but the manifest") {
  const Shards shards;
  FakeSource source = shards.fake();
  run(source, into(shards.dir.path("out")));
  std::erase_if(source.content, [](const auto& item) { return item.first != "manifest.json"; });
  source.bytes_read = 0;
  const StageResult again = run(source, into(shards.dir.path("out")));
  CHECK(source.bytes_read == shards.content.at("manifest.json").size());
  CHECK(again.bytes_fetched == 0);
  CHECK(again.bytes_reused == again.bytes);
  CHECK(again.files == shards.content.size());
}

TEST_CASE("a folder that lost or shortened a file after it was staged is made whole, fetching that file alone") {
  const Shards shards;
  FakeSource source = shards.fake();
  const std::string out = shards.dir.path("out");
  run(source, into(out));
  const std::string name = "shard-000001.tar";
  SUBCASE("lost") { std::filesystem::remove(out + "/" + name); }
  SUBCASE("shortened") { std::filesystem::resize_file(out + "/" + name, 100); }
  const StageResult result = run(source, into(out));
  CHECK(staged_content(out) == shards.content);
  CHECK(result.bytes_fetched == shards.content.at(name).size() + shards.content.at("manifest.json").size());
}

TEST_CASE("a stage that broke inside a file goes on there") {
  FakeSource source;
  source.content["big.bin"] = noise(5 * kPart + 17, 1);
  source.content["small.bin"] = noise(100, 2);
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  source.break_at("big.bin", 3 * kPart + 5);
  CHECK(failure(source, options).code() == ErrorCode::io);
  CHECK_FALSE(std::filesystem::exists(dir.path("out/big.bin")));
  CHECK_FALSE(std::filesystem::exists(dir.path("out/.shardkit/staged.json")));
  source.mend();
  SUBCASE("with the bytes that were durable") {
    source.bytes_read = 0;
    const StageResult result = run(source, options);
    CHECK(result.bytes_reused == 3 * kPart);
    CHECK(source.bytes_read == 2 * kPart + 17 + 100);
    CHECK(result.verified == "size");
  }
  SUBCASE("but not with bytes of another version of the file") {
    source.content["big.bin"][0] ^= 1;
    CHECK(run(source, options).bytes_reused == 0);
  }
  SUBCASE("but not where the partial file got shorter than the journal says") {
    std::filesystem::resize_file(partial_in(dir.path("out")), kPart);
    CHECK(run(source, options).bytes_reused == 0);
  }
  CHECK(staged_content(dir.path("out")) == source.content);
}

TEST_CASE("a partial file that rotted is noticed by its checksum and fetched anew") {
  Shards shards;
  Manifest manifest = read_manifest(shards.content.at("manifest.json"), "manifest.json");
  const std::string big = noise(3 * kPart, 3);
  manifest.shards = {{"big.tar", 1, big.size(), xxh3_128(as_bytes(big))}};
  manifest.samples = 1;
  manifest.bytes = big.size();
  StringSink index;
  ShardIndexWriter writer(index, "big.tar", "");
  writer.add(IndexSample{"a", {}, "", {{"jpg", 512, 1, 0}}});
  writer.finish(big.size(), manifest.shards[0].xxh3_128);
  FakeSource source;
  source.content = {
      {"big.tar", big}, {".shardkit/big.tar.index", index.text()}, {"manifest.json", write_manifest(manifest)}};

  const StageOptions options = into(shards.dir.path("out"));
  source.break_at("big.tar", 2 * kPart);
  CHECK(failure(source, options).code() == ErrorCode::io);
  source.mend();
  const std::string partial = partial_in(options.target);
  std::string rotten = read_file(partial);
  SUBCASE("rotten") {
    rotten[12345] ^= 1;
    write_file(partial, rotten);
    const StageResult result = run(source, options);
    CHECK(result.retries == 1);
    CHECK(result.bytes_reused == 0);
  }
  SUBCASE("sound") {
    const StageResult result = run(source, options);
    CHECK(result.retries == 0);
    CHECK(result.bytes_reused == 2 * kPart);
  }
  CHECK(staged_content(options.target) == source.content);
}

TEST_CASE("bytes that are wrong once are fetched again, bytes that stay wrong are an error that names both hashes") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  source.flip("shard-000000.tar", 700, 1);
  SUBCASE("once") {
    const StageResult result = run(source, options);
    CHECK(result.retries == 1);
    CHECK(result.bytes_fetched == result.bytes + shards.content.at("shard-000000.tar").size());
    CHECK(staged_content(options.target) == shards.content);
  }
  SUBCASE("for good") {
    source.flip("shard-000000.tar", 700, 1000);
    const Error error = failure(source, options);
    CHECK(error.code() == ErrorCode::corrupt);
    CHECK(error.path() == "/fake/shard-000000.tar");
    std::string flipped = shards.content.at("shard-000000.tar");
    CHECK(says(error, to_hex(xxh3_128(as_bytes(flipped)))));
    flipped[700] ^= 1;
    CHECK(says(error, to_hex(xxh3_128(as_bytes(flipped)))));
    CHECK_FALSE(std::filesystem::exists(options.target + "/shard-000000.tar"));
    CHECK(std::filesystem::is_empty(options.target + "/.shardkit/staging"));
  }
}

TEST_CASE("an index that is damaged, or speaks of another shard, is an error") {
  const Shards shards;
  FakeSource source = shards.fake();
  std::string& index = source.content.at(".shardkit/shard-000000.tar.index");
  SUBCASE("damaged") { index[index.size() / 2] ^= 1; }
  SUBCASE("cut") { index.resize(index.size() / 2); }
  SUBCASE("another's") { index = shards.content.at(".shardkit/shard-000001.tar.index"); }
  const Error error = failure(source, into(shards.dir.path("out")));
  CHECK(error.code() == ErrorCode::corrupt);
  CHECK(says(error, "shard-000000.tar.index"));
}

TEST_CASE("what is missing or of another size in the source is named") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  SUBCASE("shard") {
    source.content.erase("shard-000001.tar");
    const Error error = failure(source, options);
    CHECK(error.code() == ErrorCode::not_found);
    CHECK(says(error, "shard-000001.tar"));
  }
  SUBCASE("index") {
    source.content.erase(".shardkit/shard-000001.tar.index");
    const Error error = failure(source, options);
    CHECK(error.code() == ErrorCode::not_found);
    CHECK(says(error, "shardctl index"));
  }
  SUBCASE("manifest") {
    source.content.erase("manifest.json");
    const Error error = failure(source, options);
    CHECK(error.code() == ErrorCode::not_found);
    CHECK(says(error, "manifest.json"));
    CHECK_FALSE(std::filesystem::exists(options.target));
  }
  SUBCASE("truncated shard") {
    source.content.at("shard-000001.tar").resize(1000);
    const Error error = failure(source, options);
    CHECK(error.code() == ErrorCode::corrupt);
    CHECK(says(error, "1000 bytes"));
  }
}

TEST_CASE("a manifest of the user's own decides in place of the source's") {
  const Shards shards;
  FakeSource source = shards.fake();
  const std::string right = source.content.at("manifest.json");
  write_file(shards.dir.path("trusted.json"), right);
  source.content.erase("manifest.json");
  StageOptions options = into(shards.dir.path("out"));
  options.manifest = shards.dir.path("trusted.json");
  run(source, options);
  CHECK(staged_content(options.target) == shards.content);
}

TEST_CASE("a limit below the need is an error before anything is made") {
  const Shards shards;
  FakeSource source = shards.fake();
  StageOptions options = into(shards.dir.path("out"));
  options.share.limit = 100'000;
  const Error error = failure(source, options);
  CHECK(error.code() == ErrorCode::no_space);
  CHECK_FALSE(std::filesystem::exists(options.target));
}

TEST_CASE("a folder that holds something else is refused") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  SUBCASE("a finished copy of another set") {
    run(source, options);
    Manifest manifest = read_manifest(source.content.at("manifest.json"), "");
    manifest.options["shuffle"] = "7";
    source.content["manifest.json"] = write_manifest(manifest);
    CHECK(failure(source, options).code() == ErrorCode::conflict);
    CHECK(staged_content(options.target) == shards.content);
    CHECK(std::filesystem::exists(options.target + "/.shardkit/staged.json"));
  }
  SUBCASE("a shard of that name with other bytes, which stays") {
    const std::string other = noise(shards.content.at("shard-000000.tar").size(), 9);
    write_file(options.target + "/shard-000000.tar", other);
    CHECK(failure(source, options).code() == ErrorCode::conflict);
    CHECK(read_file(options.target + "/shard-000000.tar") == other);
  }
}

TEST_CASE("right bytes that something else copied are taken over, not fetched") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  const std::string& shard = shards.content.at("shard-000000.tar");
  write_file(options.target + "/shard-000000.tar", shard);
  const StageResult result = run(source, options);
  CHECK(result.bytes_reused == shard.size());
  CHECK(staged_content(options.target) == shards.content);
}

TEST_CASE("an unfinished copy of another set gives way") {
  const Shards shards;
  FakeSource source = shards.fake();
  FakeSource other;
  other.content = {{"old.tar", noise(1000, 4)}, {"shard-000000.tar", noise(3000, 5)}, {"z", noise(10, 6)}};
  StageOptions options = into(shards.dir.path("out"));
  options.manifest = "none";
  other.break_at("z", 0);
  CHECK(failure(other, options).code() == ErrorCode::io);
  CHECK(std::filesystem::exists(options.target + "/old.tar"));
  options.manifest.clear();
  run(source, options);
  CHECK(staged_content(options.target) == shards.content);
}

TEST_CASE("a stranger's tar beside the shards is left alone and warned of") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  write_file(options.target + "/other.tar", "x");
  Context ctx;
  stage_on(*posix_file_system(), source, wanted(options), options, ctx, steps());
  REQUIRE(ctx.warnings().size() == 1);
  CHECK(ctx.warnings()[0].code == "extra_shard");
  CHECK(read_file(options.target + "/other.tar") == "x");
}

TEST_CASE("a stop keeps what is resumable") {
  FakeSource source;
  source.content["big.bin"] = noise(6 * kPart, 1);
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  std::stop_source stop;
  source.at_byte(2 * kPart + 1, [&] { stop.request_stop(); });
  Context ctx(stop.get_token());
  CHECK_THROWS_AS(stage_on(*posix_file_system(), source, wanted(options), options, ctx, steps()), Error);
  CHECK_FALSE(std::filesystem::exists(dir.path("out/big.bin")));
  CHECK(run(source, options).bytes_reused >= 2 * kPart);
  CHECK(staged_content(dir.path("out")) == source.content);
}

TEST_CASE("a source that keeps changing is an error after which a retry may help") {
  FakeSource source;
  source.content["busy.bin"] = noise(kPart, 1);
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  source.at_every_read([&] { source.content["busy.bin"][0] ^= 1; });
  CHECK(failure(source, options).code() == ErrorCode::io);
  CHECK_FALSE(std::filesystem::exists(dir.path("out/busy.bin")));
  source.at_every_read({});
  run(source, options);
  CHECK(staged_content(dir.path("out")) == source.content);
}

TEST_CASE("a failure at any moment of a set without hashes leaves nothing that the next stage takes for a stranger's") {
  FakeSource source;
  for (const char* name : {"a.bin", "b.bin", "c.bin"}) source.content[name] = noise(1000, 1);
  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    const TempDir dir;
    StageOptions options = into(dir.path("out"));
    options.manifest = "none";
    ForgetfulFileSystem files;
    files.fail_at(moment, ErrorCode::io);
    Context ctx;
    try {
      stage_on(files, source, wanted(options), options, ctx, steps());
    } catch (const Error&) {
    }
    for (const auto& [path, content] : files.after_power_cut()) {
      write_file(dir.path("after") + path.substr(dir.path("out").size()), content);
    }
    run(source, options);
    CHECK(staged_content(options.target) == source.content);
    options.target = dir.path("after");
    run(source, options);
    auto staged = staged_content(options.target);
    // Of a rename this file system may keep both names.
    std::erase_if(staged, [](const auto& item) { return item.first.starts_with(".shardkit/staging/"); });
    CHECK(staged == source.content);
    if (!files.failed()) break;
  }
}

TEST_CASE("a target with a trailing slash is the same folder") {
  const Shards shards;
  FakeSource source = shards.fake();
  const std::string target = shards.dir.path("out");
  run(source, into(target + "/"));
  CHECK(staged_content(target) == shards.content);
  CHECK(run(source, into(target)).bytes_fetched == 0);
}

TEST_CASE("a power cut at any moment leaves no marker over less than the whole, and the next stage ends the same") {
  const Shards shards;
  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    FakeSource source = shards.fake();
    const TempDir attempt;
    ForgetfulFileSystem files;
    files.fail_at(moment, ErrorCode::io);
    Context ctx;
    try {
      const StageOptions options = into(attempt.path("out"));
      stage_on(files, source, wanted(options), options, ctx, steps(64 * 1024));
    } catch (const Error&) {
    }
    for (const auto& [path, content] : files.after_power_cut()) {
      write_file(attempt.path("after") + path.substr(attempt.path("out").size()), content);
    }
    if (std::filesystem::exists(attempt.path("after/.shardkit/staged.json"))) {
      const StageResult result = run(source, into(attempt.path("after")));
      CHECK(result.bytes_fetched == 0);
    }
    run(source, into(attempt.path("after")));
    auto staged = staged_content(attempt.path("after"));
    std::erase_if(staged, [](const auto& item) { return item.first.ends_with(".tmp"); });
    std::erase_if(staged, [](const auto& item) { return item.first.starts_with(".shardkit/staging/"); });
    CHECK(staged == shards.content);
    if (!files.failed()) {
      CHECK(moment > 30);
      break;
    }
  }
}

TEST_CASE("with ranks only their shards come, with their indexes, and the marker says whose they are") {
  const Shards shards;
  FakeSource source = shards.fake();
  StageOptions options = into(shards.dir.path("out"));
  options.world = 3;
  options.rank = "1";
  const StageResult first = run(source, options);
  CHECK(first.files == 3);
  const auto staged = [&] {
    std::vector<std::string> names;
    for (const auto& [name, content] : staged_content(options.target)) names.push_back(name);
    return names;
  };
  CHECK(staged() == std::vector<std::string>{".shardkit/shard-000001.tar.index", "manifest.json", "shard-000001.tar"});
  CHECK(read_file(options.target + "/.shardkit/staged.json").find("ranks 1-1 of 3 by webdataset") != std::string::npos);
  SUBCASE("again it reads nothing but the manifest") { CHECK(run(source, options).bytes_fetched == 0); }
  SUBCASE("other ranks of the same set add theirs to the folder") {
    options.rank = "2";
    const StageResult second = run(source, options);
    CHECK(second.bytes_fetched < second.bytes + 1);
    CHECK(staged().size() == 5);
    const std::string marker = read_file(options.target + "/.shardkit/staged.json");
    CHECK(marker.find("ranks 1-1 of 3") != std::string::npos);
    CHECK(marker.find("ranks 2-2 of 3") != std::string::npos);
    options.rank = "1";
    CHECK(run(source, options).bytes_fetched == 0);
  }
  SUBCASE("the whole set adds the rest") {
    options.rank.reset();
    options.world.reset();
    run(source, options);
    CHECK(staged_content(options.target) == shards.content);
    CHECK(read_file(options.target + "/.shardkit/staged.json").find("subsets") == std::string::npos);
  }
}
