#include "net/store_opener.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "net/aws_profile.hpp"

namespace shardkit::net {
namespace {

using Source = std::unique_ptr<io::ObjectSource>;

Source open_web(StoreOpener& opener, const std::string& address, const std::stop_token& stop) {
  return opener.open(parse_url(address), stop);
}

std::unique_ptr<io::ObjectStore> open_bucket(StoreOpener& opener, const std::string& address,
                                             const std::stop_token& stop) {
  CloudEnvironment around = machine_surroundings(*opener.http());
  around.on_retry = opener.options().retry.on_retry;
  const bool is_google = has_scheme(address, "gs://");
  const S3Options& options = opener.options().s3;
  const S3Settings settings = is_google ? google_settings(options) : s3_settings(options, around);
  opener.use_authorities(settings.authorities);
  return s3_store(parse_s3_location(address), settings, opener.credentials(around, is_google),
                  {opener.http(), opener.options().retry, stop});
}

Source open_bucket_to_read(StoreOpener& opener, const std::string& address, const std::stop_token& stop) {
  return open_bucket(opener, address, stop);
}

/// Keys for Google may be in the variables for S3 too. Services of AWS have none for it.
CredentialChain google_chain(const CloudEnvironment& around, const std::string& profile) {
  if (!profile.empty()) return {profile_provider(around, profile)};
  return {environment_provider(around, "GS"), environment_provider(around), profile_provider(around)};
}

constexpr std::array<StoreScheme, 4> kStoreSchemes{{
    {"http", true, nullptr, open_web, nullptr},
    {"https", true, nullptr, open_web, nullptr},
    {"s3", false, parse_s3_location, open_bucket_to_read, open_bucket},
    {"gs", false, parse_s3_location, open_bucket_to_read, open_bucket},
}};

}  // namespace

const StoreScheme* find_store_scheme(std::string_view address) {
  const std::size_t end = address.find("://");
  if (end == std::string_view::npos) return nullptr;
  const auto found = std::ranges::find(kStoreSchemes, lower_case(address.substr(0, end)), &StoreScheme::name);
  return found == kStoreSchemes.end() ? nullptr : &*found;
}

Secret bearer_token(const system::EnvironmentLookup& environment) {
  std::string text = environment("SHARDKIT_TOKEN").value_or("");
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (std::ranges::all_of(text, is_visible)) return Secret(text);
  throw usage_error("the bearer token in SHARDKIT_TOKEN is not one word");
}

StoreOpener::StoreOpener(StoreOptions options) : options_(std::move(options)) {
  if (options_.s3.anonymous) options_.http.netrc_file.clear();
  http_ = std::make_shared<HttpPool>(options_.http);
}

std::shared_ptr<CredentialCache> StoreOpener::credentials(const CloudEnvironment& around, bool is_google) {
  auto& cache = credentials_.at(is_google ? 1 : 0);
  const S3Options& s3 = options_.s3;
  if (!s3.anonymous && !cache) {
    cache = std::make_shared<CredentialCache>(
        is_google ? google_chain(around, s3.profile) : default_chain(around, s3.profile), *around.clock,
        is_google ? "GS" : "AWS");
  }
  return cache;
}

void StoreOpener::use_authorities(const std::string& file) {
  if (file.empty() || !options_.http.ca_file.empty()) return;
  options_.http.ca_file = file;
  options_.http.ca_name = "ca_bundle of the profile";
  http_ = std::make_shared<HttpPool>(options_.http);
}

void StoreOpener::trust(const Url& url) {
  if (url.scheme == "https" || url.is_loopback()) trusted_.push_back(url);
}

std::unique_ptr<io::ObjectSource> StoreOpener::open(const std::string& address, const std::stop_token& stop) {
  if (const StoreScheme* scheme = find_store_scheme(address)) return scheme->open(*this, address, stop);
  throw usage_error("'{}' is not an address of a store; use s3://bucket/key, gs://bucket/key or http(s)://host/path",
                    without_secrets(address));
}

std::unique_ptr<io::ObjectStore> StoreOpener::open_to_write(const std::string& address, const std::stop_token& stop) {
  const StoreScheme* scheme = find_store_scheme(address);
  if (scheme != nullptr && scheme->open_to_write != nullptr) return scheme->open_to_write(*this, address, stop);
  throw usage_error("'{}' is not an address that can be written to; give s3://bucket/prefix or gs://bucket/prefix",
                    without_secrets(address));
}

std::unique_ptr<io::ObjectSource> StoreOpener::open(const Url& url, const std::stop_token& stop) {
  const bool is_trusted = std::ranges::any_of(trusted_, [&](const Url& known) { return known.same_origin(url); });
  const bool gets_token = is_trusted && url.user.empty() && !options_.s3.anonymous;
  return http_store(url, {http_, options_.retry, stop}, gets_token ? options_.token : Secret());
}

}  // namespace shardkit::net
