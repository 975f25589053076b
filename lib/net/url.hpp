#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The kinds of URL that shardkit reads: http(s)://host/path?query (RFC 3986), s3://bucket/key and gs://bucket/key.
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
  /// Loopback: requests do not leave this machine.
  bool is_loopback() const;

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
  std::string bucket;  ///< or the ARN of an access point, "arn:aws:s3:REGION:ACCOUNT:accesspoint:NAME"
  std::string key;     ///< as stored, not decoded: everything after the bucket's slash; may be empty

  bool operator==(const S3Location&) const = default;
};

/// Throws Error{usage} if it does not start with s3:// or gs://, or has no valid bucket name (3 to 63 of a-z 0-9 . - as
/// in AWS; for other stores also capitals and '_', up to 255), and Error{unsupported} for an ARN of anything but an
/// access point in one region. "accesspoint/NAME" is accepted too. No message contains a login.
S3Location parse_s3_location(std::string_view text);

/// What the ARN of an access point contains.
struct AccessPoint {
  std::string region;
  std::string host_label;  ///< "NAME-ACCOUNT"
};

/// Empty if `bucket` is not the ARN of an access point.
std::optional<AccessPoint> parse_access_point(std::string_view bucket);

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
