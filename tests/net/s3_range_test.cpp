// Bytes from S3: whatever the network and the store do, right bytes or the right error.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "net/s3_fixture.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit::system;
using namespace shardkit_test;

namespace {

using Texts = std::vector<std::string>;

std::string long_content() {
  std::string content;
  for (int i = 0; i < 20'000; ++i) content += fmt::format("{:05}", i);
  return content;
}

/// How a range of ten bytes fails when the store does this at every request.
Failure failure_of_range(S3Fixture& s3, const ObjectServer::Fault& fault) {
  s3.server.next(std::deque<ObjectServer::Fault>(30, fault));
  return failure_of([&] { s3.get(0, 10); });
}

}  // namespace

TEST_CASE("a range is asked for by one signed request that pins the version") {
  S3Fixture s3;
  CHECK(s3.get(3, 4) == "3456");
  CHECK(s3.fetched == Fetched::whole);
  const ServedRequest request = s3.server.requests().at(0);
  CHECK(request.target == "/bucket/key");
  CHECK(request.header("range") == "bytes=3-6");
  CHECK(request.header("if-match") == "\"v1\"");
  CHECK(request.header("x-amz-security-token") == "the-token");
  const std::string authorization = request.header("authorization");
  CHECK(authorization.find("Credential=A1/20231114/us-east-1/s3/aws4_request") != std::string::npos);
  CHECK(authorization.find("SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date;x-amz-security-token") !=
        std::string::npos);
  CHECK(s3.get(0, 0).empty());
  CHECK(s3.server.requests().size() == 1);
}

TEST_CASE("a body that breaks off goes on where it stood, as often as it takes") {
  S3Fixture s3(long_content());
  std::deque<ObjectServer::Fault> faults(25, s3.server.cut_after(1000));
  s3.server.next(faults);
  CHECK(s3.get(10, 90'000) == s3.server.content().substr(10, 90'000));
  CHECK(s3.served("range").at(1) == "bytes=1010-90009");
  CHECK(s3.served("range").at(25) == "bytes=25010-90009");
}

TEST_CASE("a server that sends a byte with each answer is given up") {
  S3Fixture s3(long_content());
  s3.server.next(std::deque<ObjectServer::Fault>(1000, s3.server.cut_after(1)));
  CHECK(failure_of([&] { s3.get(0, 90'000); }) == ErrorCode::network);
  CHECK(s3.server.requests().size() == 10);
}

TEST_CASE("a connection that is much slower than others is given up, and its range goes on with another one") {
  HttpOptions options;
  options.slow = {0.25, Seconds(0.3), 10'000};
  S3Fixture s3(long_content(), true, options);
  std::atomic<bool> was_slow = false;
  const auto trickle = [&](const ServedRequest&, ServerConnection& connection) {
    connection.send(
        "HTTP/1.1 206 OK\r\nETag: \"v1\"\r\nContent-Range: bytes 0-89999/100000\r\nContent-Length: 90000\r\n\r\n");
    for (std::size_t at = 0; at < 90'000 && !connection.closed(); at += 100) {
      connection.send(std::string_view(s3.server.content()).substr(at, 100));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    was_slow = connection.closed();
  };
  CHECK(s3.get(0, 90'000).size() == 90'000);  // the usual rate
  s3.server.next({trickle});
  CHECK((s3.get(0, 90'000) == s3.server.content().substr(0, 90'000)));
  const auto requests = s3.server.requests();
  REQUIRE(requests.size() >= 3);  // more if a busy machine made a good connection slow, too
  CHECK(requests[1].connection != requests[2].connection);
}

TEST_CASE("broken and dead connections are tried again") {
  const auto reset = [](const ServedRequest&, ServerConnection& connection) { connection.reset(); };
  const auto stall = [](const ServedRequest&, ServerConnection& connection) { connection.stall(); };
  const auto stall_within = [](const ServedRequest&, ServerConnection& connection) {
    connection.send("HTTP/1.1 206 OK\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n012");
    connection.stall();
  };
  const auto trickle = [](const ServedRequest&, ServerConnection& connection) {
    connection.send("HTTP/1.1 206 OK\r\nContent-Range: bytes 3-9/10\r\nContent-Length: 7\r\n\r\n");
    for (int i = 3; i < 9 && !connection.closed(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      connection.send(std::to_string(i));
    }
    connection.close();
  };
  HttpOptions impatient;
  impatient.stall = {10, Seconds(0.3)};
  S3Fixture s3("0123456789", true, impatient);
  s3.server.next({reset, stall, stall_within, trickle});
  CHECK(s3.get(0, 10) == "0123456789");
  CHECK(s3.server.requests().size() > 4);
}

TEST_CASE("a burst of 503 is waited out, for as long as the store says, and reported as throttling") {
  S3Fixture s3;
  s3.server.next({ObjectServer::s3_error(503, "SlowDown", "Retry-After: 7\r\n"), ObjectServer::answer(503),
                  ObjectServer::answer(429), ObjectServer::s3_error(500, "InternalError")});
  CHECK(s3.get(0, 10) == "0123456789");
  CHECK(s3.clock.sleeps() == std::vector<double>{7, 1, 2, 4});
  CHECK(s3.throttled == 3);
}

TEST_CASE("a store that never recovers is a network error after ten attempts") {
  S3Fixture s3;
  const Failure failure = failure_of_range(s3, ObjectServer::answer(503));
  CHECK(failure == ErrorCode::network);
  CHECK(failure.says("s3://bucket/key"));
  CHECK(failure.says("after 10 attempts"));
  CHECK(s3.server.requests().size() == 10);
}

TEST_CASE("a whole object in place of a range is reported and not read") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(200, "ETag: \"v1\"\r\n", "0123456789")});
  CHECK(s3.get(2, 3).empty());
  CHECK(s3.fetched == Fetched::no_ranges);
}

TEST_CASE("an answer with another size of the object is about another version") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(206, "Content-Range: bytes 0-8/9\r\n", "012345678")});
  CHECK(s3.get(0, 10).empty());
  CHECK(s3.fetched == Fetched::changed);
}

TEST_CASE("an answer about other bytes than those asked for is never taken, but requested again") {
  for (const char* range : {"bytes 1-9/10", "bytes 0-10/*", "bytes */10", "0-9/10", ""}) {
    CAPTURE(range);
    S3Fixture s3;
    const auto wrong = ObjectServer::answer(206, fmt::format("Content-Range: {}\r\n", range), "0123456789");
    s3.server.next({wrong});
    CHECK(s3.get(0, 10) == "0123456789");
    CHECK(s3.server.requests().size() == 2);
    s3.server.next(std::deque<ObjectServer::Fault>(30, wrong));
    const Failure failure = failure_of([&] { s3.get(0, 10); });
    CHECK(failure == ErrorCode::network);
    CHECK(failure.says("bytes 0-9"));
  }
  for (const char* range : {"bytes 0-9/10", "bytes 0-3/10"}) {
    S3Fixture longer;
    longer.server.next({ObjectServer::answer(206, fmt::format("Content-Range: {}\r\n", range), "0123456789X")});
    CHECK(longer.get(0, 10) == "0123456789");
    CHECK(longer.server.requests().size() == 2);
  }
}

TEST_CASE("an answer about fewer bytes than those asked for is taken, and the others are requested") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(206, "Content-Range: bytes 0-3/10\r\n", "0123"),
                  ObjectServer::answer(200, "Content-Range: bytes 4-6/10\r\n", "456")});  // some call that whole
  CHECK(s3.get(0, 10) == "0123456789");
  CHECK(s3.served("range").at(2) == "bytes=7-9");
}

