// Names that do not exist, and name servers that do not answer. The resolver of this test program is its own.

#include <atomic>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <netdb.h>

#include "net/http_client.hpp"
#include "net/object_server.hpp"
#include "net/remote_store.hpp"
#include "support/errors.hpp"
#include "support/fake_clock.hpp"

namespace {

std::atomic<int> silences = 0;  ///< how often no name server answers from now on
std::atomic<int> lookups = 0;   ///< of names of this test

}  // namespace

/// In place of the C library's, also for libcurl.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string_view host = name == nullptr ? "" : name;
  if (!host.ends_with(".resolver.test")) return real(name, service, hints, found);
  ++lookups;
  if (host.starts_with("unknown")) return EAI_NONAME;
  if (silences-- > 0) return EAI_AGAIN;
  return real("127.0.0.1", service, hints, found);
}

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

struct NamedServer {
  std::unique_ptr<io::ObjectSource> store_at(const std::string& host) {
    RetryOptions retry;
    retry.clock = &clock;
    retry.on_retry = [this](const RetryEvent& event) { reasons.push_back(event.reason); };
    const std::string port = server.url().substr(server.url().rfind(':'));
    return http_store(parse_url("http://" + host + port + "/x"), {http, retry});
  }

  ObjectServer server{"0123456789"};
  FakeClock clock;
  std::shared_ptr<Http> http = std::make_shared<HttpPool>(HttpOptions{});
  std::vector<std::string> reasons;
};

}  // namespace

TEST_CASE("a name that does not exist is looked up once more, and no more") {
  NamedServer named;
  const Failure failure = failure_of([&] { named.store_at("unknown.resolver.test")->find(""); });
  CHECK(failure == ErrorCode::network);
  CHECK(failure.says("name not found"));
  CHECK(failure.says("after 2 attempts"));
  CHECK(named.reasons.size() == 1);
}

TEST_CASE("a name server that fails for a moment is asked again until it answers") {
  NamedServer named;
  silences = 8;  // each failure is looked at twice: by libcurl, and for its reason
  const auto found = named.store_at("later.resolver.test")->find("");
  REQUIRE(found);
  CHECK(found->size == 10);
  REQUIRE(named.reasons.size() >= 3);
  CHECK(named.reasons.front().find("name not found") == std::string::npos);
}
