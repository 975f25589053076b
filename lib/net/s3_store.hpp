#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/object_store.hpp"
#include "net/credential_providers.hpp"
#include "net/credentials.hpp"
#include "net/remote_store.hpp"
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
  HttpHeaders of_new_objects = {};  ///< sent when an object is created: its storage class, encryption, owner's wishes
};

/// Where buckets are.
struct S3Settings {
  std::string region = "us-east-1";
  std::optional<Url> endpoint;  ///< empty: AWS
  std::string scheme = "s3";
  bool virtual_hosts = false;   ///< at the endpoint, each bucket has its own host: BUCKET.HOST
  bool requester_pays = false;  ///< the owner of the credentials pays
  HttpHeaders of_new_objects = {};
  bool fips = false;             ///< AWS's endpoints with certified cryptography
  bool dual_stack = false;       ///< those with IPv6
  std::string authorities = {};  ///< the profile's file of certificates (ca_bundle)
};

/// The options, completed: region by AWS_REGION, AWS_DEFAULT_REGION, the profile; endpoint by AWS_ENDPOINT_URL_S3,
/// AWS_ENDPOINT_URL, the endpoint_url for s3 of the profile's services, the profile's endpoint_url; hosts of buckets by
/// the profile's addressing_style. Throws Error{usage} for an endpoint that is not a URL, Error{unsupported} for
/// use_accelerate_endpoint.
S3Settings s3_settings(const S3Options& options, const CloudEnvironment& around);

/// The same for gs://, by the options only: Google's S3-compatible interface, region "auto".
S3Settings google_settings(const S3Options& options);

/// The URL of `key` of `bucket`: with the bucket's own host at AWS, for access points and if `virtual_hosts` is set;
/// with a path at other endpoints, or if the name does not fit a host (dots, capitals, '_'). Its query is empty.
Url s3_url(const S3Settings& settings, const std::string& bucket, const std::string& key);

/// The objects below `folder.key` in a bucket, or access point, of AWS S3 or a compatible store: "train" and "train/"
/// are the same folder. Objects whose names end in '/', which consoles make to show empty folders, are left out of
/// list(). `credentials` null: anonymous.
std::unique_ptr<io::ObjectStore> s3_store(S3Location folder, S3Settings settings,
                                          std::shared_ptr<CredentialCache> credentials, StoreAccess access);

}  // namespace shardkit::net
