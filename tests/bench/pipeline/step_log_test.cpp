#include <doctest/doctest.h>

#include "bench/pipeline/step_loop.hpp"

using namespace shardkit;
using namespace shardkit::bench;

namespace {

/// Steps of `step` seconds, each after a wait of `wait`, from 0 on.
StepLog log_of(int steps, double wait, double step, std::uint64_t samples = 10) {
  StepLog log(step);
  log.next_epoch();
  double now = 0;
  for (int i = 0; i < steps; ++i) {
    const double taken = now + wait;
    log.add({now, taken, taken + step, samples});
    now = taken + step;
  }
  return log;
}

}  // namespace

TEST_CASE("utilization is computing over running time, the first step left out") {
  // MLPerf Storage: a step of 3 s after a wait of 1 s is 75 %.
  const StepLog log = log_of(5, 1, 3);
  CHECK(*log.au() == doctest::Approx(0.75));
  CHECK(*log.stall() == doctest::Approx(0.25));
}

TEST_CASE("a first step that waited long changes neither utilization nor latency") {
  StepLog log(1);
  log.next_epoch();
  log.add({0, 100, 101, 8});
  log.add({101, 101, 102, 8});
  log.add({102, 102, 103, 8});
  CHECK(*log.au() == 1);
  CHECK(*log.stall() == 0);
  CHECK(log.batch_latency().max == 0);
  CHECK(log.first_batch() == 100);
  CHECK(log.samples_per_second() == doctest::Approx(8));
}

TEST_CASE("the rate is of the samples between the first batch and the last") {
  CHECK(log_of(5, 1, 3).samples_per_second() == doctest::Approx(10 / 4.0));
  CHECK(log_of(5, 0.5, 0).samples_per_second() ==
        doctest::Approx(10 / 0.5));  // nothing computes: what the loader gives
}

TEST_CASE("the first step of an epoch is a boundary, and what it waits for counts") {
  StepLog log(1);
  log.next_epoch();
  log.add({0, 5, 6, 4});
  log.add({6, 6, 7, 4});
  log.next_epoch();
  log.add({7, 9, 10, 4});
  log.add({10, 10, 11, 4});
  REQUIRE(log.boundaries().size() == 1);
  CHECK(log.boundaries().front() == 2);
  CHECK(*log.au() == doctest::Approx(3.0 / 5));
  CHECK(*log.stall() == doctest::Approx(2.0 / 5));
  CHECK(log.stall_within_epochs() == 0);
}

TEST_CASE("latencies are of all steps but the first, quantiles within a hundredth") {
  StepLog log(0);
  log.next_epoch();
  double now = 0;
  for (int i = 0; i <= 100; ++i) {
    const double wait = i == 0 ? 9 : i * 0.001;
    log.add({now, now + wait, now + wait, 1});
    now += wait;
  }
  const BatchLatency latency = log.batch_latency();
  CHECK(latency.mean == doctest::Approx(0.0505));
  CHECK(latency.p50 == doctest::Approx(0.05).epsilon(0.01));
  CHECK(latency.p99 == doctest::Approx(0.099).epsilon(0.01));
  CHECK(latency.max == doctest::Approx(0.1).epsilon(0.01));
}

TEST_CASE("one step alone has a rate and no ratios; none has nothing") {
  const StepLog one = log_of(1, 2, 3);
  CHECK(one.samples_per_second() == doctest::Approx(5));
  CHECK_FALSE(one.au());
  CHECK_FALSE(one.stall());
  CHECK(one.batch_latency().p50 == 2);
  const StepLog none(1);
  CHECK(none.samples_per_second() == 0);
  CHECK_FALSE(none.au());
}

TEST_CASE("without a step time there is no utilization to speak of") { CHECK_FALSE(log_of(5, 1, 0).au()); }

TEST_CASE("how late the tool was is reported, and is nobody's time") {
  StepLog log(1);
  log.next_epoch();
  log.add({0, 0, 1, 1, 0.25});
  log.add({1, 1, 2, 1, 0.75});
  CHECK(log.mean_late() == 0.5);
  CHECK(log.most_late() == 0.75);
  CHECK(*log.au() == 1);
}
