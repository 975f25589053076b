#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// URLs of the two kinds that shardkit reads: http(s)://host/path?query (RFC 3986) and s3://bucket/key.
namespace shardkit::net {

/// Names and values of a query, neither percent-encoded.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;

/// An http or https URL. Path and query are kept as they are sent: percent-encoded.
struct Url {
  std::string scheme;      ///< "http" or "https"
  std::string user;        ///< decoded; empty without one
  std::string password;    ///< decoded; never part of text()
  std::string host;        ///< in lower case; an IPv6 address in its brackets
  std::uint16_t port = 0;  ///< 0: the scheme's
  std::string path = "/";
  std::string query;  ///< without '?'

  /// What a client puts into the Host header: "host", or "host:port" where the port is not the scheme's own.
  std::string authority() const;
  /// In full for sending: without user and password.
  std::string text() const;
  /// For messages: without user and password, and "?..." for a query, which may hold a signature.
  std::string display() const;
  /// Same scheme, host and port: what may see the same credentials.
  bool same_origin(const Url& other) const;

  bool operator==(const Url&) const = default;
};

/// Reads an http(s) URL as people write it: what may not stand in a path as it is (blanks, UTF-8) is percent-encoded, a
/// fragment dropped. Throws Error{usage} for everything else, control characters too; the text shows no password.
Url parse_url(std::string_view text);

/// A Location header, absolute or relative to `base` (RFC 3986, 5.2; "." and ".." in it are left to the server). The
/// user and password of `base` do not go along. Throws Error{usage}.
Url resolve_location(const Url& base, std::string_view location);

/// A bucket and a key or prefix in it.
struct S3Location {
  std::string bucket;
  std::string key;  ///< as it is stored, nothing decoded: all behind the bucket's slash; may be empty

  std::string text() const;  ///< "s3://bucket/key"
  bool operator==(const S3Location&) const = default;
};

/// Throws Error{usage}: no s3:// before it, or no bucket name (3 to 63 of a-z 0-9 . - as AWS has them; capitals and '_'
/// too, for other stores, up to 255).
S3Location parse_s3_location(std::string_view text);

/// Percent-encodes all bytes but A-Z a-z 0-9 - . _ ~, with capital digits: what SigV4 asks for.
std::string percent_encode(std::string_view text);
/// The same, and '/' stays: a key as path.
std::string percent_encode_path(std::string_view text);
/// Decodes %XX; anything else stays as it is, a '%' without two digits too.
std::string percent_decode(std::string_view text);
/// The same, and '+' is a blank: application/x-www-form-urlencoded.
std::string form_decode(std::string_view text);

/// "name=value&..." percent-encoded and sorted by encoded name, then value; '=' also behind a name without a value. It
/// is the canonical query of SigV4 and is sent so.
std::string canonical_query(const QueryParameters& parameters);

}  // namespace shardkit::net
