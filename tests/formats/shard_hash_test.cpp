#include "formats/shard_hash.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::formats;

namespace {

/// Hashes of `bytes`, given in pieces of `step`.
ShardHasher hashed(const std::string& bytes, std::size_t step) {
  ShardHasher hasher;
  for (std::size_t at = 0; at < bytes.size(); at += step)
    hasher.update(as_bytes(bytes).subspan(at, std::min(step, bytes.size() - at)));
  return hasher;
}

std::string bytes_of(std::uint64_t count) {
  std::string bytes(count, 'a');
  for (std::size_t i = 0; i < bytes.size(); i += 4099) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}

}  // namespace

TEST_CASE("the hashes are those of the file and of each 16 MiB, however the bytes arrive") {
  const std::string bytes = bytes_of(2 * kPartBytes + 5);
  for (const std::size_t step : {std::size_t{999'983}, std::size_t{kPartBytes}, bytes.size()}) {
    const ShardHasher hasher = hashed(bytes, step);
    CHECK(hasher.whole() == xxh3_128(as_bytes(bytes)));
    const std::vector<Hash128> parts = hasher.parts();
    REQUIRE(parts.size() == 3);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string part = bytes.substr(i * kPartBytes, kPartBytes);
      CHECK(parts[i] == xxh3_128(as_bytes(part)));
    }
  }
}

TEST_CASE("a file of one part has no hashes of parts") {
  CHECK(ShardHasher().parts().empty());
  CHECK(hashed("a", 1).parts().empty());
  CHECK(hashed(bytes_of(kPartBytes), kPartBytes).parts().empty());
}

TEST_CASE("hashes of parts are read back from their text, for a shard of that size alone") {
  const std::vector<Hash128> parts{{1, 2}, {3, 4}, {~0ULL, 5}};
  const std::string text = part_hash_text(parts);
  std::vector<Hash128> read;
  CHECK(parse_part_hashes(text, 3 * kPartBytes, read));
  CHECK(read == parts);
  CHECK(parse_part_hashes("", kPartBytes, read));
  CHECK(parse_part_hashes("", 3 * kPartBytes, read));  // of another program
  CHECK_FALSE(parse_part_hashes(text, 3 * kPartBytes + 1, read));
  CHECK_FALSE(parse_part_hashes(text, 2 * kPartBytes, read));
  CHECK_FALSE(parse_part_hashes(std::string(96, 'x'), 3 * kPartBytes, read));
  CHECK_FALSE(parse_part_hashes(std::string(32, '0'), kPartBytes, read));
}
