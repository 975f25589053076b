#include "net/credentials.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/errors.hpp"
#include "support/fake_clock.hpp"
#include "sync/task_group.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::sync;
using namespace shardkit::system;
using shardkit_test::failure_of;
using shardkit_test::FakeClock;

namespace {

CredentialChain chain_of(std::vector<std::function<std::optional<Credentials>()>> finds) {
  CredentialChain chain;
  for (auto& find : finds)
    chain.push_back({"a function", [find = std::move(find)](const std::stop_token&) { return find(); }});
  return chain;
}

Credentials named(int number, std::optional<WallTime> expires = {}) {
  return {{fmt::format("A{}", number), Secret("s"), {}}, expires, "a test"};
}

/// Lends A1, A2, ... each for an hour from when it was asked.
struct Lender {
  FakeClock clock;
  int asked = 0;
  bool broken = false;
  CredentialCache cache{chain_of({[this]() -> std::optional<Credentials> {
                          ++asked;
                          if (broken) throw Error(ErrorCode::network, "no answer");
                          return named(asked, clock.now() + std::chrono::hours(1));
                        }}),
                        clock};
  std::string id() { return cache.get({})->key.access_key_id; }
};

}  // namespace

TEST_CASE("the first provider that has some is the one") {
  FakeClock clock;
  CredentialCache cache(chain_of({[] { return std::nullopt; }, [] { return named(1); }, [] { return named(2); }}),
                        clock);
  CHECK(cache.get({})->key.access_key_id == "A1");
}

TEST_CASE("one that is set up and fails ends the search") {
  FakeClock clock;
  CredentialCache cache(chain_of({[]() -> std::optional<Credentials> { throw Error(ErrorCode::denied, "broken"); },
                                  [] { return named(2); }}),
                        clock);
  CHECK(failure_of([&] { cache.get({}); }).says("broken"));
}

TEST_CASE("none at all is an error that says what was looked at and what to do") {
  FakeClock clock;
  CredentialCache cache(chain_of({[] { return std::nullopt; }}), clock);
  const auto none = failure_of([&] { cache.get({}); });
  CHECK(none == ErrorCode::denied);
  CHECK(none.says("a function"));
  CHECK(none.says("--anonymous"));
}

TEST_CASE("lent ones are replaced five minutes before they expire, short ones at half their life") {
  Lender lender;
  CHECK(lender.id() == "A1");
  lender.clock.advance(std::chrono::minutes(54));
  CHECK(lender.id() == "A1");
  lender.clock.advance(std::chrono::minutes(1));
  CHECK(lender.id() == "A2");
  FakeClock clock;
  int asked = 0;
  CredentialCache brief(chain_of({[&] { return named(++asked, clock.now() + std::chrono::minutes(4)); }}), clock);
  for (int minute = 0; minute < 8; ++minute) {
    brief.get({});
    clock.advance(std::chrono::minutes(1));
  }
  CHECK(asked == 4);
}

TEST_CASE("lasting ones are never looked for again") {
  FakeClock clock;
  int asked = 0;
  CredentialCache cache(chain_of({[&] { return named(++asked); }}), clock);
  cache.get({});
  clock.advance(std::chrono::hours(10'000));
  CHECK(cache.get({})->key.access_key_id == "A1");
}

TEST_CASE("a failure to replace good ones passes until they are good no more") {
  Lender lender;
  CHECK(lender.id() == "A1");
  lender.broken = true;
  lender.clock.advance(std::chrono::minutes(56));
  CHECK(lender.id() == "A1");
  CHECK(lender.id() == "A1");
  CHECK(lender.asked == 2);  // not again within a minute
  lender.clock.advance(std::chrono::minutes(5));
  CHECK(failure_of([&] { lender.id(); }) == ErrorCode::network);
  lender.broken = false;
  CHECK(lender.id() == "A4");
}

TEST_CASE("ones that have expired when they come are used, and looked for again a minute later") {
  FakeClock clock;
  int asked = 0;
  CredentialCache cache(chain_of({[&] { return named(++asked, clock.now() - std::chrono::minutes(1)); }}), clock);
  cache.get({});
  CHECK(cache.get({})->key.access_key_id == "A1");
  clock.advance(std::chrono::seconds(61));
  CHECK(cache.get({})->key.access_key_id == "A2");
}

TEST_CASE("what the store calls expired is replaced, once for all who say so, or refused where nothing newer is") {
  Lender lender;
  const auto old = lender.cache.get({});
  lender.cache.renew(*old, {});
  lender.cache.renew(*old, {});
  CHECK(lender.id() == "A2");
  FakeClock clock;
  CredentialCache fixed(chain_of({[] { return named(1); }}), clock);
  const auto refused = failure_of([&] { fixed.renew(*fixed.get({}), {}); });
  CHECK(refused == ErrorCode::denied);
  CHECK(refused.says("expired"));
}

TEST_CASE("many threads that need new ones ask once") {
  FakeClock clock;
  std::atomic<int> asked = 0;
  CredentialCache cache(chain_of({[&]() -> std::optional<Credentials> {
                          std::this_thread::sleep_for(std::chrono::milliseconds(20));
                          return named(++asked);
                        }}),
                        clock);
  TaskGroup group;
  for (int i = 0; i < 8; ++i) group.spawn([&](const std::stop_token& stop) { cache.get(stop); });
  group.wait();
  CHECK(asked == 1);
}

TEST_CASE("threads that use credentials while others call them expired always have some") {
  Lender lender;
  TaskGroup group;
  for (int i = 0; i < 4; ++i) {
    group.spawn([&](const std::stop_token& stop) {
      for (int round = 0; round < 200; ++round) lender.cache.renew(*lender.cache.get(stop), stop);
    });
  }
  group.wait();
  CHECK(lender.asked > 1);
}

TEST_CASE("a provider that fails in an unforeseen way holds nobody up") {
  FakeClock clock;
  CredentialCache cache(chain_of({[]() -> std::optional<Credentials> { throw std::runtime_error("odd"); }}), clock);
  for (int i = 0; i < 2; ++i) CHECK(failure_of([&] { cache.get({}); }).says("odd"));
}

TEST_CASE("many threads that wait for a failure all get it, and a stop ends their wait") {
  FakeClock clock;
  std::atomic<int> failed = 0;
  CredentialCache cache(chain_of({[]() -> std::optional<Credentials> {
                          std::this_thread::sleep_for(std::chrono::milliseconds(50));
                          throw Error(ErrorCode::denied, "no");
                        }}),
                        clock);
  TaskGroup group;
  for (int i = 0; i < 4; ++i) {
    group.spawn([&](const std::stop_token& stop) {
      if (failure_of([&] { cache.get(stop); }) == ErrorCode::denied) ++failed;
    });
  }
  group.wait();
  CHECK(failed == 4);
}
