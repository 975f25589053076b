#include "core/hash.hpp"

#include <array>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <xxhash.h>

// xxhash picks the widest vector unit at run time only through its dispatching entry points, which Debian's library has
// only on x86-64.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"

namespace shardkit {

std::uint64_t xxh3_64(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hash128 xxh3_128(Bytes bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

Hash128 xxh3_128(ByteSource& source) {
  Xxh3Stream hash;
  source.stream_all([&](Bytes piece) { hash.update(piece); });
  return hash.digest();
}

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }
std::string to_hex(const Hash128& value) { return fmt::format("{:016x}{:016x}", value.high, value.low); }

bool parse_hex(std::string_view text, std::uint64_t& value) {
  return text.size() == 16 && parse_number(text, value, 16);
}

bool parse_hex(std::string_view text, Hash128& value) {
  return text.size() == 32 && parse_hex(text.substr(0, 16), value.high) && parse_hex(text.substr(16), value.low);
}

std::vector<std::byte> bytes_of_hex(std::string_view digits) {
  std::vector<std::byte> bytes(digits.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned char value = 0;
    parse_number(digits.substr(2 * i, 2), value, 16);
    bytes[i] = static_cast<std::byte>(value);
  }
  return bytes;
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

namespace {

template <typename Word>
using CrcTables = std::array<std::array<Word, 256>, 8>;

/// Table k advances a CRC by a byte that k others follow.
template <typename Word>
constexpr CrcTables<Word> crc_tables(Word polynomial) {
  CrcTables<Word> tables{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    Word crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (unsigned byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8U) ^ tables[0][tables[k - 1][byte] & 0xFFU];
  }
  return tables;
}

// The polynomials with their bits reversed.
constexpr auto kCrc32 = crc_tables<std::uint32_t>(0xEDB88320U);
constexpr auto kCrc32c = crc_tables<std::uint32_t>(0x82F63B78U);
constexpr std::uint64_t kCrc64NvmePolynomial = 0x9A6C9329AC4BC9B5U;
constexpr auto kCrc64Nvme = crc_tables<std::uint64_t>(kCrc64NvmePolynomial);

template <typename Word>
std::uint64_t advance_crc(const CrcTables<Word>& tables, std::uint64_t crc, Bytes bytes) {
  while (bytes.size() >= 8) {
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) next |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    next ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= tables[7 - i][(next >> (8 * i)) & 0xFFU];
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes)
    crc = (crc >> 8U) ^ tables[0][(crc ^ std::to_integer<std::uint64_t>(byte)) & 0xFFU];
  return crc;
}

/// Null for a kind that is not OpenSSL's.
const EVP_MD* digest_of(ChecksumKind kind) {
  switch (kind) {
    case ChecksumKind::md5:
      return EVP_md5();
    case ChecksumKind::sha1:
      return EVP_sha1();
    case ChecksumKind::sha256:
      return EVP_sha256();
    case ChecksumKind::sha512:
      return EVP_sha512();
    default:
      return nullptr;
  }
}

}  // namespace

ChecksumStream::ChecksumStream(ChecksumKind kind)
    : kind_(kind),
      crc_(kind == ChecksumKind::crc64nvme ? ~std::uint64_t{0} : ~std::uint32_t{0}),
      context_(nullptr, EVP_MD_CTX_free),
      xxh64_(nullptr, [](XXH64_state_s* state) { XXH64_freeState(state); }) {
  if (kind == ChecksumKind::xxhash64) {
    xxh64_.reset(XXH64_createState());
    XXH64_reset(xxh64_.get(), 0);
  }
  const EVP_MD* digest = digest_of(kind);
  if (digest == nullptr) return;
  context_.reset(EVP_MD_CTX_new());
  if (EVP_DigestInit_ex(context_.get(), digest, nullptr) == 1) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("this system's OpenSSL does not allow {}, which {} need", enum_name(kind),
                          kind == ChecksumKind::md5 ? "wids indexes" : "checksums of object stores"));
}

void ChecksumStream::update(Bytes bytes) {
  switch (kind_) {
    case ChecksumKind::crc32:
      crc_ = advance_crc(kCrc32, crc_, bytes);
      break;
    case ChecksumKind::crc32c:
      crc_ = advance_crc(kCrc32c, crc_, bytes);
      break;
    case ChecksumKind::crc64nvme:
      crc_ = advance_crc(kCrc64Nvme, crc_, bytes);
      break;
    case ChecksumKind::xxhash64:
      XXH64_update(xxh64_.get(), bytes.data(), bytes.size());
      break;
    case ChecksumKind::xxhash3:
    case ChecksumKind::xxhash128:
      xxh3_.update(bytes);
      break;
    default:
      EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }
}

std::string ChecksumStream::finish() {
  if (kind_ == ChecksumKind::crc64nvme) return to_hex(~crc_);
  if (kind_ == ChecksumKind::xxhash64) return to_hex(XXH64_digest(xxh64_.get()));
  if (kind_ == ChecksumKind::xxhash3) return to_hex(xxh3_.digest64());
  if (kind_ == ChecksumKind::xxhash128) return to_hex(xxh3_.digest());
  if (!context_) return fmt::format("{:08x}", ~static_cast<std::uint32_t>(crc_));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(size), ""));
}

Checksum checksum_of(ChecksumKind kind, Bytes bytes) {
  ChecksumStream stream(kind);
  stream.update(bytes);
  return {kind, stream.finish()};
}

namespace {

/// The product of two polynomials modulo that of the CRC. The highest bit is the coefficient of x^0.
std::uint64_t multiply_crc64nvme(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  for (std::uint64_t bit = 1ULL << 63U; bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1U) ^ ((b & 1U) != 0 ? kCrc64NvmePolynomial : 0);
  }
  return product;
}

}  // namespace

std::uint64_t combine_crc64nvme(std::uint64_t first, std::uint64_t second, std::uint64_t second_size) {
  std::uint64_t power = 1ULL << 55U;  // x^8: one byte
  std::uint64_t shift = 1ULL << 63U;  // x^0
  for (; second_size != 0; second_size >>= 1U) {
    if ((second_size & 1U) != 0) shift = multiply_crc64nvme(shift, power);
    power = multiply_crc64nvme(power, power);
  }
  return multiply_crc64nvme(first, shift) ^ second;
}

}  // namespace shardkit
