#include "net/s3_store.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "net/aws_profile.hpp"
#include "net/aws_xml.hpp"
#include "system/clock.hpp"

namespace shardkit::net {
namespace {

/// Fits as one label of a host name below AWS's certificate.
bool is_host_label(const std::string& bucket) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return bucket.size() <= 63 && bucket.find_first_not_of(allowed) == std::string::npos && !bucket.starts_with('-') &&
         !bucket.ends_with('-');
}

Url parse_endpoint(const std::string& text) {
  if (!is_http_url(text)) {
    throw usage_error(
        "the endpoint (--endpoint-url, AWS_ENDPOINT_URL or endpoint_url of the profile) is not an http or https URL");
  }
  Url endpoint = parse_url(text);
  if (endpoint.query.empty() && endpoint.user.empty()) return endpoint;
  throw usage_error("the endpoint '{}' must not contain a login or query", endpoint.display());
}

}  // namespace

S3Settings s3_settings(const S3Options& options, const CloudEnvironment& around) {
  const AwsProfiles profiles(around);
  const AwsProfile* profile = profiles.find(profile_name(options.profile, around.environment));
  const auto first_of = [&](const std::string& option, std::initializer_list<const char*> variables,
                            const std::string& configured) {
    if (!option.empty()) return option;
    for (const char* variable : variables) {
      if (const auto value = around.environment(variable)) return *value;
    }
    return configured;
  };
  S3Settings settings;
  const auto region = first_of(options.region, {"AWS_REGION", "AWS_DEFAULT_REGION"}, setting_of(profile, "region"));
  if (!region.empty()) settings.region = region;
  settings.requester_pays = options.requester_pays;
  settings.virtual_hosts = options.virtual_hosts || setting_of(profile, "s3.addressing_style") == "virtual";
  const AwsProfile* services = profiles.find(services_section(setting_of(profile, "services")));
  const std::string for_s3 = setting_of(services, "s3.endpoint_url");
  const auto endpoint = first_of(options.endpoint_url, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"},
                                 for_s3.empty() ? setting_of(profile, "endpoint_url") : for_s3);
  if (!endpoint.empty()) settings.endpoint = parse_endpoint(endpoint);
  return settings;
}

S3Settings google_settings(const S3Options& options) {
  return {options.region.empty() ? "auto" : options.region,
          parse_endpoint(options.endpoint_url.empty() ? "https://storage.googleapis.com" : options.endpoint_url), "gs",
          options.virtual_hosts, false};
}

Url s3_url(const S3Settings& settings, const std::string& bucket, const std::string& key) {
  const auto point = parse_access_point(bucket);
  Url url;
  if (settings.endpoint) {
    url = *settings.endpoint;
  } else {
    url.scheme = "https";
    url.host = fmt::format("{}.{}.amazonaws.com{}", point ? "s3-accesspoint" : "s3", settings.region,
                           settings.region.starts_with("cn-") ? ".cn" : "");
  }
  if (!url.path.ends_with('/')) url.path += '/';
  if (point || (is_host_label(bucket) && (!settings.endpoint || settings.virtual_hosts))) {
    url.host = fmt::format("{}.{}", point ? point->host_label : bucket, url.host);
  } else {
    url.path += bucket + '/';
  }
  url.path += percent_encode_path(key);
  return url;
}

namespace {

constexpr std::size_t kLongestPage = 16UL << 20U;  // a thousand keys of 1024 bytes, each three characters, and more
constexpr int kMostRegions = 3;
constexpr std::int64_t kTolerableSkew = 2;  // seconds; less is no reason

/// The same address, in the form that is signed.
void make_canonical(Url& url) {
  QueryParameters parameters;
  for (const auto part : url.query | std::views::split('&')) {
    const std::string_view pair(part.begin(), part.end());
    const std::size_t equals = std::min(pair.find('='), pair.size());
    parameters.emplace_back(percent_decode(pair.substr(0, equals)),
                            percent_decode(pair.substr(std::min(equals + 1, pair.size()))));
  }
  url.query = canonical_query(parameters);
  url.path = percent_encode_path(percent_decode(url.path));
}

const char* remedy_for(const S3ErrorBody& body, int status, bool is_anonymous) {
  if (body.code == "SignatureDoesNotMatch" || body.code == "InvalidAccessKeyId") {
    return "; the keys are wrong for this store";
  }
  if (body.code == "InvalidObjectState") return "; it is archived and must be restored first";
  if (status == 403 && is_anonymous) return "; it may not be read without credentials (--anonymous), or does not exist";
  if (status == 403)
    return "; these credentials may not read it, or it does not exist and they may not list the bucket";
  if (status == 401) return "; the store needs credentials";
  return "";
}

/// A wrong region is corrected from the store's answer, a wrong clock by the store's clock. Redirects (AIStore's 307)
/// are followed here: another host gets neither signature nor token, only what its address contains.
class S3Store final : public RemoteStore {
 public:
  S3Store(std::string bucket, S3Settings settings, Http& http, CredentialCache* credentials, RetryOptions retry)
      : RemoteStore(http, std::move(retry)),
        bucket_(std::move(bucket)),
        location_(fmt::format("{}://{}", settings.scheme, bucket_)),
        credentials_(credentials),
        settings_(std::move(settings)) {
    if (const auto point = parse_access_point(bucket_)) settings_.region = point->region;
  }

