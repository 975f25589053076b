#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "net/aws_xml.hpp"
#include "net/credential_providers.hpp"
#include "net/credentials.hpp"
#include "net/remote_store.hpp"
#include "net/url.hpp"

namespace shardkit::net {

/// What a user says about an S3 store on the command line; empty members were not given.
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
/// AWS_ENDPOINT_URL, the profile's endpoint_url. Throws Error{usage} for an endpoint that is no URL.
S3Settings s3_settings(const S3Options& options, const CloudSurroundings& around);

/// Where `key` of `bucket` is asked for: at AWS by the bucket's own host, or by path where its name does not fit one
/// (dots, capitals, '_'); at other endpoints by path. Its query is empty.
Url s3_url(const S3Settings& settings, const std::string& bucket, const std::string& key);

/// One bucket of AWS S3 or a store that speaks its language.
///
/// A wrong region is put right by what the store answers. Redirects (AIStore's 307) are followed by hand: another host
/// gets neither signature nor token, only what its address carries. A clock that is wrong is put right by the store's.
class S3Store final : public RemoteStore {
 public:
  /// `credentials` null: anonymous. What is referred to outlives the store.
  S3Store(std::string bucket, S3Settings settings, Http& http, CredentialCache* credentials, RetryOptions retry = {});

  const std::string& location() const override { return location_; }
  std::string name_of(const std::string& key) const override;
  /// By ListObjectsV2, a thousand keys a page, in the order of their bytes.
  void list(const std::string& prefix, const std::string& delimiter, const std::function<void(const ObjectPage&)>& each,
            const std::stop_token& stop) override;
  /// By HEAD. A refusal is asked again by GET for the reason, which HEAD cannot carry.
  std::optional<Found> find(const std::string& key, const std::stop_token& stop) override;

 private:
  Answer attempt(const Request& request, const HeadHandler& on_success, const std::stop_token& stop) override;

  struct Exchange;
  Exchange exchange(const Request& request, const HeadHandler& on_success, const std::stop_token& stop);
  void sign(HttpRequest& request, const Exchange& with) const;
  S3ErrorBody reason_of(const Exchange& result, const Request& request, const std::stop_token& stop);
  Error error_of(const Request& request, int status, const S3ErrorBody& body, const AnswerVerdict& verdict) const;
  bool take_region(const HttpResponse& response, const S3ErrorBody& body, const std::string& used);
  bool take_clock(const HttpResponse& response, std::int64_t used);
  S3Listing list_page(const Request& request, const std::stop_token& stop);
  S3Settings settings() const;

  const std::string bucket_;
  const std::string location_;
  CredentialCache* credentials_;
  mutable std::mutex mutex_;
  S3Settings settings_;
  std::atomic<std::int64_t> skew_seconds_ = 0;  ///< what the store's clock is ahead of ours
};

}  // namespace shardkit::net
