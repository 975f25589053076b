#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The two kinds of URL that shardkit reads: http(s)://host/path?query (RFC 3986) and s3://bucket/key.
namespace shardkit::net {

/// Names and values of a query, neither percent-encoded.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;

/// An http or https URL. Path and query are stored as they are sent: percent-encoded.
struct Url {
  std::string scheme;      ///< "http" or "https"
  std::string user;        ///< decoded; empty without one
  std::string password;    ///< decoded; never part of text()
  std::string host;        ///< in lower case; an IPv6 address in its brackets
  std::uint16_t port = 0;  ///< 0: the scheme's default
  std::string path = "/";
  std::string query;  ///< without '?'

  /// The Host header: "host", or "host:port" if the port is not the scheme's default.
  std::string authority() const;
  /// The complete URL for sending, without user and password.
  std::string text() const;
  /// For messages: without user and password, and with "?..." for a query, which may contain a signature.
  std::string display() const;
  /// Same scheme, host and port: URLs that may get the same credentials.
  bool same_origin(const Url& other) const;

  bool operator==(const Url&) const = default;
};

/// Reads an http(s) URL as users write it: characters that are not allowed in a path (blanks, UTF-8) are
/// percent-encoded, a fragment is dropped. Throws Error{usage} for everything else, also control characters; its text
/// shows no password.
Url parse_url(std::string_view text);

/// A Location header, absolute or relative to `base` (RFC 3986, 5.2; the server resolves "." and ".."). The result does
/// not get the user and password of `base`. Throws Error{usage}.
Url resolve_location(const Url& base, std::string_view location);

/// A bucket and a key or prefix in it.
struct S3Location {
  std::string bucket;
  std::string key;  ///< as stored, not decoded: everything after the bucket's slash; may be empty

  std::string text() const;  ///< "s3://bucket/key"
  bool operator==(const S3Location&) const = default;
};

/// Throws Error{usage} if it does not start with s3://, or has no valid bucket name (3 to 63 of a-z 0-9 . - as in AWS;
/// for other stores also capitals and '_', up to 255).
S3Location parse_s3_location(std::string_view text);

/// Percent-encodes all bytes except A-Z a-z 0-9 - . _ ~, with capital digits, as SigV4 requires.
std::string percent_encode(std::string_view text);
/// The same, but keeps '/': a key as path.
std::string percent_encode_path(std::string_view text);
/// Decodes %XX; keeps everything else, also a '%' without two digits.
std::string percent_decode(std::string_view text);
/// The same, but '+' is a blank: application/x-www-form-urlencoded.
std::string form_decode(std::string_view text);

/// "name=value&..." percent-encoded and sorted by encoded name, then value; a name without a value also gets '='. This
/// is the canonical query of SigV4 and is sent in this form.
std::string canonical_query(const QueryParameters& parameters);

}  // namespace shardkit::net
