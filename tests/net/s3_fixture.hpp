#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "net/http_client.hpp"
#include "net/object_server.hpp"
#include "net/s3_store.hpp"
#include "support/errors.hpp"
#include "support/fake_clock.hpp"

namespace shardkit_test {

/// Lends keys A1, A2, ... that last, a new one each time it is asked where it `renews`.
inline shardkit::net::CredentialProvider numbered_keys(bool renews) {
  const auto find = [renews, number = 0](const std::stop_token&) mutable -> std::optional<shardkit::net::Credentials> {
    if (renews || number == 0) ++number;
    return shardkit::net::Credentials{
        {fmt::format("A{}", number), shardkit::net::Secret("very-secret"), shardkit::net::Secret("the-token")},
        {},
        "a test"};
  };
  return {"a test", find};
}

/// A bucket at a server that breaks as the test wants, with a clock that takes no time.
struct S3Fixture {
  explicit S3Fixture(std::string content = "0123456789", bool renews = true,
                     const shardkit::net::HttpOptions& options = {})
      : server(std::move(content)), http(std::make_shared<shardkit::net::HttpPool>(options)) {
    shardkit::net::CredentialChain chain;
    chain.push_back(numbered_keys(renews));
    credentials = std::make_shared<shardkit::net::CredentialCache>(std::move(chain), clock);
    store = make_store(credentials);
  }

  std::unique_ptr<shardkit::io::ObjectSource> make_store(std::shared_ptr<shardkit::net::CredentialCache> cache,
                                                         const std::string& folder = {}) {
    shardkit::net::S3Settings settings;
    settings.endpoint = shardkit::net::parse_url(server.url());
    shardkit::net::RetryOptions retry;
    retry.clock = &clock;
    retry.random = [] { return 0.5; };
    retry.on_retry = [this](const shardkit::net::RetryEvent& event) { throttled += event.throttled ? 1 : 0; };
    return shardkit::net::s3_store({"bucket", folder}, settings, std::move(cache), {http, retry});
  }

  shardkit::io::ObjectInfo object() const { return {"key", server.content().size(), "\"v1\""}; }

  /// Bytes [offset, offset + length) of the object; what became of it is in `fetched`.
  std::string get(std::uint64_t offset, std::uint64_t length, const std::stop_token& stop = {}) {
    std::string got;
    fetched = store->fetch(
        object(), offset, length, [&](shardkit::Bytes bytes) { got += shardkit::as_text(bytes); }, stop);
    return got;
  }

  std::vector<std::string> served(const std::string& header) const {
    std::vector<std::string> values;
    for (const ServedRequest& request : server.requests()) values.push_back(request.header(header));
    return values;
  }

  ObjectServer server;
  FakeClock clock;
  std::atomic<int> throttled = 0;
  std::shared_ptr<shardkit::net::HttpPool> http;
  std::shared_ptr<shardkit::net::CredentialCache> credentials;
  std::unique_ptr<shardkit::io::ObjectSource> store;
  shardkit::io::Fetched fetched = shardkit::io::Fetched::whole;
};

}  // namespace shardkit_test
