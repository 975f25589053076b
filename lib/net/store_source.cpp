#include "net/store_source.hpp"

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

class StoreSource final : public io::ObjectSource {
 public:
  StoreSource(OpenStore open, std::stop_token stop)
      : open_(std::move(open)), stop_(std::move(stop)), location_(open_.store->location()) {
    while (location_.ends_with('/')) location_.pop_back();
    if (!open_.key.empty() && !open_.key.ends_with('/')) open_.key += '/';
    if (!open_.key.empty()) location_ += '/' + open_.key.substr(0, open_.key.size() - 1);
  }

  const std::string& location() const override { return location_; }
  std::string address_of(const std::string& name) const override { return open_.store->name_of(open_.key + name); }

  std::vector<io::ObjectInfo> list(const std::string& folder) override {
    const std::string prefix = prefix_of(folder);
    std::vector<io::ObjectInfo> found;
    const auto add = [&](const ObjectPage& page) {
      for (const io::ObjectInfo& object : page.objects) {
        if (object.name.ends_with('/') || !object.name.starts_with(prefix)) continue;
        found.push_back({object.name.substr(open_.key.size()), object.size, object.version});
      }
    };
    open_.store->list(prefix, "", add, stop_);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return found;
  }

  std::vector<std::string> names_in(const std::string& folder) override {
    const std::string prefix = prefix_of(folder);
    std::vector<std::string> names;
    const auto add = [&](const std::string& key) {
      if (key.size() > prefix.size()) names.push_back(key.substr(open_.key.size()));
    };
    const auto add_page = [&](const ObjectPage& page) {
      for (const io::ObjectInfo& object : page.objects) add(object.name);
      for (const std::string& below : page.prefixes) add(below);
    };
    try {
      open_.store->list(prefix, "/", add_page, stop_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;  // plain HTTP lists nothing
    }
    return names;
  }

  std::optional<io::ObjectInfo> find(const std::string& name) override {
    auto found = open_.store->find(open_.key + name, stop_);
    if (found) found->name = name;
    return found;
  }

  void bypass_caches(const std::string& name) override { open_.store->bypass_caches(open_.key + name); }
  bool knows_checksums() const override { return open_.store->knows_checksums(); }

  io::Fetched fetch(const io::ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                    const std::stop_token& stop) override {
    return open_.store->get_range(in_store(object), offset, length, write, stop);
  }

  io::Fetched fetch_whole(const io::ObjectInfo& object, const std::function<BodyWriter()>& start,
                          const std::stop_token& stop) override {
    return open_.store->get_whole(in_store(object), start, stop);
  }

 private:
  std::string prefix_of(const std::string& folder) const {
    return folder.empty() ? open_.key : open_.key + folder + '/';
  }
  io::ObjectInfo in_store(const io::ObjectInfo& object) const {
    return {open_.key + object.name, object.size, object.version};
  }

  OpenStore open_;
  std::stop_token stop_;
  std::string location_;
};

OpenStore open_web(StoreOpener& opener, const std::string& address) { return opener.open(parse_url(address)); }

OpenStore open_bucket(StoreOpener& opener, const std::string& address) {
  S3Location location = parse_s3_location(address);
  CloudEnvironment around = machine_surroundings(*opener.http());
  around.on_retry = opener.options().retry.on_retry;
  const bool is_google = has_scheme(address, "gs://");
  const S3Options& options = opener.options().s3;
  const auto credentials = opener.credentials(around, is_google);
  auto store = s3_store(location.bucket, is_google ? google_settings(options) : s3_settings(options, around),
                        *opener.http(), credentials.get(), opener.options().retry);
  return {opener.http(), credentials, std::move(store), std::move(location.key)};
}

/// Keys for Google may be in the variables for S3 too. Services of AWS have none for it.
CredentialChain google_chain(const CloudEnvironment& around, const std::string& profile) {
  if (!profile.empty()) return {profile_provider(around, profile)};
  return {environment_provider(around, "GS"), environment_provider(around), profile_provider(around)};
}

/// The registry: a line for each kind of store.
std::vector<StoreScheme>& store_schemes() {
  static std::vector<StoreScheme> schemes{
      {"http", true, nullptr, open_web},
      {"https", true, nullptr, open_web},
      {"s3", false, parse_s3_location, open_bucket},
      {"gs", false, parse_s3_location, open_bucket},
  };
  return schemes;
}

}  // namespace

const StoreScheme* find_store_scheme(std::string_view address) {
  const std::size_t end = address.find("://");
  if (end == std::string_view::npos) return nullptr;
  const auto found = std::ranges::find(store_schemes(), lower_case(address.substr(0, end)), &StoreScheme::name);
  return found == store_schemes().end() ? nullptr : &*found;
}

void register_store_scheme(const StoreScheme& scheme) {
  std::erase_if(store_schemes(), [&](const StoreScheme& known) { return known.name == scheme.name; });
  store_schemes().push_back(scheme);
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

void StoreOpener::trust(const Url& url) {
  if (url.scheme == "https" || url.is_loopback()) trusted_.push_back(url);
}

OpenStore StoreOpener::open(const std::string& address) {
  if (const StoreScheme* scheme = find_store_scheme(address)) return scheme->open(*this, address);
  throw usage_error("'{}' is not an address of a store; use s3://bucket/key, gs://bucket/key or http(s)://host/path",
                    without_secrets(address));
}

OpenStore StoreOpener::open(const Url& url) {
  const bool is_trusted = std::ranges::any_of(trusted_, [&](const Url& known) { return known.same_origin(url); });
  const bool gets_token = is_trusted && url.user.empty() && !options_.s3.anonymous;
  return {http_, nullptr, http_store(url, *http_, options_.retry, gets_token ? options_.token : Secret()), ""};
}

std::unique_ptr<io::ObjectSource> store_source(OpenStore store, std::stop_token stop) {
  return std::make_unique<StoreSource>(std::move(store), std::move(stop));
}

}  // namespace shardkit::net
