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
};

/// Where buckets are.
struct S3Settings {
  std::string region = "us-east-1";
  std::optional<Url> endpoint;  ///< empty: AWS
};

/// The options, completed: region by AWS_REGION, AWS_DEFAULT_REGION, the profile; endpoint by AWS_ENDPOINT_URL_S3,
/// AWS_ENDPOINT_URL, the profile's endpoint_url. Throws Error{usage} for an endpoint that is not a URL.
S3Settings s3_settings(const S3Options& options, const CloudSurroundings& around);

/// The URL of `key` of `bucket`: at AWS with the bucket's own host, or with a path if the name does not fit one (dots,
/// capitals, '_'); at other endpoints with a path. Its query is empty.
Url s3_url(const S3Settings& settings, const std::string& bucket, const std::string& key);

/// One bucket of AWS S3 or a compatible store. `credentials` null: anonymous. The references outlive the store.
std::unique_ptr<ObjectStore> s3_store(std::string bucket, S3Settings settings, Http& http, CredentialCache* credentials,
                                      RetryOptions retry = {});

}  // namespace shardkit::net
