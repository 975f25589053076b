#include "core/hash.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>
#define XXH_STATIC_LINKING_ONLY  // for the size of XXH3_state_t
#include <xxhash.h>

// xxhash picks the widest vector unit at run time only through its dispatching entry points, which Debian's library
// has on x86-64 alone.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#include "core/error.hpp"

namespace shardkit {

struct Xxh3Stream::State {
  XXH3_state_t xxh;
};

std::uint64_t xxh3_64(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hash128 xxh3_128(Bytes bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }
std::string to_hex(const Hash128& value) { return fmt::format("{:016x}{:016x}", value.high, value.low); }

bool parse_hex(std::string_view text, std::uint64_t& value) {
  if (text.size() != 16) return false;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  return error == std::errc() && stop == end;
}

bool parse_hex(std::string_view text, Hash128& value) {
  return text.size() == 32 && parse_hex(text.substr(0, 16), value.high) && parse_hex(text.substr(16), value.low);
}

Xxh3Stream::Xxh3Stream() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Xxh3Stream::~Xxh3Stream() = default;
Xxh3Stream::Xxh3Stream(const Xxh3Stream& other) : state_(std::make_unique<State>()) {
  XXH3_copyState(&state_->xxh, &other.state_->xxh);
}
Xxh3Stream& Xxh3Stream::operator=(const Xxh3Stream& other) {
  if (this != &other) XXH3_copyState(&state_->xxh, &other.state_->xxh);
  return *this;
}
Xxh3Stream::Xxh3Stream(Xxh3Stream&&) noexcept = default;
Xxh3Stream& Xxh3Stream::operator=(Xxh3Stream&&) noexcept = default;

void Xxh3Stream::update(Bytes bytes) { XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size()); }

Hash128 Xxh3Stream::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
  return {hash.high64, hash.low64};
}

struct Xxh3Stream64::State {
  XXH3_state_t xxh;
};

Xxh3Stream64::Xxh3Stream64() : state_(std::make_unique<State>()) { reset(); }
Xxh3Stream64::~Xxh3Stream64() = default;

void Xxh3Stream64::reset() { XXH3_64bits_reset(&state_->xxh); }

void Xxh3Stream64::update(Bytes bytes) { XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size()); }

std::uint64_t Xxh3Stream64::digest() const { return XXH3_64bits_digest(&state_->xxh); }

struct Md5Stream::State {
  State() : context(EVP_MD_CTX_new()) {}
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  EVP_MD_CTX* context;
};

Md5Stream::Md5Stream() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->context, EVP_md5(), nullptr) == 1) return;
  throw Error(ErrorCode::unsupported, "this system's OpenSSL does not allow MD5, which wids indexes are made of");
}

Md5Stream::~Md5Stream() = default;

void Md5Stream::update(Bytes bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

std::string Md5Stream::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace shardkit
