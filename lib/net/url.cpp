#include "net/url.hpp"

#include <algorithm>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace shardkit::net {
namespace {

constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
constexpr std::string_view kHexDigits = "0123456789ABCDEF";
/// The characters that a path or query may contain unencoded (RFC 3986, 3.3 and 3.4), and '%'.
constexpr std::string_view kSentAsIs = "!$&'()*+,;=:@/?%";
constexpr std::size_t kLongestBucket = 255;

void append_encoded(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kHexDigits[byte >> 4U];
  out += kHexDigits[byte & 15U];
}

std::string encode(std::string_view text, std::string_view also_kept) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos || also_kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      append_encoded(out, c);
    }
  }
  return out;
}

std::optional<char> decoded_byte(std::string_view digits) {
  std::uint8_t value = 0;
  if (digits.size() != 2 || !parse_number(digits, value, 16)) return std::nullopt;
  return static_cast<char>(value);
}

[[noreturn]] void refuse(std::string_view what) { throw usage_error("{}; expected http(s)://host[:port]/path", what); }

std::uint16_t parse_port(std::string_view text) {
  std::uint16_t port = 0;
  if (!parse_number(text, port) || port == 0) refuse("the URL has no valid port");
  return port;
}

bool is_host(std::string_view host) {
  constexpr std::string_view name = "abcdefghijklmnopqrstuvwxyz0123456789-._";
  if (host.starts_with('[')) {
    return host.size() > 2 && host.ends_with(']') &&
           host.substr(1, host.size() - 2).find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
  }
  return !host.empty() && host.find_first_not_of(name) == std::string_view::npos;
}

/// "host", "host:port", "[::1]:port"
void parse_host_and_port(std::string_view text, Url& url) {
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    if (colon + 1 < text.size()) url.port = parse_port(text.substr(colon + 1));
    text = text.substr(0, colon);
  }
  if (url.port == (url.scheme == "https" ? 443 : 80)) url.port = 0;
  url.host = lower_case(text);
  if (!is_host(url.host)) refuse("the URL has no valid host");
}

void parse_path_and_query(std::string_view text, Url& url) {
  text = text.substr(0, text.find('#'));
  const std::size_t question = text.find('?');
  url.path = encode(text.substr(0, question), kSentAsIs);
  url.query = question == std::string_view::npos ? "" : encode(text.substr(question + 1), kSentAsIs);
  if (!url.path.starts_with('/')) url.path.insert(0, "/");
}

void refuse_control_characters(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) refuse("the URL contains a control character");
  }
}

}  // namespace

std::string Url::authority() const { return port == 0 ? host : fmt::format("{}:{}", host, port); }

std::string Url::text() const {
  return fmt::format("{}://{}{}{}{}", scheme, authority(), path, query.empty() ? "" : "?", query);
}

std::string Url::display() const {
  return fmt::format("{}://{}{}{}", scheme, authority(), path, query.empty() ? "" : "?...");
}

bool Url::same_origin(const Url& other) const {
  return scheme == other.scheme && host == other.host && port == other.port;
}

bool Url::is_loopback() const {
  // 127.0.0.0/8 as an address; "127.evil.org" is none.
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

Url parse_url(std::string_view text) {
  refuse_control_characters(text);
  Url url;
  for (const char* scheme : {"http", "https"}) {
    if (has_scheme(text, fmt::format("{}://", scheme))) url.scheme = scheme;
  }
  if (url.scheme.empty()) refuse("this is not an http or https URL");
  text.remove_prefix(url.scheme.size() + 3);
  const std::size_t end = std::min(text.find_first_of("/?#"), text.size());
  std::string_view authority = text.substr(0, end);
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view login = authority.substr(0, at);
    const std::size_t colon = login.find(':');
    url.user = percent_decode(login.substr(0, colon));
    if (colon != std::string_view::npos) url.password = percent_decode(login.substr(colon + 1));
    refuse_control_characters(url.user);
    refuse_control_characters(url.password);
    authority.remove_prefix(at + 1);
  }
  parse_host_and_port(authority, url);
  parse_path_and_query(text.substr(end), url);
  return url;
}

namespace {

/// Without "." and ".." between its slashes (RFC 3986, 5.2.4).
std::string without_dots(std::string_view path) {
  std::string out;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part == "..") out.resize(std::min(out.rfind('/'), out.size()));
    if (part != "." && part != "..") out.append("/").append(part);
    if (end == path.size() && (part == "." || part == "..")) out += '/';
    at = end + 1;
  }
  return out.empty() ? "/" : out;
}

}  // namespace

