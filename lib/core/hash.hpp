#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/bytes.hpp"

struct XXH3_state_s;   // of xxhash
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

/// Lower-case hexadecimal, 16 and 32 digits, most significant first, as xxhsum prints them.
std::string to_hex(std::uint64_t value);
std::string to_hex(const Hash128& value);

/// Parses 32 hexadecimal digits; false for anything else.
bool parse_hex(std::string_view text, Hash128& value);
bool parse_hex(std::string_view text, std::uint64_t& value);

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

/// Streaming MD5 (RFC 1321), for formats of other programs that need it. It only detects accidents, and is much slower
/// than XXH3. Throws Error{unsupported} if the system's OpenSSL forbids it (FIPS mode).
class Md5Stream {
 public:
  Md5Stream();

  void update(Bytes bytes);
  /// 32 lower-case hexadecimal digits, as md5sum prints them. Nothing may follow.
  std::string finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace shardkit
