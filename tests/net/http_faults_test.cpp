// What servers and networks do wrong, one by one: each ends in the right Error, at once.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "net/http_get.hpp"
#include "support/errors.hpp"
#include "support/fault_server.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::system;
using namespace shardkit_test;

namespace {

/// Calls a connection dead after a moment. For tests of that alone: on a busy machine good ones take as long.
HttpOptions impatient() {
  HttpOptions options;
  options.stall = {10, Seconds(0.3)};
  return options;
}

/// How a request to a server with this handler fails.
Failure failure_with(FaultServer::Handler handler, const HttpOptions& options = {}) {
  const FaultServer server(std::move(handler));
  return failure_of([&] { get(server.url("/x?secret=1"), {}, {}, options); });
}

}  // namespace

TEST_CASE("an answer that is not whole is a network error that names the URL without its query") {
  const auto truncated = failure_with([](const ServedRequest&, ServerConnection& connection) {
    connection.answer_head(200, "", 1000);
    connection.send("only this");
    connection.close();
  });
  CHECK(truncated == ErrorCode::network);
  CHECK(truncated.says("/x?..."));
  CHECK_FALSE(truncated.says("secret"));
  CHECK_FALSE(truncated.path.find("secret") != std::string::npos);
  CHECK(failure_with([](const ServedRequest&, ServerConnection& connection) {
          connection.answer_head(200, "", 1000);
          connection.reset();
        }) == ErrorCode::network);
  CHECK(failure_with([](const ServedRequest&, ServerConnection& connection) { connection.close(); }) ==
        ErrorCode::network);
  CHECK(failure_with([](const ServedRequest&, ServerConnection& connection) { connection.reset(); }) ==
        ErrorCode::network);
  CHECK(failure_with([](const ServedRequest&, ServerConnection& connection) {
          connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab");
          connection.close();
        }) == ErrorCode::network);
}

TEST_CASE("nobody there is a network error that says what happened") {
  const auto refused = failure_of([] { get("http://127.0.0.1:1/"); });
  CHECK(refused == ErrorCode::network);
  CHECK(refused.says("connection refused"));
  CHECK_FALSE(refused.says("proxy"));
  const auto unknown = failure_of([] { get("http://no-such-host.invalid/"); });
  CHECK(unknown == ErrorCode::network);
  CHECK(unknown.says("name not found"));
}

