#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "dataset/stage/stage_support.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_hash.hpp"

using namespace shardkit;
using namespace shardkit::formats;
using namespace shardkit_test;

namespace {

constexpr std::uint64_t kBytes = 2 * kPartBytes + kPartBytes / 2;

/// The same megabyte again and again, with a number in each.
std::string numbered_bytes() {
  const std::string block = noise(std::size_t{1} << 20U, 1);
  std::string bytes;
  while (bytes.size() < kBytes) bytes += std::to_string(bytes.size()) + block;
  bytes.resize(kBytes);
  return bytes;
}

/// A shard of two and a half parts, with a manifest.
FakeSource big_shard() {
  static const std::string bytes = numbered_bytes();
  FakeSource source;
  ShardHasher hasher;
  hasher.update(as_bytes(bytes));
  Manifest manifest;
  manifest.shards = {{"big.tar", 1, kBytes, hasher.whole(), hasher.parts()}};
  manifest.samples = 1;
  manifest.bytes = kBytes;
  source.content = {{"big.tar", bytes}, {"manifest.json", write_manifest(manifest)}};
  return source;
}

StageResult stage_with(FakeSource& source, const std::string& target, const CopyLimits& limits) {
  Context context;
  return stage_whole(*posix_file_system(), source, wanted(into(target)), into(target), context, limits);
}

/// Requests of a part or more, of less, and with an odd size.
std::vector<CopyLimits> sizes_of_requests(unsigned at_once) {
  std::vector<CopyLimits> all;
  for (const std::uint64_t bytes : {std::uint64_t{64} << 20U, std::uint64_t{1} << 20U, kPartBytes + 12'345})
    all.push_back({at_once, at_once, bytes, {kPartBytes}, {}});
  return all;
}

}  // namespace

TEST_CASE("a wrong byte makes one part be fetched again, not the shard") {
  const std::vector<std::uint64_t> bytes{kPartBytes - 1, kPartBytes, kBytes - 1};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const unsigned at_once : {1U, 4U}) {
      const std::uint64_t byte = bytes[i];
      const CopyLimits limits = sizes_of_requests(at_once)[i];
      CAPTURE(byte);
      CAPTURE(at_once);
      TempDir dir;
      FakeSource source = big_shard();
      source.flip("big.tar", byte, 1);
      const StageResult result = stage_with(source, dir.path("out"), limits);
      CHECK(read_file(dir.path("out/big.tar")) == source.content.at("big.tar"));
      CHECK(result.verified == staging::Verified::checksum);
      CHECK(result.retries == 1);
      CHECK(source.bytes_read <= kBytes + kPartBytes + source.content.at("manifest.json").size());
    }
  }
}

TEST_CASE("a part that stays wrong is an error that names its bytes, and nothing of the shard is kept") {
  for (const CopyLimits& limits : sizes_of_requests(1)) {
    CAPTURE(limits.range_bytes);
    TempDir dir;
    FakeSource source = big_shard();
    source.flip("big.tar", kPartBytes + 5, 2);
    CHECK_THROWS_WITH_AS(stage_with(source, dir.path("out"), limits),
                         doctest::Contains("bytes 16777216 to 33554431 differ from the manifest"), Error);
    CHECK_FALSE(std::filesystem::exists(dir.path("out/big.tar")));
    CHECK(std::filesystem::is_empty(dir.path("out/.shardkit/staging")));
  }
}

TEST_CASE("a part with other wrong bytes in each read is an error of the transfer") {
  for (const CopyLimits& limits : sizes_of_requests(1)) {
    CAPTURE(limits.range_bytes);
    TempDir dir;
    FakeSource source = big_shard();
    source.flip("big.tar", kPartBytes + 5, 2);
    source.flips_other_bits = true;
    CHECK_THROWS_WITH_AS(stage_with(source, dir.path("out"), limits),
                         doctest::Contains("other content in a second read: bytes 16777216 to 33554431"), Error);
    CHECK(std::filesystem::is_empty(dir.path("out/.shardkit/staging")));
  }
}

TEST_CASE("parts of an interrupted copy are checked, and only a wrong one is fetched again") {
  for (const CopyLimits& limits : sizes_of_requests(1)) {
    CAPTURE(limits.range_bytes);
    TempDir dir;
    FakeSource source = big_shard();
    source.break_at("big.tar", 2 * kPartBytes + 1);
    CHECK_THROWS_AS(stage_with(source, dir.path("out"), limits), Error);
    source.repair();
    for (const auto& entry : std::filesystem::directory_iterator(dir.path("out/.shardkit/staging"))) {
      if (entry.path().extension() != ".partial") continue;
      std::string bytes = read_file(entry.path());
      bytes[7] = static_cast<char>(bytes[7] ^ 1);
      write_file(entry.path(), bytes);
    }
    source.bytes_read = 0;
    stage_with(source, dir.path("out"), limits);
    CHECK(read_file(dir.path("out/big.tar")) == source.content.at("big.tar"));
    CHECK(source.bytes_read < kBytes);
  }
}