TEST_CASE("an answer that is shorter than it says is completed") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(206, "Content-Range: bytes 0-9/10\r\n", "0123")});
  CHECK(s3.get(0, 10) == "0123456789");
  CHECK(s3.served("range").at(1) == "bytes=4-9");
}

TEST_CASE(
    "another version is reported, whether the store refuses, the answer names it, or the object has shrunk or gone") {
  S3Fixture s3;
  s3.server.set_etag("\"v2\"");
  s3.get(0, 10);
  CHECK(s3.fetched == Fetched::changed);
  for (const auto& fault : {ObjectServer::answer(206, "ETag: \"v2\"\r\nContent-Range: bytes 0-9/10\r\n", "0123456789"),
                            ObjectServer::answer(206, "ETag: \"v1\"\r\nContent-Range: bytes 0-9/11\r\n", "0123456789"),
                            ObjectServer::s3_error(416, "InvalidRange"), ObjectServer::s3_error(404, "NoSuchKey")}) {
    S3Fixture other;
    other.server.next({fault});
    CHECK(other.get(0, 10).empty());
    CHECK(other.fetched == Fetched::changed);
    CHECK(other.server.requests().size() == 1);
  }
}

TEST_CASE("an ETag that flips within a range ends it, and no byte of the new version comes") {
  S3Fixture s3(long_content());
  s3.server.next({s3.server.cut_after(1000), [&](const ServedRequest&, ServerConnection& connection) {
                    s3.server.set_etag("\"v2\"");
                    connection.reset();
                  }});
  CHECK(s3.get(0, 5000) == s3.server.content().substr(0, 1000));
  CHECK(s3.fetched == Fetched::changed);
}