Url resolve_location(const Url& base, std::string_view location) {
  refuse_control_characters(location);
  if (is_http_url(location)) return parse_url(location);
  if (location.starts_with("//")) return parse_url(fmt::format("{}:{}", base.scheme, location));
  if (location.substr(0, location.find_first_of("/?#")).find(':') != std::string_view::npos) {
    refuse("the redirect leads to something other than an http or https URL");
  }
  Url url = base;
  url.user.clear();
  url.password.clear();
  if (location.starts_with('/')) {
    parse_path_and_query(location, url);
  } else if (location.starts_with('?')) {
    parse_path_and_query(base.path + std::string(location), url);
  } else if (!location.empty() && !location.starts_with('#')) {
    parse_path_and_query(base.path.substr(0, base.path.rfind('/') + 1) + std::string(location), url);
    url.path = without_dots(url.path);
  }
  return url;
}

std::optional<AccessPoint> parse_access_point(std::string_view bucket) {
  if (!bucket.starts_with("arn:") || bucket.size() > kLongestBucket) return std::nullopt;
  static const std::regex arn("arn:aws[a-z-]*:s3:([a-z0-9-]+):([0-9]{12}):accesspoint:([a-z0-9-]{3,50})");
  std::cmatch found;
  if (!std::regex_match(bucket.begin(), bucket.end(), found, arn)) return std::nullopt;
  return AccessPoint{found[1], fmt::format("{}-{}", found[3].str(), found[2].str())};
}

S3Location parse_s3_location(std::string_view text) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  constexpr std::string_view point = ":accesspoint/";
  if (!has_scheme(text, "s3://") && !has_scheme(text, "gs://")) {
    throw usage_error("'{}' is not an s3:// address; expected s3://bucket/key", without_secrets(text));
  }
  text.remove_prefix(5);
  const bool is_arn = text.starts_with("arn:");
  std::size_t slash = text.find('/');
  if (is_arn && text.substr(0, std::min(slash, text.size() - 1) + 1).ends_with(point))
    slash = text.find('/', slash + 1);
  S3Location location{std::string(text.substr(0, slash)), ""};
  if (slash != std::string_view::npos) location.key = text.substr(slash + 1);
  std::string& bucket = location.bucket;
  std::ranges::replace(bucket, '/', ':');
  if (is_arn && parse_access_point(bucket)) return location;
  if (is_arn) {
    throw Error(ErrorCode::unsupported, fmt::format("'{}' is not the ARN of an access point in one region; expected "
                                                    "s3://arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME/key",
                                                    bucket));
  }
  if (bucket.ends_with("--x-s3") || bucket.ends_with("--xa-s3")) {
    throw Error(ErrorCode::unsupported, fmt::format("'{}' is a directory bucket (S3 Express One Zone), which is not "
                                                    "supported; use a general purpose bucket",
                                                    bucket));
  }
  // Ceph names the bucket of another tenant "tenant:bucket".
  const std::size_t tenant = bucket.find(':');
  const bool has_tenant =
      tenant != std::string::npos && tenant > 0 && bucket.find(':', tenant + 1) == std::string::npos;
  // A secret may contain a slash: s3://KEY:SEC/RET@bucket.
  const bool may_be_login = tenant != std::string::npos && text.find('@') != std::string_view::npos;
  if (bucket.find('@') != std::string::npos || may_be_login || (tenant != std::string::npos && !has_tenant)) {
    throw Error(ErrorCode::usage, "an s3:// address must not contain keys; give them in the environment or a profile");
  }
  const std::string_view name = std::string_view(bucket).substr(has_tenant ? tenant + 1 : 0);
  if (name.size() < 3 || bucket.size() > kLongestBucket || name.find_first_not_of(allowed) != std::string_view::npos ||
      bucket.substr(0, has_tenant ? tenant : 0).find_first_not_of(allowed) != std::string_view::npos ||
      name.front() == '.') {
    throw usage_error("'{}' is not a bucket name: use 3 to {} letters, digits, '.', '-' or '_'", bucket,
                      kLongestBucket);
  }
  return location;
}

std::string percent_encode(std::string_view text) { return encode(text, ""); }

std::string percent_encode_path(std::string_view text) { return encode(text, "/"); }

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' ? decoded_byte(text.substr(i + 1, 2)) : std::nullopt;
    out += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return out;
}

std::string form_decode(std::string_view text) {
  std::string blanks(text);
  std::replace(blanks.begin(), blanks.end(), '+', ' ');
  return percent_decode(blanks);
}

std::string canonical_query(const QueryParameters& parameters) {
  QueryParameters encoded;
  for (const auto& [name, value] : parameters) encoded.emplace_back(percent_encode(name), percent_encode(value));
  std::sort(encoded.begin(), encoded.end());
  std::string query;
  for (const auto& [name, value] : encoded) {
    query += fmt::format("{}{}={}", query.empty() ? "" : "&", name, value);
  }
  return query;
}

}  // namespace shardkit::net
