#include <string>

#include <doctest/doctest.h>

#include "io/object_store.hpp"
#include "net/fake_cloud.hpp"
#include "net/http_client.hpp"
#include "net/object_server.hpp"
#include "net/remote_store.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

/// Files below a URL of a server that breaks as the test wants.
struct HttpFixture {
  explicit HttpFixture(const std::string& target = "/train/", const std::string& login = "")
      : store(http_store(parse_url("http://" + login + server.url(target).substr(7)), {http, retry()})) {}

  RetryOptions retry() {
    RetryOptions options;
    options.clock = &clock;
    return options;
  }
  std::string get(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length) {
    std::string got;
    fetched = store->fetch(object, offset, length, [&](Bytes bytes) { got += as_text(bytes); }, {});
    return got;
  }

  FakeClock clock;
  std::shared_ptr<Http> http = std::make_shared<HttpPool>(HttpOptions{});
  ObjectServer server{"0123456789"};
  std::unique_ptr<ObjectSource> store;
  Fetched fetched = Fetched::whole;
};

}  // namespace

TEST_CASE("a file is found by its first byte, and read by range with its version pinned") {
  HttpFixture web;
  const auto found = web.store->find("a b.tar");
  REQUIRE(found);
  CHECK(found->size == 10);
  CHECK(found->version == "\"v1\"");
  CHECK(web.get(*found, 4, 3) == "456");
  CHECK(web.server.requests().front().connection == web.server.requests().back().connection);
  const ServedRequest request = web.server.requests().back();
  CHECK(request.target == "/train/a%20b.tar");
  CHECK(request.header("if-match") == "\"v1\"");
  web.server.set_etag("\"v2\"");
  web.get(*found, 4, 3);
  CHECK(web.fetched == Fetched::changed);
}

TEST_CASE("a URL's query goes along with every file, and the URL itself is one") {
  HttpFixture web("/train?sig=secret");
  web.store->find("x");
  web.store->find("");
  CHECK(web.server.requests()[0].target == "/train/x?sig=secret");
  CHECK(web.server.requests()[1].target == "/train?sig=secret");
  CHECK(web.store->location().find("secret") == std::string::npos);
  web.server.next({ObjectServer::answer(403)});
  const Failure refused = failure_of([&] { web.store->find("x"); });
  CHECK(refused == ErrorCode::denied);
  CHECK_FALSE(refused.says("secret"));
}

TEST_CASE("a server without ranges tells the size, and one that does not say the size is refused") {
  HttpFixture web;
  web.server.next({ObjectServer::answer(200, "ETag: \"v1\"\r\n", "0123456789")});
  const auto found = web.store->find("x");
  CHECK(found->size == 10);
  web.server.next({ObjectServer::answer(200, "Content-Encoding: gzip\r\n", "compressed")});
  const Failure compressed = failure_of([&] { web.store->find("x"); });
  CHECK(compressed == ErrorCode::unsupported);
  CHECK(compressed.says("gzip"));
  const char* packed = "Content-Encoding: gzip\r\nContent-Range: bytes 0-0/9\r\n";
  web.server.next({ObjectServer::answer(206, packed, "0"), ObjectServer::answer(206, packed, "0")});
  CHECK(failure_of([&] { web.store->find("x.tar"); }) == ErrorCode::unsupported);
  CHECK(web.store->find("x.tar.gz")->size == 9);
  for (const char* encoding : {"aws-chunked", "utf-8", "binary", "identity", "none", ""}) {  // no compressions
    CAPTURE(encoding);
    const std::string head = std::string("Content-Encoding: ") + encoding + "\r\nContent-Range: bytes 0-0/9\r\n";
    web.server.next({ObjectServer::answer(206, head, "0")});
    CHECK(web.store->find("x.tar")->size == 9);
  }
  const char* both = "Content-Encoding: aws-chunked, GZIP\r\nContent-Range: bytes 0-0/9\r\n";
  web.server.next({ObjectServer::answer(206, both, "0"), ObjectServer::answer(206, both, "0")});
  CHECK(failure_of([&] { web.store->find("x.tar"); }) == ErrorCode::unsupported);
  web.server.next({[](const ServedRequest&, ServerConnection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  }});
  const Failure chunked = failure_of([&] { web.store->find("x"); });
  CHECK(chunked == ErrorCode::unsupported);
  CHECK_FALSE(chunked.says("gzip"));
  web.server.next({ObjectServer::answer(200, "Content-Range: bytes 0-0/10\r\n", "0")});
  CHECK(web.store->find("x")->size == 10);
  web.server.next({ObjectServer::answer(206, "Content-Range: bytes 0-0/*\r\n", "0")});
  CHECK(failure_of([&] { web.store->find("x"); }) == ErrorCode::unsupported);
}

