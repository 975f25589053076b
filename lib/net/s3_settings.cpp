#include "net/s3_settings.hpp"

#include <fmt/format.h>

#include "net/aws_profile.hpp"

namespace shardkit {
namespace {

/// Fits as one label of a host name below AWS's certificate.
bool is_host_label(const std::string& bucket) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return bucket.size() <= 63 && bucket.find_first_not_of(allowed) == std::string::npos && !bucket.starts_with('-') &&
         !bucket.ends_with('-');
}

}  // namespace

S3Settings s3_settings(const S3Options& options, const CloudSurroundings& around) {
  const AwsProfiles profiles(around);
  const AwsProfile* profile = profiles.find(profile_name(options.profile, around.environment));
  const auto setting = [&](const std::string& option, std::initializer_list<const char*> variables, const char* name) {
    if (!option.empty()) return option;
    for (const char* variable : variables) {
      if (const auto value = around.environment(variable)) return *value;
    }
    return profile != nullptr && profile->contains(name) ? profile->at(name) : std::string();
  };
  S3Settings settings;
  if (const auto region = setting(options.region, {"AWS_REGION", "AWS_DEFAULT_REGION"}, "region"); !region.empty()) {
    settings.region = region;
  }
  const auto endpoint = setting(options.endpoint_url, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url");
  if (endpoint.empty()) return settings;
  settings.endpoint = parse_url(endpoint);
  if (!settings.endpoint->query.empty() || !settings.endpoint->user.empty()) {
    throw Error(ErrorCode::usage,
                fmt::format("the endpoint '{}' may have neither login nor query", settings.endpoint->display()));
  }
  return settings;
}

Url s3_url(const S3Settings& settings, const std::string& bucket, const std::string& key) {
  Url url;
  if (settings.endpoint) {
    url = *settings.endpoint;
    if (!url.path.ends_with('/')) url.path += '/';
    url.path += bucket;
  } else {
    url.scheme = "https";
    url.host = fmt::format("s3.{}.amazonaws.com{}", settings.region, settings.region.starts_with("cn-") ? ".cn" : "");
    if (is_host_label(bucket)) {
      url.host = fmt::format("{}.{}", bucket, url.host);
      url.path = "";
    } else {
      url.path = "/" + bucket;
    }
  }
  url.path += "/" + percent_encode_path(key);
  return url;
}

}  // namespace shardkit
