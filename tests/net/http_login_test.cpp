#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "net/fake_cloud.hpp"
#include "net/object_server.hpp"
#include "net/store_opener.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

/// A server, another one to which it redirects, and the user's logins.
struct Servers {
  Servers() {
    options.token = Secret("hush");
    options.http.netrc_file.clear();
  }

  /// The Authorization headers of a request for `target` that the first server redirects to `location`.
  std::pair<std::string, std::string> sent(bool trusted, const std::string& location) {
    StoreOpener opener(options);
    if (trusted) opener.trust(parse_url(server.url()));
    server.next({ObjectServer::answer(302, fmt::format("Location: {}\r\n", location))});
    CHECK(opener.open(server.url("/x.tar"))->find("")->size == 10);
    const auto elsewhere = other.requests();
    return {server.requests().front().header("authorization"),
            (elsewhere.empty() ? server.requests() : elsewhere).back().header("authorization")};
  }

  TempDir dir;
  StoreOptions options;
  ObjectServer server{"0123456789"};
  ObjectServer other{"0123456789"};
};

using Headers = std::pair<std::string, std::string>;

}  // namespace

TEST_CASE("a token goes to the server that the user named, and along no redirect to another") {
  Servers servers;
  CHECK(servers.sent(true, servers.other.url("/cdn?sig=1")) == Headers("Bearer hush", ""));
}

TEST_CASE("a redirect within the server keeps the token") {
  Servers servers;
  CHECK(servers.sent(true, "/moved") == Headers("Bearer hush", "Bearer hush"));
}

TEST_CASE("a server that only a list names gets no token, nor does any with --anonymous") {
  Servers servers;
  CHECK(servers.sent(false, "/moved") == Headers("", ""));
  Servers anonymous;
  anonymous.options.s3.anonymous = true;
  CHECK(anonymous.sent(true, "/moved") == Headers("", ""));
}

TEST_CASE("a login in the URL replaces the token, and without TLS no other machine gets one") {
  FakeCloud cloud;
  ObjectServer server("0123456789");
  StoreOptions options;
  options.token = Secret("hush");
  StoreOpener opener(options);
  opener.trust(parse_url(server.url()));
  opener.trust(parse_url("http://host.example/"));
  const std::string with_login = fmt::format("http://me:pw@{}", server.url("/x").substr(7));
  opener.open(with_login)->find("");
  CHECK(server.requests().back().header("authorization") == "Basic bWU6cHc=");
  CHECK(parse_url("http://localhost/").is_loopback());
  CHECK(parse_url("http://[::1]:80/").is_loopback());
  CHECK_FALSE(parse_url("http://127.evil.org/").is_loopback());
}

TEST_CASE("a netrc file has the login of a host, which goes along no redirect either") {
  Servers servers;
  servers.options.token = Secret();
  servers.options.http.netrc_file = servers.dir.path("netrc");
  write_file(servers.dir.path("netrc"),
             "machine other.example login no password no\n"
             "machine 127.0.0.1 login me password pw\n");
  CHECK(servers.sent(true, servers.other.url("/cdn")) == Headers("Basic bWU6cHc=", ""));
  Servers anonymous;
  anonymous.options = servers.options;
  anonymous.options.s3.anonymous = true;
  CHECK(anonymous.sent(true, "/moved") == Headers("", ""));
  Servers missing;
  missing.options = servers.options;
  missing.options.http.netrc_file = servers.dir.path("no-such-file");
  CHECK(missing.sent(true, "/moved") == Headers("", ""));
}

TEST_CASE("the netrc file is that of NETRC, else the one at home") {
  FakeCloud cloud;
  CHECK(http_options(cloud.around().environment).netrc_file == "/home/me/.netrc");
  cloud.variables["NETRC"] = "/x/netrc";
  CHECK(http_options(cloud.around().environment).netrc_file == "/x/netrc");
}

TEST_CASE("a server that wants a login gets the remedy, and no error has the token") {
  Servers servers;
  servers.server.next({ObjectServer::answer(401), ObjectServer::answer(401)});
  StoreOpener opener(servers.options);
  const auto refusal = [&] { return failure_of([&] { opener.open(servers.server.url("/x"))->find(""); }); };
  const Failure without = refusal();
  CHECK(without == ErrorCode::denied);
  CHECK(without.says("SHARDKIT_TOKEN"));
  opener.trust(parse_url(servers.server.url()));
  const Failure refused = refusal();
  CHECK(refused.says("refuses the login or token that was sent"));
  CHECK_FALSE(refused.says("hush"));
}

TEST_CASE("a token is the one word of SHARDKIT_TOKEN") {
  FakeCloud cloud;
  const auto environment = cloud.around().environment;
  CHECK(bearer_token(environment).empty());
  cloud.variables["SHARDKIT_TOKEN"] = "from-environment";
  CHECK(bearer_token(environment).reveal() == "from-environment");
  cloud.variables["SHARDKIT_TOKEN"] = "from-a-file\r\n";
  CHECK(bearer_token(environment).reveal() == "from-a-file");
  for (const char* text : {"two words\n", "hush\nX-Evil: 1\n"}) {
    CAPTURE(text);
    cloud.variables["SHARDKIT_TOKEN"] = text;
    const Failure refused = failure_of([&] { bearer_token(environment); });
    CHECK(refused == ErrorCode::usage);
    CHECK_FALSE(refused.says("Evil"));
  }
}