  const std::string& location() const override { return location_; }
  std::string name_of(const std::string& key) const override { return location_ + '/' + key; }

  /// By ListObjectsV2, a thousand keys a page, in the order of their bytes.
  void list(const std::string& prefix, const std::string& delimiter, const std::function<void(const ObjectPage&)>& each,
            const std::stop_token& stop) override {
    Request request{""};
    for (std::string token;;) {
      request.query = {{"list-type", "2"}, {"encoding-type", "url"}};  // XML cannot contain every key
      if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
      if (!delimiter.empty()) request.query.emplace_back("delimiter", delimiter);
      if (!token.empty()) request.query.emplace_back("continuation-token", token);
      S3Listing listing = list_page(request, stop);
      each(listing.page);
      if (listing.next_token.empty()) return;
      if (listing.next_token == token) {
        throw Error(ErrorCode::corrupt, At{location_}, "'{}': the store sent the same page of its listing again",
                    location_);
      }
      token = std::move(listing.next_token);
    }
  }

  /// By HEAD. A refusal is repeated with GET for the reason, which HEAD cannot contain.
  std::optional<io::ObjectInfo> find(const std::string& key, const std::stop_token& stop) override {
    Request request{key, "HEAD"};
    if (knows_checksums()) request.headers.add("x-amz-checksum-mode", "ENABLED");
    const Answer answer = persist(
        request, [](const HttpResponse&) { return BodyWriter(); }, stop);
    if (answer.response.status == 404) return std::nullopt;
    if (answer.error) throw Error(*answer.error);
    const HttpHeaders& headers = answer.response.headers;
    if (const auto size = answer.response.content_length())
      return io::ObjectInfo{key, *size, object_version(headers), object_checksum(headers)};
    throw Error(ErrorCode::corrupt, At{name_of(key)}, "'{}': the store does not report its size", name_of(key));
  }

  bool knows_checksums() const override { return location_.starts_with("s3:"); }

 private:
  RemoteStore::Answer attempt(const Request& request, const HeadHandler& on_success,
                              const std::stop_token& stop) override {
    for (int regions = 0;; ++regions) {
      Exchange result;
      try {
        result = exchange(request, on_success, stop);
      } catch (const Error& error) {
        return unanswered(error);
      }
      const int status = result.response.status;
      if (status >= 200 && status < 300) return {std::move(result.response), {}, {}};
      const S3ErrorBody body = reason_of(result, request, stop);
      if (regions < kMostRegions && take_region(result.response, body, result.region)) continue;
      AnswerVerdict verdict = judge(status, body.code);
      if (verdict.remedy == RetryDecision::refresh_credentials) {
        if (result.credentials)
          credentials_->renew(*result.credentials, stop);
        else
          verdict.remedy = RetryDecision::fatal;
      }
      if (verdict.remedy == RetryDecision::correct_clock && !take_clock(result.response, result.skew_seconds))
        verdict.remedy = RetryDecision::fatal;
      Error error = error_of(request, status, body, verdict);
      return {std::move(result.response), verdict, std::move(error)};
    }
  }

  /// A response with the settings of its request.
  struct Exchange {
    HttpResponse response;
    std::string body;  ///< of a response that is not a success
    std::shared_ptr<const Credentials> credentials;
    std::string region;
    std::int64_t skew_seconds = 0;  ///< of the store's clock, as assumed for it
  };
  Exchange exchange(const Request& request, const HeadHandler& on_success, const std::stop_token& stop) {
    Exchange result;
    const S3Settings settings = this->settings();
    result.region = settings.region;
    result.skew_seconds = skew_seconds_;
    try {
      if (credentials_ != nullptr) result.credentials = credentials_->get(stop);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("'{}': {}", name_of(request.key), error.what()), name_of(request.key));
    }
    HttpRequest message;
    message.method = request.method;
    message.url = s3_url(settings, bucket_, request.key);
    message.url.query = canonical_query(request.query);
    message.headers = request.headers;
    if (settings.requester_pays) message.headers.add("x-amz-request-payer", "requester");
    message.may_be_given_up = request.may_be_given_up;
    const auto complete = [&](HttpRequest& next, bool own_host) {
      if (own_host && result.credentials) sign(next, result);
    };
    const auto is_of_this_region = [&](const HttpResponse& response) {
      const std::string_view region = response.headers.get("x-amz-bucket-region");
      return region.empty() || region == settings.region;
    };
    result.response =
        send_following(std::move(message), by_status(on_success, result.body), complete, is_of_this_region, stop);
    return result;
  }

