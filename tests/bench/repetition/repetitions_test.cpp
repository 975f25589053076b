#include "bench/repetition/repetitions.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/compare/measurements.hpp"
#include "bench/run/run.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::catalog;
using namespace shardkit::test;
using doctest::Approx;

namespace {

RunRepetition repetition(double rate, std::optional<double> decoded, std::optional<double> copied = {}) {
  RunRepetition one;
  one.read.bytes_per_second = rate;
  one.read.samples_per_second = rate / 100;
  one.read.latency.p99 = 0.001;
  if (decoded) one.decode.emplace().samples_per_second = *decoded;
  one.transfer.pinned_h2d = copied;
  return one;
}

std::vector<RepeatedMetric> rows_of(std::vector<RunRepetition> repetitions) {
  Repeated<RunRepetition> repeated;
  repeated.set("run", std::move(repetitions));
  return repeated.repeated;
}

std::vector<std::string> names_of(const std::vector<RepeatedMetric>& rows) {
  std::vector<std::string> names;
  for (const RepeatedMetric& row : rows) names.push_back(row.metric);
  return names;
}

/// A measurement that needs an interrupted member.
struct Rate {
  double rate = 0;
  bool interrupted = false;
};

/// The rates that are kept of `steps`: a rate, a failure (negative), or a stop that leaves this (0).
Measured<Rate> measured(std::vector<double> steps) {
  std::size_t next = 0;
  return measure_repeatedly<Rate>(RepeatOption{steps.size()}, [&]() -> Rate {
    const double step = steps[next++];
    if (step < 0) throw shardkit::Error(ErrorCode::not_found, "gone");
    return {step, step == 0};
  });
}

}  // namespace

TEST_CASE("each metric has a median, its interval, and where the next run's median will lie") {
  std::vector<RunRepetition> repetitions;
  for (int i = 1; i <= 10; ++i) repetitions.push_back(repetition(1000 + i, 500));
  const std::vector<RepeatedMetric> rows = rows_of(repetitions);
  CHECK(rows[1].metric == "read.bytes_per_second");
  CHECK(rows[1].median == 1005.5);
  CHECK(rows[1].low == 1002);
  CHECK(rows[1].high == 1009);
  CHECK(rows[1].next->low == Approx(0.97 * 1005.5));  // repetitions differ by less than runs do
  CHECK(rows[1].next->high == Approx(1.03 * 1005.5));
}

TEST_CASE("the metrics are those that compare has, without the derived ones of stages") {
  std::vector<RunRepetition> repetitions{repetition(1, 5, 50e9), repetition(2, 5, 52e9)};
  for (RunRepetition& one : repetitions) one.decode->samples_per_second_per_core = 3;
  const std::vector<RepeatedMetric> rows = rows_of(repetitions);
  CHECK(names_of(rows) == std::vector<std::string>{"run.predicted.samples_per_second", "read.bytes_per_second",
                                                   "read.latency_seconds.p99", "decode.samples_per_second",
                                                   "decode.samples_per_second_per_core",
                                                   "transfer.pinned_h2d_bytes_per_second"});
  CHECK(rows.back().median == 51e9);
  for (const RepeatedMetric& row : rows) CHECK_NOTHROW(compare_metric(row.metric, "--include"));
}

TEST_CASE("a metric that a repetition lacks is left out, one repetition predicts nothing") {
  CHECK(names_of(rows_of({repetition(1, 5), repetition(2, {})})).size() == 3);
  CHECK_FALSE(rows_of({repetition(1, 5)}).front().next);
}

TEST_CASE("a stop or a failure keeps the repetitions before it, and is the verb's if there are none") {
  CHECK(measured({1, 2, 3}).results.size() == 3);
  const Measured<Rate> failed = measured({1, 2, -1, 3});
  CHECK(failed.results.size() == 2);
  REQUIRE(failed.failure);
  CHECK(std::string(failed.failure->what()).find("repetition 3 of 4 failed") == 0);
  CHECK_FALSE(failed.interrupted);
  const Measured<Rate> stopped = measured({1, 0, 3});
  CHECK(stopped.results.size() == 1);
  CHECK_FALSE(stopped.results.front().interrupted);
  CHECK(stopped.interrupted);
  CHECK(measured({0, 1}).results.front().interrupted);
  CHECK(error_code_of([&] { measured({-1, 1}); }) == ErrorCode::not_found);
}

TEST_CASE("the repetition with the median rate, the lower of two") {
  CHECK(median_repetition(std::vector<double>{3, 1, 2}) == 2);
  CHECK(median_repetition(std::vector<double>{4, 1, 2, 3}) == 2);
  CHECK(median_repetition(std::vector<double>{7}) == 0);
}

TEST_CASE("a run with repetitions keeps all of them and shows the median one") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(30, "a"));
  RunOptions options;
  options.paths = {folder.path()};
  options.budget = 1;
  options.repeat = 3;
  Context context;
  const RunResult result = run(options, context);
  REQUIRE(result.repetitions.size() == 3);
  CHECK(std::ranges::count(context.warnings(), "cores_shared", &shardkit::Finding::code) <= 1);  // not once for each
  std::size_t below = 0;
  for (const auto& one : result.repetitions) below += one.result.read.bytes_per_second < result.read.bytes_per_second;
  CHECK(below == 1);
  options.repeat = 1;
  CHECK(run(options, context).repetitions.empty());
  options.repeat = 0;
  CHECK(error_code_of([&] { run(options, context); }) == ErrorCode::usage);
}

TEST_CASE("repetitions of a run need a cache state that can be restored") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(3, "a"));
  RunOptions options;
  options.paths = {folder.path()};
  options.repeat = 2;
  options.cache = RunCache::any;
  Context context;
  CHECK(error_code_of([&] { run(options, context); }) == ErrorCode::usage);
}

TEST_CASE("a failed repetition fails the run, whatever the verdict of those before it") {
  RunResult result;
  result.summary.verdict.ok = true;
  CHECK_NOTHROW(result.throw_if_failed());
  result.failure = shardkit::Error(shardkit::ErrorCode::io, "repetition 2 of 3 failed");
  CHECK(error_code_of([&] { result.throw_if_failed(); }) == shardkit::ErrorCode::io);
  result.failure.reset();
  result.summary.verdict.ok.reset();  // missed while others disturbed the measurement
  CHECK(error_code_of([&] { result.throw_if_failed(); }) == shardkit::ErrorCode::in_use);
  result.interrupted = true;
  CHECK_NOTHROW(result.throw_if_failed());
}
