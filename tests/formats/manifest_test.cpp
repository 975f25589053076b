#include "formats/manifest.hpp"

#include <functional>
#include <optional>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "formats/shard_hash.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

Manifest example() {
  Manifest manifest;
  manifest.shards = {{"s-000000.tar", 2, 4096, {1, 2}}, {"s-000001.tar", 1, 2048, {3, 4}}};
  manifest.classes = {{"cats", 0, 2}, {"d\xc3\xb6gs", 1, 1}};
  manifest.samples = 3;
  manifest.bytes = 6144;
  manifest.skipped = 5;
  manifest.plan_hash = "0123456789abcdef0123456789abcdef";
  manifest.options = {{"shuffle", "0"}};
  manifest.files = {{".nv-meta/.info.json", 3, {5, 6}}, {"s-000000.idx", 9, {7, 8}}};
  return manifest;
}

std::string failure(std::string text) {
  try {
    read_manifest(text, "m.json");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::corrupt);
    CHECK(error.path() == "m.json");
    return error.what();
  }
  FAIL("was read as if nothing were wrong");
  return {};
}

std::string changed(const std::function<void(Manifest&)>& change) {
  Manifest manifest = example();
  change(manifest);
  return write_manifest(manifest);
}

/// As other programs write it.
std::string without_checksum(std::string text) {
  const std::size_t begin = text.rfind(",\n \"checksum\"");
  return text.erase(begin, text.rfind("\n}") - begin);
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = without_checksum(write_manifest(example()));
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("what is written is read back") { CHECK(read_manifest(write_manifest(example()), "m.json") == example()); }

TEST_CASE("shards of several parts have the hashes of these") {
  Manifest manifest = example();
  manifest.bytes += kPartBytes;
  manifest.shards[0].bytes += kPartBytes;
  manifest.shards[0].parts = {{1, 2}, {3, 4}};
  const std::string text = write_manifest(manifest);
  CHECK(read_manifest(text, "m.json") == manifest);
  std::string cut = without_checksum(text);
  const std::size_t digits = cut.find("\"parts\": \"") + 10;
  CHECK(failure(cut.erase(digits, 1)).find("shards[0].parts is not 32") != std::string::npos);
}

TEST_CASE("a manifest without other readers' indexes is read") {
  Manifest manifest = example();
  manifest.files.clear();
  const std::string text = write_manifest(manifest);
  CHECK(text.find("files") == std::string::npos);
  CHECK(read_manifest(text, "m.json") == manifest);
}

TEST_CASE("a listed index lies below the folder") {
  for (const char* name : {"", "..", "/etc/passwd", "a/../b", "a//b", "a/"}) {
    CAPTURE(name);
    CHECK(failure(changed([&](Manifest& m) { m.files[0].name = name; })).find("files[0].name") != std::string::npos);
  }
}

TEST_CASE("equal manifests are equal bytes") { CHECK(write_manifest(example()) == write_manifest(example())); }

TEST_CASE("a class name that is not UTF-8 does not stop the manifest") {
  const std::string text = changed([](Manifest& m) { m.classes[0].name = "c\xff"; });
  CHECK(read_manifest(text, "m.json").classes[0].name == "c~FF");
  for (const char* before : {"c~FF", "c\xef\xbf\xbd"}) {  // the latter is of an earlier version
    Manifest earlier = example();
    Manifest added = example();
    earlier.classes[0].name = before;
    added.classes[0].name = "c\xff";
    CHECK(join_manifests(earlier, added).classes.size() == earlier.classes.size());
  }
}

TEST_CASE("every kind of damage is named by its field") {
  CHECK(failure("") == "manifest 'm.json' is not JSON");
  CHECK(failure("[]") == "manifest 'm.json':  is not an object");
  CHECK(failure("{}") == "manifest 'm.json': format is missing");
  CHECK(failure(replaced("shardkit-manifest", "other")).find("format is not") != std::string::npos);
  CHECK(failure(replaced("\"samples\": 2", "\"samples\": -2")).find("shards[0].samples") != std::string::npos);
  CHECK(failure(replaced("\"bytes\": 2048", "\"bytes\": 2047")).find("bytes is not the sum") != std::string::npos);
  CHECK(failure(replaced("00000000000000010000000000000002", "xyz")).find("shards[0].xxh3_128") != std::string::npos);
  CHECK(failure(replaced("s-000001.tar", "s-000000.tar")).find("twice") != std::string::npos);
  CHECK(failure(replaced("\"shuffle\": \"0\"", "\"shuffle\": 0")).find("options contains") != std::string::npos);
}

TEST_CASE("a changed byte is damage unless the content is the same; without a checksum only the fields are checked") {
  const std::string text = write_manifest(example());
  CHECK(read_manifest(without_checksum(text), "m.json") == example());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int bit : {1, 8, 64}) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ bit);
      std::optional<Manifest> read;
      try {
        read = read_manifest(changed, "m.json");
      } catch (const Error& error) {
        CHECK((error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported));
      }
      if (read) CHECK(*read == example());
    }
  }
}

TEST_CASE("a shard name cannot lead out of the folder") {
  for (const char* name : {"../x.tar", "/etc/x.tar", "..", ".", "", "a/b.tar"}) {
    CAPTURE(name);
    CHECK(failure(changed([&](Manifest& m) { m.shards[0].name = name; })).find("plain file name") != std::string::npos);
  }
}

TEST_CASE("a manifest of a later version is refused as such") {
  CHECK_THROWS_WITH(read_manifest(replaced("\"version\": 1", "\"version\": 2"), "m.json"),
                    "manifest 'm.json' has version 2; this program reads version 1");
}

TEST_CASE("sums that agree only because 64 bits are too few for them are damage") {
  for (const char* field : {"samples", "bytes"}) {
    Manifest manifest = example();
    manifest.shards = {{"a.tar", 2, 1024, {}}, {"b.tar", 3, 2048, {}}};
    manifest.samples = 5;
    manifest.bytes = 3072;
    auto& first = field == std::string_view("samples") ? manifest.shards[0].samples : manifest.shards[0].bytes;
    auto& second = field == std::string_view("samples") ? manifest.shards[1].samples : manifest.shards[1].bytes;
    CHECK_NOTHROW(read_manifest(write_manifest(manifest), "m.json"));
    second += first - UINT64_MAX;
    first = UINT64_MAX;
    CAPTURE(field);
    CHECK_THROWS_WITH_AS(read_manifest(write_manifest(manifest), "m.json"), doctest::Contains("is not the sum"), Error);
  }
}
