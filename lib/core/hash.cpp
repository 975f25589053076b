#include "core/hash.hpp"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <xxhash.h>

// xxhash picks the widest vector unit at run time only through its dispatching entry points, which Debian's library has
// only on x86-64.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#include "core/error.hpp"
#include "core/text.hpp"

namespace shardkit {

std::uint64_t xxh3_64(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hash128 xxh3_128(Bytes bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }
std::string to_hex(const Hash128& value) { return fmt::format("{:016x}{:016x}", value.high, value.low); }

bool parse_hex(std::string_view text, std::uint64_t& value) {
  return text.size() == 16 && parse_number(text, value, 16);
}

bool parse_hex(std::string_view text, Hash128& value) {
  return text.size() == 32 && parse_hex(text.substr(0, 16), value.high) && parse_hex(text.substr(16), value.low);
}

void Xxh3Stream::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

Xxh3Stream::Xxh3Stream() : state_(XXH3_createState()) { reset(); }
Xxh3Stream::Xxh3Stream(const Xxh3Stream& other) : state_(XXH3_createState()) { *this = other; }
Xxh3Stream& Xxh3Stream::operator=(const Xxh3Stream& other) {
  if (this != &other) XXH3_copyState(state_.get(), other.state_.get());
  return *this;
}

// One state for both: XXH3_64bits_reset() and _update() do the same as those of 128 bits.
void Xxh3Stream::reset() { XXH3_128bits_reset(state_.get()); }

void Xxh3Stream::update(Bytes bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }

Hash128 Xxh3Stream::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return {hash.high64, hash.low64};
}

std::uint64_t Xxh3Stream::digest64() const { return XXH3_64bits_digest(state_.get()); }

Md5Stream::Md5Stream() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  if (EVP_DigestInit_ex(context_.get(), EVP_md5(), nullptr) == 1) return;
  throw Error(ErrorCode::unsupported, "this system's OpenSSL does not allow MD5, which wids indexes need");
}

void Md5Stream::update(Bytes bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

std::string Md5Stream::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace shardkit
