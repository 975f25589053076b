#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/object_store.hpp"
#include "net/credentials.hpp"
#include "net/remote_store.hpp"

/// The XML answers of S3 and STS ("ListObjectsV2", "Error responses", "AssumeRole" of their API references).
namespace shardkit::net {

/// One page of a listing. Names are whole keys, decoded; versions are ETags with their quotes.
struct S3Listing {
  std::vector<io::ObjectInfo> objects;
  std::vector<std::string> prefixes;  ///< with a delimiter: common prefixes, each with it at the end
  std::string next_token;             ///< empty on the last page
};

/// Throws Error{corrupt} for an invalid listing: broken XML, a missing element, an invalid size, a page that is not the
/// last but has no token for the next one. `url` is for messages.
S3Listing read_listing(std::string_view xml, const std::string& url);

/// The UploadId of an answer to CreateMultipartUpload. Throws Error{corrupt} if it has none.
std::string read_upload_id(std::string_view xml, const std::string& url);

/// One page of the parts of an upload.
struct S3Parts {
  std::vector<io::UploadPart> parts;
  std::string next_marker;    ///< empty on the last page
  std::string checksum_type;  ///< of the object to be: "FULL_OBJECT"; empty if the store does not report it
};
/// Throws Error{corrupt} like read_listing().
S3Parts read_parts(std::string_view xml, const std::string& url);

/// One page of the open uploads of a bucket. Names are whole keys.
struct S3Uploads {
  std::vector<io::OpenUpload> uploads;
  std::string next_key;  ///< empty on the last page
  std::string next_id;
};
/// Throws Error{corrupt} like read_listing().
S3Uploads read_uploads(std::string_view xml, const std::string& url);

/// The error in an answer; all members empty if it contains none that can be read.
struct S3ErrorBody {
  std::string code;     ///< "NoSuchKey", ...
  std::string message;  ///< human-readable
  std::string region;   ///< of the bucket, if the store reports it
};

S3ErrorBody read_error_body(std::string_view xml);

/// The credentials in an AssumeRole or AssumeRoleWithWebIdentity answer, without their source; empty if it has none.
std::optional<Credentials> read_sts_grant(std::string_view xml);

}  // namespace shardkit::net