TEST_CASE("an empty file has no first byte") {
  HttpFixture web;
  web.server.next({ObjectServer::answer(416, "Content-Range: bytes */0\r\n")});
  const auto found = web.store->find("x");
  REQUIRE(found);
  CHECK(found->size == 0);
  CHECK(web.get(*found, 0, 0).empty());
  web.server.next({ObjectServer::s3_error(416, "InvalidRange"), ObjectServer::answer(200)});  // S3, to presigned URLs
  CHECK(web.store->find("x")->size == 0);
}

TEST_CASE("what is not there is no error, what fails for a moment is asked again") {
  HttpFixture web;
  web.server.next({ObjectServer::answer(404)});
  CHECK_FALSE(web.store->find("x"));
  web.server.next({ObjectServer::answer(502), ObjectServer::answer(503), web.server.cut_after(0)});
  CHECK(web.store->find("x")->size == 10);
}

TEST_CASE("ETags are compared without quotes and weak marks, and a weak one proves nothing") {
  for (const char* listed : {"e1", "\"e1\"", "W/\"e1\""}) {
    for (const char* answered : {"e1", "\"e1\"", "W/\"e1\""})
      CHECK(is_same_version(version_of_etag(listed), version_of_etag(answered)));
    CHECK_FALSE(is_same_version(version_of_etag(listed), version_of_etag("\"e2\"")));
  }
  HttpHeaders headers;
  pin_version(headers, version_of_etag("e1"));
  CHECK(headers.get("if-match") == "\"e1\"");
  HttpHeaders of_weak;
  pin_version(of_weak, version_of_etag("W/\"e1\""));
  CHECK(of_weak.fields().empty());
  const ObjectInfo weak{"x", 3, "W/\"900150983cd24fb0d6963f7d28e17f72\""};
  const ObjectProof proof{.size = 3, .checksum = {}, .version = "\"900150983cd24fb0d6963f7d28e17f72\""};
  CHECK(compare(weak, proof) == Evidence::none);
}

TEST_CASE("without a strong ETag the date or the size tells versions apart") {
  HttpFixture web;
  web.server.next({ObjectServer::answer(206, "ETag: W/\"v1\"\r\nContent-Range: bytes 0-0/10\r\n", "0")});
  const ObjectInfo weak = web.store->find("x").value();
  web.server.set_etag("W/\"v1\"");
  CHECK(web.get(weak, 0, 3) == "012");
  CHECK(web.server.requests().back().header("if-match").empty());
  web.server.set_etag("W/\"v2\"");
  web.get(weak, 0, 3);
  CHECK(web.fetched == Fetched::changed);
  const std::string date = "Sun, 30 Aug 2015 12:36:00 GMT";
  web.server.next({ObjectServer::answer(206, "Last-Modified: " + date + "\r\nContent-Range: bytes 0-0/10\r\n", "0"),
                   ObjectServer::answer(412)});
  const ObjectInfo dated = web.store->find("x").value();
  web.get(dated, 0, 3);
  CHECK(web.fetched == Fetched::changed);
  CHECK(web.server.requests().back().header("if-unmodified-since") == date);
}

TEST_CASE("a login goes to its own host, not along a redirect to another") {
  HttpFixture web("/train/", "me:pw@");
  ObjectServer other("0123456789");
  web.server.next({ObjectServer::answer(302, fmt::format("Location: {}\r\n", other.url("/elsewhere?ticket=1")))});
  CHECK(web.get({"x", 10, ""}, 0, 10) == "0123456789");
  CHECK(web.server.requests()[0].header("authorization") == "Basic bWU6cHc=");
  CHECK(other.requests()[0].header("authorization").empty());
  CHECK(other.requests()[0].target == "/elsewhere?ticket=1");
  web.clock.advance(shardkit::system::Seconds(61));
  web.server.next({ObjectServer::answer(301, "Location: /moved\r\n")});
  CHECK(web.get({"x", 10, ""}, 0, 10) == "0123456789");
  CHECK(web.server.requests().back().target == "/moved");
  CHECK(web.server.requests().back().header("authorization") == "Basic bWU6cHc=");
  CHECK(web.store->location().find("pw") == std::string::npos);
}

TEST_CASE("a redirect from TLS to none is refused") {
  class Downgrading final : public Http {
   public:
    HttpResponse send(const HttpRequest& request, const HeadHandler& on_head,
                      const std::stop_token& /*stop*/) override {
      ++requests;
      CHECK(request.url.scheme == "https");
      HttpResponse response{302, {{"Location", "http://host/x"}}};
      on_head(response);
      return response;
    }
    int requests = 0;
  };
  const auto http = std::make_shared<Downgrading>();
  const auto store = http_store(parse_url("https://host/"), {http});
  CHECK(failure_of([&] { store->find("x"); }) == ErrorCode::denied);
  CHECK(http->requests == 1);
}

