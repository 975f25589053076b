#include <doctest/doctest.h>

#include "bench/pipeline/trace.hpp"

using namespace shardkit;
using namespace shardkit::bench;

namespace {

/// A moment so many milliseconds after the start, with so much processor time used.
Moment at(int wall_ms, int cpu_ms = 0) {
  return {std::chrono::steady_clock::time_point(std::chrono::milliseconds(wall_ms)), std::chrono::milliseconds(cpu_ms)};
}

}  // namespace

TEST_CASE("at each moment one activity goes on, and their times are all of the thread's") {
  StageClock clock(Activity::starved, nullptr, at(100, 7));
  clock.enter(Activity::decode, at(300, 8));
  clock.enter(Activity::augment, at(900, 500));
  clock.enter(Activity::starved, at(1000, 590));
  const ActivityTimes times = clock.stop(at(1100, 590));
  CHECK(times.wall_of(Activity::starved) == doctest::Approx(0.3));
  CHECK(times.wall_of(Activity::decode) == doctest::Approx(0.6));
  CHECK(times.wall_of(Activity::augment) == doctest::Approx(0.1));
  CHECK(times.total_wall() == doctest::Approx(1.0));
  CHECK(times.cpu_of(Activity::decode) == doctest::Approx(0.492));
  CHECK(times.cpu_of(Activity::starved) == doctest::Approx(0.001));
  CHECK(times.total_cpu() == doctest::Approx(0.583));
}

TEST_CASE("times of several threads add up") {
  StageClock first(Activity::read, nullptr, at(0));
  StageClock second(Activity::blocked, nullptr, at(0));
  ActivityTimes sum = first.stop(at(10));
  sum.add(second.stop(at(30)));
  CHECK(sum.wall_of(Activity::read) == doctest::Approx(0.01));
  CHECK(sum.wall_of(Activity::blocked) == doctest::Approx(0.03));
}

TEST_CASE("each activity that ends is an event of the thread's track") {
  TraceTrack track("worker 0", 10);
  StageClock clock(Activity::decode, &track, at(5));
  clock.enter(Activity::augment, at(8));
  clock.stop(at(9));
  REQUIRE(track.size() == 2);
  CHECK(track.event(0).activity == Activity::decode);
  CHECK((track.event(0).begin == at(5).wall));
  CHECK((track.event(0).end == at(8).wall));
  CHECK(track.event(1).activity == Activity::augment);
}

TEST_CASE("the processor clock of a thread moves only while it works") {
  const Moment before = Moment::now();
  double sum = 0;
  while (Moment::now().cpu == before.cpu) sum += 1;
  CHECK(Moment::now().cpu > before.cpu);
  CHECK(Moment::now().wall > before.wall);
}
