#include <doctest/doctest.h>

#include "net/retry.hpp"
#include "support/errors.hpp"
#include "support/fake_clock.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::system;
using shardkit_test::failure_of;
using shardkit_test::FakeClock;

TEST_CASE("a steady reader gets the rate, whatever its steps") {
  for (const std::uint64_t step : {1000, 16'384, 1'000'000}) {
    FakeClock clock;
    RateLimit limit(1'000'000, clock);
    for (std::uint64_t done = 0; done < 10'000'000; done += step) limit.take(step, {});
    CHECK(clock.monotonic().count() == doctest::Approx(10.0).epsilon(0.02));
  }
}

TEST_CASE("what a pause saved up is a tenth of a second's worth") {
  FakeClock clock;
  RateLimit limit(1000, clock);
  clock.advance(Seconds(60));
  limit.take(100, {});
  CHECK(clock.sleeps().empty());
  limit.take(1000, {});
  REQUIRE(clock.sleeps().size() == 1);
  CHECK(clock.sleeps().front() == doctest::Approx(1.0));
}

TEST_CASE("a stop ends the wait") {
  FakeClock clock;
  RateLimit limit(1, clock);
  std::stop_source stop;
  stop.request_stop();
  CHECK(failure_of([&] { limit.take(100, stop.get_token()); }) == ErrorCode::cancelled);
}
