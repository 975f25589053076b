#pragma once

#include <string>
#include <string_view>

#include "net/clock.hpp"
#include "net/http_message.hpp"
#include "net/secret.hpp"

/// AWS Signature Version 4 in the Authorization header, as "Authenticating Requests: Using the Authorization Header" of
/// the Amazon S3 API reference has it: the path is signed as it is sent, never encoded a second time or normalised.
/// That is S3's rule; for other services it holds where path segments need no encoding (STS: "/").
namespace shardkit {

/// Lower-case hexadecimal SHA-256 of `text`.
std::string sha256_hex(std::string_view text);

/// Whose signature.
struct SigningKey {
  std::string access_key_id;
  Secret secret_access_key;
  Secret session_token;  ///< empty for long-lived keys
};

struct SigningScope {
  std::string region;
  std::string service = "s3";
};

/// Adds X-Amz-Date, X-Amz-Content-Sha256 (of the body; for s3 alone), X-Amz-Security-Token and Authorization to the
/// headers of `request`, taking the place of those that an earlier attempt left. All headers there are signed, and
/// Host. The query of the URL must be canonical already (canonical_query()).
void sign_v4(HttpRequest& request, const SigningKey& key, const SigningScope& scope, WallTime time);

}  // namespace shardkit
