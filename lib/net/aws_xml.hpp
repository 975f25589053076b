#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/object_store.hpp"

/// The XML that S3 and STS answer with ("ListObjectsV2", "Error responses", "AssumeRole" of their API references).
namespace shardkit::net {

/// One page of a listing. Names are whole keys, decoded; versions are ETags with their quotes.
struct S3Listing {
  ObjectPage page;
  std::string next_token;  ///< empty on the last page
};

/// Throws Error{corrupt} for what is no listing: broken XML, an element missing, a size that is no number, a page that
/// says it is not the last and names no next one. `url` is for messages.
S3Listing read_listing(std::string_view xml, const std::string& url);

/// The error in an answer; all members empty when it holds none that can be read.
struct S3ErrorBody {
  std::string code;     ///< "NoSuchKey", ...
  std::string message;  ///< for people
  std::string region;   ///< of the bucket, where the store tells
};

S3ErrorBody read_error_body(std::string_view xml);

/// What STS lends, as text.
struct StsGrant {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;
  std::string expiration;  ///< ISO 8601
};

/// Of an AssumeRole or AssumeRoleWithWebIdentity answer; empty when it is none.
std::optional<StsGrant> read_sts_grant(std::string_view xml);

}  // namespace shardkit::net