TEST_CASE("where a proxy is set, an error of the connection names it and its variable") {
  const auto with = [](std::map<std::string, std::string> variables) {
    HttpOptions options = http_options([&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
    return failure_of([&] { get("http://127.0.0.1:1/", {}, {}, options); });
  };
  CHECK(with({{"http_proxy", "http://cache:3128"}}).says("the proxy in http_proxy ('http://cache:3128')"));
  CHECK(with({{"ALL_PROXY", "socks5://gate"}}).says("ALL_PROXY ('socks5://gate')"));
  CHECK_FALSE(with({{"https_proxy", "http://cache:3128"}, {"HTTP_PROXY", "http://cgi"}}).says("proxy"));
}

TEST_CASE("a connection that stalls is dead: before the headers, within the body, and when bytes only trickle") {
  CHECK(failure_with([](const ServedRequest&, ServerConnection& connection) { connection.stall(); }, impatient()) ==
        ErrorCode::network);
  const auto within = failure_with(
      [](const ServedRequest&, ServerConnection& connection) {
        connection.answer_head(200, "", 1000);
        connection.send("some");
        connection.stall();
      },
      impatient());
  CHECK(within == ErrorCode::network);
  CHECK(within.says("almost no data arrived for"));
  CHECK(failure_with(
            [](const ServedRequest&, ServerConnection& connection) {
              connection.answer_head(200, "", 1000);
              for (int i = 0; i < 1000 && !connection.closed(); ++i) {
                connection.send("x");
                std::this_thread::sleep_for(std::chrono::milliseconds(150));
              }
            },
            impatient()) == ErrorCode::network);
}

TEST_CASE("a time limit holds for the whole exchange") {
  const FaultServer server([](const ServedRequest&, ServerConnection& connection) { connection.stall(); });
  HttpRequest request;
  request.time_limit = Seconds(0.1);
  CHECK(failure_of([&] { get(server.url("/"), {}, request); }) == ErrorCode::network);
}

TEST_CASE("headers without end are refused, many short ones and a long one") {
  CHECK(failure_with([](const ServedRequest&, ServerConnection& connection) {
          connection.send("HTTP/1.1 200 OK\r\n");
          for (int i = 0; i < 1'000'000 && !connection.closed(); ++i) connection.send(fmt::format("X-{}: 1\r\n", i));
        }) == ErrorCode::corrupt);
  const auto long_one = failure_with([](const ServedRequest&, ServerConnection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nX: ");
    for (int i = 0; i < 1000 && !connection.closed(); ++i) connection.send(std::string(10'000, 'x'));
  });
  CHECK(long_one == ErrorCode::corrupt);
  CHECK(failure_with([](const ServedRequest&, ServerConnection& connection) {
          for (int i = 0; i < 1'000'000 && !connection.closed(); ++i) connection.send("HTTP/1.1 100 Continue\r\n\r\n");
        }) == ErrorCode::corrupt);
}

TEST_CASE("an answer that is no HTTP is a network error: a proxy that breaks down gives such answers for a moment") {
  const auto other_protocol = failure_with([](const ServedRequest&, ServerConnection& connection) {
    connection.send("SSH-2.0-OpenSSH_9.2\r\n");
    connection.close();
  });
  CHECK(other_protocol == ErrorCode::network);
  CHECK(other_protocol.says("not HTTP"));
}

TEST_CASE("a TLS alert as the answer to plain HTTP is that of a port with TLS") {
  const auto alert = failure_with([](const ServedRequest&, ServerConnection& connection) {
    connection.send(std::string_view("\x15\x03\x01\0\x02\x02\x46", 7));
    connection.close();
  });
  CHECK(alert == ErrorCode::unsupported);
  CHECK(alert.says("uses TLS; use https://"));
}

TEST_CASE("an answer without headers is refused at its first bytes, however long it is") {
  CHECK(failure_with([](const ServedRequest&, ServerConnection& connection) {
          for (int i = 0; i < 1'000'000 && !connection.closed(); ++i) connection.send("no headers ever\n");
        }) == ErrorCode::network);
}

TEST_CASE("a body that is longer than its kind of answer can be is refused") {
  CHECK(failure_with([](const ServedRequest&, ServerConnection& connection) {
          connection.answer(200, "", std::string(2 * kLargestBody, 'x'));
        }) == ErrorCode::corrupt);
}

TEST_CASE("what the receiver of the body throws is what the caller gets") {
  const FaultServer server([](const ServedRequest&, ServerConnection& connection) { connection.answer(200, "", "x"); });
  HttpPool client{HttpOptions()};
  HttpRequest request;
  request.url = parse_url(server.url("/"));
  const auto full = [](const HttpResponse&) -> BodyWriter {
    return [](Bytes) { throw Error(ErrorCode::no_space, "disk full"); };
  };
  CHECK(failure_of([&] { client.send(request, full, {}); }) == ErrorCode::no_space);
}

TEST_CASE("a stop ends a request that waits, one whose bytes come slowly, and one that has not begun") {
  const FaultServer server([](const ServedRequest& request, ServerConnection& connection) {
    if (request.target == "/stall") return connection.stall();
    connection.answer_head(200, "", 100'000);
    connection.send(std::string(1000, 'x'));
    connection.stall();
  });
  for (const char* target : {"/stall", "/slow"}) {
    HttpPool client({});
    HttpRequest request;
    request.url = parse_url(server.url(target));
    std::stop_source stop;
    std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      stop.request_stop();
    });
    std::string body;
    CHECK(failure_of([&] { client.send(request, collect_body(body, kLargestBody), stop.get_token()); }) ==
          ErrorCode::cancelled);
  }
  std::stop_source stopped;
  stopped.request_stop();
  CHECK(failure_of([&] { get(server.url("/much"), stopped.get_token()); }) == ErrorCode::cancelled);
}
