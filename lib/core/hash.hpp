#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

struct XXH3_state_s;  // of xxhash
struct XXH64_state_s;
struct evp_md_ctx_st;  // of OpenSSL

namespace shardkit {

/// XXH3 with 64 bits and seed 0 over `bytes`, as printed by `xxhsum -H3`.
std::uint64_t xxh3_64(Bytes bytes);

/// A 128-bit XXH3 value.
struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Hash128&) const = default;
};

/// XXH3 with 128 bits and seed 0 over `bytes`, as printed by `xxh128sum`.
Hash128 xxh3_128(Bytes bytes);
/// The same over all bytes of `source`.
Hash128 xxh3_128(ByteSource& source);

/// Lower-case hexadecimal, 16 and 32 digits, most significant first, as xxhsum prints them.
std::string to_hex(std::uint64_t value);
std::string to_hex(const Hash128& value);

/// Parses 32 hexadecimal digits; false for anything else.
bool parse_hex(std::string_view text, Hash128& value);
bool parse_hex(std::string_view text, std::uint64_t& value);
/// The bytes of a checksum's digits, two for each.
std::vector<std::byte> bytes_of_hex(std::string_view digits);

/// Streaming XXH3 for both hashes, for contents too large for memory. A copy continues from the current state,
/// independently.
class Xxh3Stream {
 public:
  Xxh3Stream();
  Xxh3Stream(const Xxh3Stream& other);
  Xxh3Stream& operator=(const Xxh3Stream& other);
  Xxh3Stream(Xxh3Stream&&) noexcept = default;
  Xxh3Stream& operator=(Xxh3Stream&&) noexcept = default;
  ~Xxh3Stream() = default;

  /// Discards all bytes so far.
  void reset();
  void update(Bytes bytes);
  /// xxh3_128() and xxh3_64() of all bytes since the last reset; more may follow.
  Hash128 digest() const;
  std::uint64_t digest64() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

/// Checksums of other programs: of object stores, and MD5 (RFC 1321) of wids indexes. CRCs are reflected, with all bits
/// set at the start and inverted at the end: CRC-32 of gzip, CRC-32C of RFC 3720, CRC-64 of NVM Express. XXH64 and XXH3
/// with 64 and 128 bits have seed 0. The names are those of S3's headers.
enum class ChecksumKind { crc32, crc32c, crc64nvme, md5, sha1, sha256, sha512, xxhash64, xxhash3, xxhash128 };
constexpr auto enum_names(ChecksumKind) {
  return std::to_array<std::string_view>(
      {"crc32", "crc32c", "crc64nvme", "md5", "sha1", "sha256", "sha512", "xxhash64", "xxhash3", "xxhash128"});
}

/// A checksum of a whole file.
struct Checksum {
  ChecksumKind kind = ChecksumKind::md5;
  std::string digits;  ///< as ChecksumStream::finish() gives them
  bool operator==(const Checksum&) const = default;
};

/// Streaming checksum. All of them only detect accidents here, and are slower than XXH3. Throws Error{unsupported} if
/// the system's OpenSSL forbids the algorithm (FIPS mode).
class ChecksumStream {
 public:
  explicit ChecksumStream(ChecksumKind kind);

  void update(Bytes bytes);
  /// Lower-case hexadecimal digits of the checksum of all bytes. Nothing may follow.
  std::string finish();

 private:
  ChecksumKind kind_;
  std::uint64_t crc_;
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;  ///< null unless OpenSSL has the algorithm
  std::unique_ptr<XXH64_state_s, void (*)(XXH64_state_s*)> xxh64_;    ///< null for others
  Xxh3Stream xxh3_;
};

Checksum checksum_of(ChecksumKind kind, Bytes bytes);

/// The CRC-64/NVME of bytes with the CRC `first`, followed by `second_size` bytes with the CRC `second`.
std::uint64_t combine_crc64nvme(std::uint64_t first, std::uint64_t second, std::uint64_t second_size);

}  // namespace shardkit
