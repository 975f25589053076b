#include <doctest/doctest.h>

#include "bench/store/store_data.hpp"
#include "support/errors.hpp"
#include "support/fake_clock.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::net;
using namespace shardkit::system;
using namespace shardkit::test;
using namespace shardkit_test;

namespace {

RetryEvent event(unsigned failures, bool answered, double wait = 1) {
  return {false, Seconds(wait), "no luck", failures, answered};
}

Failure read_failure(const std::string& address) {
  return failure_of([&] { read_quietly(store_options(address)); });
}

}  // namespace

TEST_CASE("a server that nobody answers for is asked three times, one that answers until the budget is over") {
  FakeClock clock;
  const StorePatience patience(28, clock);
  CHECK(patience.may_retry(event(2, false)));
  CHECK_FALSE(patience.may_retry(event(3, false)));
  CHECK(patience.may_retry(event(9, true)));
  CHECK_FALSE(patience.may_retry(event(1, true, 28)));  // the wait would end after it
  clock.advance(Seconds(27.5));
  CHECK_FALSE(patience.may_retry(event(1, true)));
}

TEST_CASE("once the objects are found every request is repeated: levels end by themselves") {
  FakeClock clock;
  StorePatience patience(28, clock);
  patience.found();
  clock.advance(Seconds(100));
  CHECK(patience.may_retry(event(9, false)));
}

TEST_CASE("no silent server takes more than a quarter of the budget at a time, and a longer budget waits as usual") {
  FakeClock clock;
  const auto applied = [&](double budget) {
    StoreOptions options;
    StorePatience(budget, clock).apply(options);
    return options.http;
  };
  CHECK(applied(8).stall.window == Seconds(2));
  CHECK(applied(8).connect_timeout == Seconds(2));
  CHECK(applied(1).stall.window == Seconds(1));
  CHECK(applied(600).stall.window == StoreOptions().http.stall.window);
  CHECK(applied(600).connect_timeout == StoreOptions().http.connect_timeout);
}

TEST_CASE("the error of a dead server names the address that was given, what happened and what to do") {
  for (const char* address : {"http://127.0.0.1:1/x.tar", "http://127.0.0.1:1/shards"}) {
    CAPTURE(address);
    const Failure refused = read_failure(address);
    CHECK(refused == ErrorCode::network);
    CHECK(refused.path == address);
    CHECK(refused.says(address));
    CHECK(refused.says("connection refused"));
    CHECK(refused.says("check the address"));
    CHECK_FALSE(refused.says("manifest.json"));
  }
}

TEST_CASE("a server that takes requests and never answers is left when the budget is over") {
  const FaultyStore server(1000, [](const ServedRequest&, ServerConnection& connection, int) {
    connection.stall();
    return true;
  });
  const Failure silent = read_failure(server.url("/x.tar"));
  CHECK(silent == ErrorCode::network);
  CHECK(silent.says("almost no data arrived for"));
  CHECK(silent.says(server.url("/x.tar")));
  CHECK(server.requests() < 4);
}

TEST_CASE(
    "of several addresses that of the server concerned is named, never a login or query; a list is named itself") {
  const Error error(ErrorCode::network, "'http://b:81/manifest.json': name not found", "http://b:81/manifest.json");
  const Error two = unreachable(error, {"http://a/1.tar", "http://user:secret@b:81/2.tar?token=secret"});
  CHECK(two.path().starts_with("http://b:81/2.tar"));
  CHECK(std::string(two.what()).find("secret") == std::string::npos);
  const Error list = unreachable(error, {"urls.txt"});
  CHECK(list.path() == "urls.txt");
  CHECK(std::string(list.what()).find("'urls.txt' cannot be read: 'http://b:81/") == 0);
}