  void sign(HttpRequest& request, const Exchange& with) const {
    make_canonical(request.url);
    sign_v4(request, with.credentials->key, {with.region, "s3"},
            retry().clock->now() + std::chrono::seconds(with.skew_seconds));
  }

  /// The store's error text. A response to HEAD has no body: one to GET has.
  S3ErrorBody reason_of(const Exchange& result, const Request& request, const std::stop_token& stop) {
    const int status = result.response.status;
    if (request.method != "HEAD" || (status != 400 && status != 403)) return read_error_body(result.body);
    Request by_get{request.key, "GET", request.query, request.headers};
    by_get.headers.set("Range", range_header(0, 1));
    try {
      return read_error_body(exchange(
                                 by_get, [](const HttpResponse&) { return BodyWriter(); }, stop)
                                 .body);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::network) throw;
      return {};
    }
  }

  Error error_of(const Request& request, int status, const S3ErrorBody& body, const AnswerVerdict& verdict) const {
    const std::string name = request.key.empty() ? location_ : name_of(request.key);
    const S3Settings now = settings();
    const std::string at = now.endpoint ? fmt::format(" at '{}'", now.endpoint->display()) : "";
    return Error(
        verdict.code,
        fmt::format("'{}'{}: status {}{}{}{}{}{}", name, at, status, body.code.empty() ? "" : " ", body.code,
                    body.message.empty() ? "" : ": ", body.message, remedy_for(body, status, credentials_ == nullptr)),
        name);
  }

  /// True if the response names another region, which is then used.
  bool take_region(const HttpResponse& response, const S3ErrorBody& body, const std::string& used) {
    std::string region(response.headers.get("x-amz-bucket-region"));
    if (region.empty()) region = body.region;
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
    if (region.empty() || region == used || region.find_first_not_of(allowed) != std::string::npos) return false;
    const std::scoped_lock lock(mutex_);
    settings_.region = region;
    return true;
  }

  /// True if the store's clock differs from the one a request assumed; another request may have corrected it meanwhile.
  bool take_clock(const HttpResponse& response, std::int64_t used) {
    const auto date = system::parse_http_date(response.headers.get("date"));
    if (!date) return false;
    const auto skew = std::chrono::duration_cast<std::chrono::seconds>(*date - retry().clock->now()).count();
    skew_seconds_ = skew;
    return std::abs(skew - used) > kTolerableSkew;
  }

  /// A page that is broken, or contains an error despite status 200, is requested again like a failed request.
  S3Listing list_page(const Request& request, const std::stop_token& stop) {
    for (Attempts attempts(retry(), stop);;) {
      std::string text;
      Answer answer = persist(request, collect_body(text, kLongestPage), stop);
      if (answer.error) throw Error(*answer.error);
      try {
        return read_listing(text, location_);
      } catch (const Error& broken) {
        const S3ErrorBody body = read_error_body(text);
        AnswerVerdict verdict = judge(answer.response.status, body.code);
        if (body.code.empty()) verdict = {RetryDecision::retry, ErrorCode::corrupt, false};
        answer.error = body.code.empty() ? broken : error_of(request, answer.response.status, body, verdict);
        answer.verdict = verdict;
      }
      attempts.failed(*answer.error, answer.verdict);
    }
  }

  S3Settings settings() const {
    const std::scoped_lock lock(mutex_);
    return settings_;
  }

  const std::string bucket_;
  const std::string location_;
  CredentialCache* credentials_;
  mutable std::mutex mutex_;
  S3Settings settings_;
  std::atomic<std::int64_t> skew_seconds_ = 0;  ///< offset of the store's clock
};

}  // namespace

std::unique_ptr<ObjectStore> s3_store(std::string bucket, S3Settings settings, Http& http, CredentialCache* credentials,
                                      RetryOptions retry) {
  return std::make_unique<S3Store>(std::move(bucket), std::move(settings), http, credentials, std::move(retry));
}

}  // namespace shardkit::net
