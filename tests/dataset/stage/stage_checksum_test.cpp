// What vouches for files that no manifest lists: the checksum of their store, an ETag, or only their size.

#include <doctest/doctest.h>

#include "dataset/stage/stage_support.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::io;
using namespace shardkit::staging;
using namespace shardkit_test;

namespace {

Checksum checksum_of(ChecksumKind kind, const std::string& bytes) {
  ChecksumStream stream(kind);
  stream.update(as_bytes(bytes));
  return {kind, stream.finish()};
}

/// Two files without a manifest, one of several requests, and a folder for the copy.
struct Files {
  FakeSource source;
  TempDir dir;
  StageOptions options = into(dir.path("out"));

  Files() {
    source.content = {{"big.bin", noise(5 * kPart + 17, 1)}, {"small.bin", noise(100, 2)}};
    options.manifest = "none";
  }
  void know(ChecksumKind kind) {
    for (const auto& [name, bytes] : source.content) source.checksums[name] = checksum_of(kind, bytes);
  }
  StageResult stage() { return run(source, options); }
};

}  // namespace

TEST_CASE("files without a manifest are compared with the checksum of their store") {
  Files files;
  files.know(ChecksumKind::crc64nvme);
  SUBCASE("right ones") { CHECK(files.stage().retries == 0); }
  SUBCASE("a bit that is wrong once") {
    files.source.flip("big.bin", 2 * kPart, 1);
    CHECK(files.stage().retries == 1);
  }
  CHECK(staged_content(files.dir.path("out")) == files.source.content);
  files.source.bytes_read = 0;
  const StageResult again = files.stage();
  CHECK(files.source.bytes_read == 0);
  CHECK(again.verified == staging::Verified::store_checksum);
  CHECK(again.files_by_size == 0);
  CHECK(again.verified_at.value_or("").ends_with("Z"));
}

TEST_CASE("a file whose bytes twice differ from the checksum of its store is not staged") {
  Files files;
  files.know(ChecksumKind::sha256);
  files.source.flip("big.bin", 2 * kPart, 2);
  const Error error = failure(files.source, files.options);
  CHECK(error.code() == ErrorCode::corrupt);
  CHECK(std::string(error.what()).find("the store has sha256") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(files.dir.path("out/big.bin")));
}

TEST_CASE("one file without a checksum makes the set one that is verified by size, also when it is asked again") {
  Files files;
  files.know(ChecksumKind::crc32c);
  files.source.checksums.erase("small.bin");
  for (int i = 0; i < 2; ++i) {
    const StageResult result = files.stage();
    CHECK(result.verified == staging::Verified::size);
    CHECK(result.files_by_size == 1);
    CHECK(result.verified_at);
  }
}

TEST_CASE("the marker of ranks that were verified by different means claims the weaker, whichever came first") {
  Files files;
  files.source.content = {{"0.tar", noise(100, 1)}, {"1.tar", noise(100, 2)}};
  files.options.world = 2;
  const auto stage_rank = [&](const char* rank, bool with_checksums) {
    files.source.checksums.clear();
    if (with_checksums) files.know(ChecksumKind::crc32c);
    files.options.rank = rank;
    files.stage();
    return formats::read_staged_marker(read_file(files.dir.path("out/.shardkit/staged.json")), "").verified;
  };
  SUBCASE("size, then checksums") {
    CHECK(stage_rank("0", false) == staging::Verified::size);
    CHECK(stage_rank("1", true) == staging::Verified::size);
  }
  SUBCASE("checksums, then size") {
    CHECK(stage_rank("0", true) == staging::Verified::store_checksum);
    CHECK(stage_rank("1", false) == staging::Verified::size);
  }
  SUBCASE("checksums twice") {
    CHECK(stage_rank("0", true) == staging::Verified::store_checksum);
    CHECK(stage_rank("1", true) == staging::Verified::store_checksum);
  }
}

TEST_CASE("a file without version is fetched in one stream and never continued") {
  Files files;
  files.source.versions = FakeSource::Versions::none;
  files.source.break_at("big.bin", 3 * kPart + 5);
  CHECK(failure(files.source, files.options).code() == ErrorCode::io);
  files.source.repair();
  files.source.content["big.bin"] = noise(5 * kPart + 17, 3);
  files.source.whole_reads = 0;
  const StageResult result = files.stage();
  CHECK(staged_content(files.dir.path("out")) == files.source.content);
  CHECK(files.source.whole_reads >= 1);
  CHECK(result.verified == staging::Verified::size);
}
