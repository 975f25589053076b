#include "core/hash.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace shardkit;

namespace {

/// 100,000 bytes, 0 to 250 in turn.
std::vector<std::byte> pattern() {
  std::vector<std::byte> bytes(100000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

}  // namespace

TEST_CASE("hashes are those of xxhsum -H3 and xxh128sum") {
  CHECK(to_hex(xxh3_64({})) == "2d06800538d394c2");
  CHECK(to_hex(xxh3_128({})) == "99aa06d3014798d86001c324468d497f");
  CHECK(to_hex(xxh3_64(as_bytes("shardkit"))) == "ea496ecfc03e3372");
  CHECK(to_hex(xxh3_128(as_bytes("shardkit"))) == "60f5680346ede24bf63bac0a4188c71c");
  CHECK(to_hex(xxh3_64(pattern())) == "42c23aeead96750d");
  CHECK(to_hex(xxh3_128(pattern())) == "54182c58bbb1337c42c23aeead96750d");
}

TEST_CASE("a stream has the hash of the whole, however it is cut") {
  const std::vector<std::byte> bytes = pattern();
  const Hash128 whole = xxh3_128(bytes);
  for (const std::size_t step : {1U, 7U, 256U, 1024U, 4097U, 100000U}) {
    Xxh3Stream stream;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      stream.update(Bytes(bytes).subspan(at, std::min(step, bytes.size() - at)));
    }
    CHECK(stream.digest() == whole);
    CHECK(stream.digest64() == xxh3_64(bytes));
    stream.reset();
    CHECK(stream.digest64() == xxh3_64({}));
  }
}

TEST_CASE("the digest may be taken in the middle, and a copy goes its own way") {
  Xxh3Stream stream;
  CHECK(stream.digest() == xxh3_128({}));
  stream.update(as_bytes("shard"));
  Xxh3Stream copy = stream;
  CHECK(stream.digest() == xxh3_128(as_bytes("shard")));
  stream.update(as_bytes("kit"));
  copy.update(as_bytes("s"));
  CHECK(stream.digest() == xxh3_128(as_bytes("shardkit")));
  CHECK(copy.digest() == xxh3_128(as_bytes("shards")));
  copy = stream;
  CHECK(copy.digest() == stream.digest());
}

TEST_CASE("digits of a checksum are bytes, two for each") {
  CHECK(bytes_of_hex("00ff7a") == std::vector{std::byte{0}, std::byte{0xff}, std::byte{0x7a}});
  CHECK(bytes_of_hex("").empty());
}

TEST_CASE("hexadecimal is read back as it was written, and nothing else is read") {
  const Hash128 hash{0x0123456789abcdef, 0xf};
  CHECK(to_hex(hash) == "0123456789abcdef000000000000000f");
  Hash128 back;
  CHECK(parse_hex(to_hex(hash), back));
  CHECK(back == hash);
  std::uint64_t number = 0;
  CHECK(parse_hex("00000000000000ff", number));
  CHECK(number == 255);
  for (const char* text : {"", "ff", "00000000000000fg", "0x000000000000ff", " 0000000000000ff", "-000000000000001",
                           "00000000000000ff0"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_hex(text, number));
  }
  CHECK_FALSE(parse_hex("0123456789abcdef000000000000000", back));
  CHECK_FALSE(parse_hex("0123456789abcdef000000000000000fa", back));
}
