#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "core/fields.hpp"
#include "core/hash.hpp"

using namespace shardkit;

namespace {

std::string checksum(ChecksumKind kind, std::string_view text) {
  ChecksumStream stream(kind);
  stream.update(as_bytes(text));
  return stream.finish();
}

}  // namespace

TEST_CASE("MD5 gives the digests of RFC 1321") {
  CHECK(checksum(ChecksumKind::md5, "") == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(checksum(ChecksumKind::md5, "abc") == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(checksum(ChecksumKind::md5, "abcdefghijklmnopqrstuvwxyz") == "c3fcd3d76192e4007dfb496cca67e13b");
}

TEST_CASE("each kind gives the published value for its test string") {
  CHECK(checksum(ChecksumKind::crc32, "123456789") == "cbf43926");
  CHECK(checksum(ChecksumKind::crc32c, "123456789") == "e3069283");
  CHECK(checksum(ChecksumKind::crc64nvme, "123456789") == "ae8b14860a799888");
  CHECK(checksum(ChecksumKind::sha1, "abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(checksum(ChecksumKind::sha256, "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("the checksums that S3 knows since 2026 are those of xxhash and SHA-512") {
  CHECK(checksum(ChecksumKind::xxhash64, "") == "ef46db3751d8e999");
  CHECK(checksum(ChecksumKind::xxhash3, "") == "2d06800538d394c2");
  CHECK(checksum(ChecksumKind::xxhash128, "") == "99aa06d3014798d86001c324468d497f");
  CHECK(checksum(ChecksumKind::sha512, "abc").starts_with("ddaf35a193617abacc417349ae204131"));
  CHECK(checksum(ChecksumKind::xxhash128, "abc") == to_hex(xxh3_128(as_bytes(std::string_view("abc")))));
}

TEST_CASE("the CRCs of parts give that of the whole") {
  const std::string text = "123456789, and more text than eight bytes";
  const auto crc = [](std::string_view part) {
    std::uint64_t value = 0;
    parse_hex(checksum(ChecksumKind::crc64nvme, part), value);
    return value;
  };
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string_view whole(text);
    CHECK(combine_crc64nvme(crc(whole.substr(0, cut)), crc(whole.substr(cut)), text.size() - cut) == crc(whole));
  }
}

TEST_CASE("pieces of any length give the checksum of the whole") {
  const std::string text(1000, 'x');
  for (std::size_t kind = 0; kind < kEnumNames<ChecksumKind>.size(); ++kind) {
    for (const std::size_t piece : {1, 7, 63, 64, 65, 999}) {
      ChecksumStream stream(static_cast<ChecksumKind>(kind));
      for (std::size_t at = 0; at < text.size(); at += piece)
        stream.update(as_bytes(text).subspan(at).first(std::min(piece, text.size() - at)));
      CHECK(stream.finish() == checksum(static_cast<ChecksumKind>(kind), text));
    }
  }
}
