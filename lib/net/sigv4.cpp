#include "net/sigv4.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace shardkit::net {

namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr const char* kDate = "x-amz-date";
constexpr const char* kContentHash = "x-amz-content-sha256";
constexpr const char* kToken = "x-amz-security-token";
constexpr const char* kAuthorization = "Authorization";

using Digest = std::array<unsigned char, 32>;

std::string hex(const Digest& digest) { return fmt::format("{:02x}", fmt::join(digest, "")); }

std::string_view text_of(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

Digest hmac(std::string_view key, std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(), digest.data(), &size)) {
    return digest;
  }
  throw Error(ErrorCode::unsupported, "this system's OpenSSL does not allow HMAC-SHA256, which S3 requests need");
}

/// No blanks at the ends, one in place of several within.
std::string trimmed(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c != ' ' && c != '\t') {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

struct CanonicalHeaders {
  std::string lines;  ///< "name:value\n" each
  std::string names;  ///< "a;b;c"
};

CanonicalHeaders canonical_headers(const HttpRequest& request) {
  std::vector<HttpHeaders::Field> fields{{"host", request.url.authority()}};
  for (const auto& [name, value] : request.headers.fields()) {
    fields.emplace_back(lower_case(name), trimmed(value));
  }
  std::stable_sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  CanonicalHeaders canonical;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [name, value] = fields[i];
    if (i > 0 && name == fields[i - 1].first) {
      canonical.lines.back() = ',';
      canonical.lines += value + '\n';
      continue;
    }
    canonical.lines += fmt::format("{}:{}\n", name, value);
    canonical.names += fmt::format("{}{}", canonical.names.empty() ? "" : ";", name);
  }
  return canonical;
}

Digest signing_key(const SigningKey& key, std::string_view day, const SigningScope& scope) {
  const Secret start(fmt::format("AWS4{}", key.secret_access_key.reveal()));
  const Digest date = hmac(start.reveal(), day);
  const Digest region = hmac(text_of(date), scope.region);
  const Digest service = hmac(text_of(region), scope.service);
  return hmac(text_of(service), "aws4_request");
}

}  // namespace

std::string sha256_hex(std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1) return hex(digest);
  throw Error(ErrorCode::unsupported, "this system's OpenSSL does not allow SHA-256, which S3 requests need");
}

void sign_v4(HttpRequest& request, const SigningKey& key, const SigningScope& scope, system::WallTime time) {
  const std::string timestamp = system::amz_timestamp(time);
  const std::string day = timestamp.substr(0, 8);
  const std::string body_hash = request.payload.empty() ? sha256_hex(request.body) : "UNSIGNED-PAYLOAD";
  HttpHeaders& headers = request.headers;
  for (const char* name : {kAuthorization, kToken, kContentHash}) headers.remove(name);
  headers.set(kDate, timestamp);
  if (scope.service == "s3") headers.add(kContentHash, body_hash);
  if (!key.session_token.empty()) headers.add(kToken, std::string(key.session_token.reveal()));

  const CanonicalHeaders canonical = canonical_headers(request);
  const std::string canonical_request = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.url.path,
                                                    request.url.query, canonical.lines, canonical.names, body_hash);
  const std::string credential_scope = fmt::format("{}/{}/{}/aws4_request", day, scope.region, scope.service);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, timestamp, credential_scope, sha256_hex(canonical_request));
  const Digest signature = hmac(text_of(signing_key(key, day, scope)), to_sign);
  headers.add(kAuthorization, fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                                          key.access_key_id, credential_scope, canonical.names, hex(signature)));
}

}  // namespace shardkit::net
