#include "net/http_client.hpp"

#include <atomic>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "net/http_get.hpp"
#include "support/fault_server.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::sync;
using namespace shardkit_test;

TEST_CASE("a request carries what it was given, asks for no encoding, and gets status, headers and body") {
  const FaultServer server([](const ServedRequest&, ServerConnection& connection) {
    connection.answer(206, "ETag: \"v1\"\r\nX-Empty:\r\n", "hello");
  });
  HttpRequest request;
  request.headers.add("Range", "bytes=0-4");
  request.headers.add("X-Nothing", "");
  const Answer answer = get(server.url("/a//../b%20c?q=%2F"), {}, request);
  CHECK(answer.head.status == 206);
  CHECK(answer.head.headers.get("etag") == "\"v1\"");
  CHECK(answer.head.headers.find("x-empty") == std::string_view());
  CHECK(answer.body == "hello");
  const ServedRequest served = server.requests().at(0);
  CHECK(served.method == "GET");
  CHECK(served.target == "/a//../b%20c?q=%2F");
  CHECK(served.header("host") == fmt::format("127.0.0.1:{}", server.port()));
  CHECK(served.header("range") == "bytes=0-4");
  CHECK(served.header("accept-encoding") == "identity");
  CHECK(served.headers.contains("x-nothing"));
}

TEST_CASE("HEAD has no body, POST and PUT have theirs") {
  const FaultServer server([](const ServedRequest& request, ServerConnection& connection) {
    if (request.method == "HEAD") return connection.answer_head(200, "", 1000);
    connection.answer(200, "", request.body);
  });
  HttpRequest request;
  request.method = "HEAD";
  CHECK(get(server.url("/"), {}, request).head.content_length() == 1000);
  request.method = "POST";
  request.body = std::string("a\0b", 3);
  CHECK(get(server.url("/"), {}, request).body == request.body);
  request.method = "PUT";
  request.body.clear();
  get(server.url("/"), {}, request);
  CHECK(server.requests().back().header("content-length") == "0");
}

TEST_CASE("a login of the URL goes as basic authorization, to that request alone") {
  const FaultServer server([](const ServedRequest&, ServerConnection& connection) { connection.answer(200, "", ""); });
  HttpPool client{HttpOptions()};
  std::string body;
  HttpRequest request;
  request.url = parse_url(fmt::format("http://me:p%40ss@127.0.0.1:{}/", server.port()));
  client.send(request, collect_body(body, 10), {});
  request.url = parse_url(server.url("/"));
  client.send(request, collect_body(body, 10), {});
  CHECK(server.requests()[0].header("authorization") == "Basic bWU6cEBzcw==");
  CHECK(server.requests()[1].header("authorization").empty());
}

TEST_CASE("a connection is used again, also after an error answer that was read; not after a refused body") {
  std::atomic<int> status = 200;
  const FaultServer server([&](const ServedRequest&, ServerConnection& connection) {
    connection.answer(status, "", std::string(1000, 'x'));
  });
  HttpPool client{HttpOptions()};
  std::string body;
  HttpRequest request;
  request.url = parse_url(server.url("/"));
  client.send(request, collect_body(body, 2000), {});
  status = 503;
  client.send(request, collect_body(body, 2000), {});
  const HttpResponse refused = client.send(request, [](const HttpResponse&) { return BodyWriter(); }, {});
  CHECK(refused.status == 503);
  client.send(request, collect_body(body, 2000), {});
  const auto requests = server.requests();
  CHECK(requests[0].connection == requests[1].connection);
  CHECK(requests[1].connection == requests[2].connection);
  CHECK(requests[3].connection != requests[2].connection);
}

TEST_CASE("a server that closed an idle connection is asked again on a new one") {
  const FaultServer server([&](const ServedRequest&, ServerConnection& connection) {
    connection.answer(200, "", "x");
    connection.close();
  });
  HttpPool client{HttpOptions()};
  std::string body;
  HttpRequest request;
  request.url = parse_url(server.url("/"));
  for (int i = 0; i < 3; ++i) CHECK(client.send(request, collect_body(body, 10), {}).status == 200);
}

TEST_CASE("redirects are answers like others") {
  const FaultServer server([](const ServedRequest&, ServerConnection& connection) {
    connection.answer(307, "Location: http://127.0.0.1:1/\r\n", "");
  });
  CHECK(get(server.url("/")).head.status == 307);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a chunked body and its trailers, and an answer before the answer") {
  const FaultServer server([](const ServedRequest&, ServerConnection& connection) {
    connection.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.send("3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n");
  });
  const Answer answer = get(server.url("/"));
  CHECK(answer.head.status == 200);
  CHECK(answer.head.headers.size() == 1);
  CHECK(answer.body == "abcde");
}

TEST_CASE("bytes that are compressed though nobody asked come as they are") {
  const FaultServer server([](const ServedRequest&, ServerConnection& connection) {
    connection.answer(200, "Content-Encoding: gzip\r\n", "\x1f\x8b no gzip at all");
  });
  CHECK(get(server.url("/")).body == "\x1f\x8b no gzip at all");
}

TEST_CASE("a pool serves many threads and keeps their connections") {
  const FaultServer server(
      [](const ServedRequest& request, ServerConnection& connection) { connection.answer(200, "", request.target); });
  HttpPool pool{HttpOptions()};
  std::atomic<int> right = 0;
  TaskGroup group;
  for (int t = 0; t < 4; ++t) {
    group.spawn([&, t](const std::stop_token& stop) {
      for (int i = 0; i < 20; ++i) {
        HttpRequest request;
        request.url = parse_url(server.url(fmt::format("/{}/{}", t, i)));
        std::string body;
        pool.send(request, collect_body(body, 100), stop);
        if (body == request.url.path) ++right;
      }
    });
  }
  group.wait();
  CHECK(right == 80);
  for (const ServedRequest& request : server.requests()) CHECK(request.connection <= 4);
}

TEST_CASE("certificates come from the usual variables") {
  const auto with = [](std::map<std::string, std::string> variables) {
    return http_options([variables](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  CHECK(with({}).ca_file.empty());
  CHECK(with({{"SSL_CERT_FILE", "/a"}, {"SSL_CERT_DIR", "/d"}}).ca_file == "/a");
  CHECK(with({{"SSL_CERT_DIR", "/d"}}).ca_folder == "/d");
  CHECK(with({{"SSL_CERT_FILE", "/a"}, {"CURL_CA_BUNDLE", "/b"}}).ca_file == "/b");
  CHECK(with({{"AWS_CA_BUNDLE", "/c"}, {"CURL_CA_BUNDLE", "/b"}}).ca_file == "/c");
}
