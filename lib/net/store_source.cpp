#include "net/store_source.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
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

void check_s3(std::string_view address) { parse_s3_location(address); }

OpenStore open_s3(StoreOpener& opener, const std::string& address) {
  S3Location location = parse_s3_location(address);
  const CloudSurroundings around = machine_surroundings(*opener.http());
  const auto& credentials = opener.credentials(around);
  auto store = s3_store(location.bucket, s3_settings(opener.options().s3, around), *opener.http(), credentials.get(),
                        opener.options().retry);
  return {opener.http(), credentials, std::move(store), std::move(location.key)};
}

/// The registry: a line for each kind of store.
std::vector<StoreScheme>& store_schemes() {
  static std::vector<StoreScheme> schemes{
      {"http", true, nullptr, open_web},
      {"https", true, nullptr, open_web},
      {"s3", false, check_s3, open_s3},
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

StoreOpener::StoreOpener(StoreOptions options)
    : options_(std::move(options)), http_(std::make_shared<HttpPool>(options_.http)) {}

const std::shared_ptr<CredentialCache>& StoreOpener::credentials(const CloudSurroundings& around) {
  if (!options_.s3.anonymous && !credentials_) {
    credentials_ = std::make_shared<CredentialCache>(default_chain(around, options_.s3.profile), *around.clock);
  }
  return credentials_;
}

OpenStore StoreOpener::open(const std::string& address) {
  if (const StoreScheme* scheme = find_store_scheme(address)) return scheme->open(*this, address);
  throw Error(ErrorCode::usage,
              fmt::format("'{}' is not an address of a store; use s3://bucket/key or http(s)://host/path",
                          without_secrets(address)));
}

OpenStore StoreOpener::open(const Url& url) { return {http_, nullptr, http_store(url, *http_, options_.retry), ""}; }

std::unique_ptr<io::ObjectSource> store_source(OpenStore store, std::stop_token stop) {
  return std::make_unique<StoreSource>(std::move(store), std::move(stop));
}

}  // namespace shardkit::net