TEST_CASE(
    "a web page instead of a file is named, and is final, whatever the file; a page that is asked for is a file") {
  HttpFixture web;
  const char* kText = "  <!DOCTYPE html><html>Sign in to read files</html>";
  const auto page = ObjectServer::answer(200, "Content-Type: text/html; charset=utf-8\r\n", kText);
  for (const char* name : {"1.tar", "1.npz", "1.jsonl", "1.zip", "name", ".shardkit/1.tar.index"}) {
    CAPTURE(name);
    web.server.next({page, page});
    const Failure failure = failure_of([&] { web.store->find(name); });
    CHECK(failure == ErrorCode::denied);
    CHECK(failure.says("web page instead of the file"));
    CHECK(failure.says("SHARDKIT_TOKEN"));
    for (const char* type : {"", "Content-Type: application/octet-stream\r\n"}) {
      web.server.next(
          {ObjectServer::answer(206, fmt::format("{}Content-Range: bytes 0-9/10\r\n", type), "<html>1234")});
      CHECK(failure_of([&] { web.get({name, 10, ""}, 0, 10); }) == ErrorCode::denied);
      web.server.next({ObjectServer::answer(200, type, "<HTML>1234")});
      CHECK(failure_of([&] {
              web.store->fetch_whole({name, 10, ""}, [] { return [](Bytes) {}; }, {});
            }) == ErrorCode::denied);
    }
  }
  web.server.next({page});
  CHECK(web.store->find("index.html")->size == std::string_view(kText).size());
}

TEST_CASE("data that the server calls a page is data") {
  HttpFixture web;
  const std::string data(100, '<');
  const auto answer = ObjectServer::answer(200, "Content-Type: text/html\r\n", data);
  web.server.next({answer, answer});
  CHECK(web.store->find("1.tar")->size == 100);
  web.server.next(
      {ObjectServer::answer(206, "Content-Type: text/html\r\nContent-Range: bytes 0-9/10\r\n", "0123456789")});
  CHECK(web.get({"1.tar", 10, ""}, 0, 10) == "0123456789");
}

TEST_CASE("a redirect goes up by '..', and gets the cookies that its server has set") {
  HttpFixture web("/a/b/");
  web.server.next({ObjectServer::answer(302, "Location: ../c/./x\r\nSet-Cookie: id=1; Path=/\r\nSet-Cookie: k=v\r\n")});
  CHECK(web.get({"x", 10, ""}, 0, 10) == "0123456789");
  CHECK(web.server.requests().back().target == "/a/c/x");
  CHECK(web.server.requests().back().header("cookie") == "id=1; k=v");
}

TEST_CASE("redirects without end are refused, in a circle and ever further") {
  HttpFixture web;
  for (const std::size_t places : {2, 20}) {
    std::deque<ObjectServer::Fault> hops;
    for (std::size_t i = 0; i < 20; ++i)
      hops.push_back(ObjectServer::answer(302, fmt::format("Location: /{}.tar\r\n", i % places)));
    web.server.next(std::move(hops));
    const std::size_t before = web.server.requests().size();
    const Failure failure = failure_of([&] { web.store->find("1.tar"); });
    CHECK(failure == ErrorCode::corrupt);
    CHECK(failure.says("redirects in circles"));
    CHECK(web.server.requests().size() - before < 10);
  }
}

TEST_CASE("a port with TLS that answers plain HTTP with a text of its own is called so") {
  HttpFixture web;
  for (const char* text : {"<center>The plain HTTP request was sent to HTTPS port</center>",
                           "Client sent an HTTP request to an HTTPS server.",
                           "You're speaking plain HTTP to an SSL-enabled server port."}) {
    web.server.next({[text](const ServedRequest&, ServerConnection& connection) { connection.answer(400, "", text); }});
    const Failure failure = failure_of([&] { web.store->find("1.tar"); });
    CHECK(failure == ErrorCode::unsupported);
    CHECK(failure.says("uses TLS; use https://"));
  }
}

TEST_CASE("a manifest never comes from a cache on the way, another file only until it is found wrong") {
  HttpFixture web;
  const auto cache_control = [&](const std::string& name) {
    web.store->find(name);
    return web.server.requests().back().header("cache-control");
  };
  CHECK(cache_control("manifest.json") == "no-cache");
  CHECK(cache_control("val/manifest.json") == "no-cache");
  CHECK(cache_control("1.tar").empty());
  web.store->bypass_caches("1.tar");
  CHECK(cache_control("1.tar") == "no-cache");
  CHECK(cache_control("2.tar").empty());
}

TEST_CASE("HTTP has no listing") {
  HttpFixture web;
  CHECK(web.store->names_in("").empty());
  CHECK(failure_of([&] { web.store->list(); }) == ErrorCode::unsupported);
}