TEST_CASE("bytes that are stored compressed come as they are stored") {
  S3Fixture s3;
  s3.server.next({ObjectServer::answer(206, "Content-Encoding: gzip\r\nContent-Range: bytes 0-9/10\r\n",
                                       "\x1f\x8b"
                                       "23456789")});
  CHECK(s3.get(0, 10) ==
        "\x1f\x8b"
        "23456789");
}

TEST_CASE("headers without end are refused") {
  S3Fixture s3;
  CHECK(failure_of_range(s3, [](const ServedRequest&, ServerConnection& connection) {
          connection.send("HTTP/1.1 206 OK\r\n");
          for (int i = 0; i < 1'000'000 && !connection.closed(); ++i) connection.send("X: 1\r\n");
        }) == ErrorCode::corrupt);
}

TEST_CASE("what the writer throws is what the caller gets, at once") {
  S3Fixture s3;
  const auto full = [](Bytes) { throw Error(ErrorCode::no_space, "disk full"); };
  CHECK(failure_of([&] { s3.store->fetch(s3.object(), 0, 10, full, {}); }) == ErrorCode::no_space);
  CHECK(s3.server.requests().size() == 1);
}

TEST_CASE("a stop ends a transfer") {
  S3Fixture s3;
  s3.server.next({[](const ServedRequest&, ServerConnection& connection) { connection.stall(); }});
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  CHECK(failure_of([&] { s3.get(0, 10, stop.get_token()); }) == ErrorCode::cancelled);
}

TEST_CASE("a whole object comes in one stream that begins anew after a break") {
  S3Fixture s3(long_content());
  s3.server.next({s3.server.cut_after(1000), s3.server.cut_after(0)});
  std::string got;
  int starts = 0;
  const auto start = [&]() -> BodyWriter {
    got.clear();
    ++starts;
    return [&](Bytes bytes) { got += as_text(bytes); };
  };
  CHECK(s3.store->fetch_whole(s3.object(), start, {}) == Fetched::whole);
  CHECK(got == s3.server.content());
  CHECK(starts == 3);
  CHECK(s3.served("range").at(0).empty());
  s3.server.set_etag("\"v2\"");
  CHECK(s3.store->fetch_whole(s3.object(), start, {}) == Fetched::changed);
  s3.server.next({ObjectServer::answer(200, "ETag: \"v1\"\r\n", "short")});
  CHECK(s3.store->fetch_whole(s3.object(), start, {}) == Fetched::changed);
}
