#include <doctest/doctest.h>

#include "formats/wids_index.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

const ManifestShard kShard{"s-0.tar", 3, 4096, {1, 2}};
const std::string kMd5 = "d41d8cd98f00b204e9800998ecf8427e";

}  // namespace

TEST_CASE("a kept MD5 is found again for the very shard it was kept for, and for no other") {
  const std::string text = write_shard_md5(kShard, kMd5);
  CHECK(text.starts_with("shardkit-md5\t2\ts-0.tar\t4096\t00000000000000010000000000000002\t" + kMd5 + "\t"));
  CHECK(read_shard_md5(text, kShard) == kMd5);
  CHECK_FALSE(read_shard_md5(text, {"s-1.tar", 3, 4096, {1, 2}}));
  CHECK_FALSE(read_shard_md5(text, {"s-0.tar", 3, 4097, {1, 2}}));
  CHECK_FALSE(read_shard_md5(text, {"s-0.tar", 3, 4096, {1, 3}}));
}

TEST_CASE("a damaged or cut file holds no MD5") {
  const std::string text = write_shard_md5(kShard, kMd5);
  for (std::size_t size = 0; size < text.size(); ++size) CHECK_FALSE(read_shard_md5(text.substr(0, size), kShard));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK_FALSE(read_shard_md5(damaged, kShard));
  }
  CHECK_FALSE(read_shard_md5(text + "\n", kShard));
}

TEST_CASE("it lies beside the shard's index") { CHECK(shard_md5_path("s-0.tar") == ".shardkit/s-0.tar.md5"); }
