#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/credential_providers.hpp"
#include "net/credentials.hpp"
#include "net/object_store.hpp"
#include "net/url.hpp"

namespace shardkit::net {

/// The S3 options of a command line; empty members were not given.
struct S3Options {
  std::string profile;
  std::string endpoint_url;
  std::string region;
  bool anonymous = false;
  bool virtual_hosts = false;
  bool requester_pays = false;
};

/// Where buckets are.
struct S3Settings {
  std::string region = "us-east-1";
  std::optional<Url> endpoint;  ///< empty: AWS
  std::string scheme = "s3";
  bool virtual_hosts = false;   ///< at the endpoint, each bucket has its own host: BUCKET.HOST
  bool requester_pays = false;  ///< the owner of the credentials pays
};

/// The options, completed: region by AWS_REGION, AWS_DEFAULT_REGION, the profile; endpoint by AWS_ENDPOINT_URL_S3,
/// AWS_ENDPOINT_URL, the endpoint_url for s3 of the profile's services, the profile's endpoint_url; hosts of buckets by
/// the profile's addressing_style. Throws Error{usage} for an endpoint that is not a URL.
S3Settings s3_settings(const S3Options& options, const CloudEnvironment& around);

/// The same for gs://, by the options only: Google's S3-compatible interface, region "auto".
S3Settings google_settings(const S3Options& options);

/// The URL of `key` of `bucket`: with the bucket's own host at AWS, for access points and if `virtual_hosts` is set;
/// with a path at other endpoints, or if the name does not fit a host (dots, capitals, '_'). Its query is empty.
Url s3_url(const S3Settings& settings, const std::string& bucket, const std::string& key);

/// One bucket, or access point, of AWS S3 or a compatible store. `credentials` null: anonymous. The references outlive
/// the store.
std::unique_ptr<ObjectStore> s3_store(std::string bucket, S3Settings settings, Http& http, CredentialCache* credentials,
                                      RetryOptions retry = {});

}  // namespace shardkit::net
