// When a watch looks, and when it ends. Takes no time: the clock stands still until the loop sleeps.

#include <doctest/doctest.h>

#include "bench/watch/watch.hpp"
#include "support/errors.hpp"
#include "support/fake_clock.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::system;
using shardkit_test::FakeClock;

namespace {

/// A loop over a machine that tells nothing but the time.
struct Loop {
  FakeClock clock;
  std::stop_source stop;
  double look_takes = 0;
  int process_ends_at_look = 1000;
  int stop_at_look = 1000;
  int looks = 0;
  std::size_t most_intervals = 1000;
  std::vector<double> intervals;

  WatchEnd run(const WatchOptions& options) {
    const auto look = [&] {
      ++looks;
      WatchSample sample;
      sample.moment = clock.monotonic().count();
      sample.process_ended = looks >= process_ends_at_look;
      clock.advance(Seconds(look_takes));
      if (looks == stop_at_look) stop.request_stop();
      return sample;
    };
    const auto take = [&](const WatchSample& before, const WatchSample& after) {
      intervals.push_back(after.moment - before.moment);
      return intervals.size() < most_intervals;
    };
    return watch_loop(options, clock, stop.get_token(), look, take);
  }
};

using Intervals = std::vector<double>;

}  // namespace

TEST_CASE("a count of intervals takes one look more than that") {
  Loop loop;
  CHECK(loop.run({.interval = 2, .budget = {}, .count = 3}) == WatchEnd::count);
  CHECK(loop.looks == 4);
  CHECK(loop.intervals == Intervals{2, 2, 2});
}

TEST_CASE("it stops when nobody wants more intervals") {
  Loop loop;
  loop.most_intervals = 2;
  CHECK(loop.run({.interval = 2, .budget = {}, .count = 5}) == WatchEnd::stopped);
  CHECK(loop.intervals == Intervals{2, 2});
}

TEST_CASE("a duration ends with what is left of an interval") {
  Loop loop;
  CHECK(loop.run({.interval = 2, .budget = 5, .count = {}}) == WatchEnd::duration);
  CHECK(loop.intervals == Intervals{2, 2, 1});
}

TEST_CASE("a duration of whole intervals has no stub at its end, and the nearer bound counts") {
  Loop loop;
  CHECK(loop.run({.interval = 2, .budget = 4.05, .count = {}}) == WatchEnd::duration);
  CHECK(loop.intervals.size() == 2);
  Loop bounded;
  CHECK(bounded.run({.interval = 2, .budget = 100, .count = 1}) == WatchEnd::count);
}

TEST_CASE("looks that take time do not shift the next ones") {
  Loop loop;
  loop.look_takes = 0.5;
  loop.run({.interval = 2, .budget = {}, .count = 3});
  CHECK(loop.intervals == Intervals{2, 2, 2});
}

TEST_CASE("looks that take longer than an interval follow each other") {
  Loop loop;
  loop.look_takes = 3;
  loop.run({.interval = 2, .budget = {}, .count = 2});
  CHECK(loop.intervals == Intervals{3, 3});
}

TEST_CASE("the end of the process ends the watch; the interval that it did not live through is left out") {
  Loop loop;
  loop.process_ends_at_look = 3;
  CHECK(loop.run({.interval = 2, .budget = {}, .count = {}}) == WatchEnd::process);
  CHECK(loop.intervals == Intervals{2});
}

TEST_CASE("a stop right after a look ends the watch, one later in an interval adds what came of it") {
  Loop loop;
  loop.stop_at_look = 2;
  CHECK(loop.run({.interval = 2, .budget = {}, .count = {}}) == WatchEnd::stopped);
  CHECK(loop.intervals == Intervals{2});
  Loop later;
  later.stop_at_look = 2;
  later.look_takes = 0.3;
  CHECK(later.run({.interval = 2, .budget = {}, .count = {}}) == WatchEnd::stopped);
  REQUIRE(later.intervals.size() == 2);
  CHECK(later.intervals[1] == doctest::Approx(0.3));
}

TEST_CASE("what goes wrong with a line ends the watch with that error") {
  Loop loop;
  const auto failure = shardkit_test::failure_of([&] {
    watch_loop(
        {}, loop.clock, {}, [] { return WatchSample(); },
        [](const WatchSample&, const WatchSample&) -> bool { throw Error(ErrorCode::no_space, "full"); });
  });
  CHECK(failure == ErrorCode::no_space);
}
