#include <algorithm>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/run/run.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::catalog;
using namespace shardkit::test;
using doctest::Approx;

namespace {

Repetition repetition(double rate, std::optional<double> decoded, std::optional<double> copied = {}) {
  ReadResult read;
  read.bytes_per_second = rate;
  read.latency.p99 = 0.001;
  TransferStage transfer;
  transfer.pinned_h2d = copied;
  std::optional<DecodeResult> decode;
  if (decoded) {
    decode.emplace();
    decode->samples_per_second = *decoded;
  }
  return repetition_of(read, decode, {}, transfer, rate / 100);
}

}  // namespace

TEST_CASE("each metric has a median, its interval, and where the next run's median will lie") {
  std::vector<Repetition> repetitions;
  for (int i = 1; i <= 10; ++i) repetitions.push_back(repetition(1000 + i, 500));
  const std::vector<RepeatedMetric> rows = repeated_metrics(repetitions);
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].metric == "read.bytes_per_second");
  CHECK(rows[1].median == 1005.5);
  CHECK(rows[1].low == 1002);
  CHECK(rows[1].high == 1009);
  CHECK(rows[1].next->low == Approx(0.97 * 1005.5));  // repetitions differ by less than runs do
  CHECK(rows[1].next->high == Approx(1.03 * 1005.5));
}

TEST_CASE("a metric that a repetition lacks is left out, one repetition predicts nothing") {
  CHECK(repeated_metrics(std::vector{repetition(1, 5), repetition(2, {})}).size() == 3);
  CHECK_FALSE(repeated_metrics(std::vector{repetition(1, 5)}).front().next);
}

TEST_CASE("copies to the GPUs are a metric where they were measured") {
  const std::vector<RepeatedMetric> rows =
      repeated_metrics(std::vector{repetition(1, 5, 50e9), repetition(2, 5, 52e9)});
  CHECK(rows.back().metric == "transfer.pinned_h2d_bytes_per_second");
  CHECK(rows.back().median == 51e9);
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
  REQUIRE(result.repeated.size() == 5);                                                          // with the pipeline's
  std::size_t below = 0;
  for (const Repetition& one : result.repetitions) below += one.read.bytes_per_second < result.read.bytes_per_second;
  CHECK(below == 1);
  REQUIRE(result.shown_repetitions);
  CHECK(result.repetitions[result.shown_repetitions->read - 1].read.bytes_per_second == result.read.bytes_per_second);
  const auto decoded = result.repetitions[*result.shown_repetitions->decode - 1].decode;
  CHECK(decoded->samples_per_second == result.decode->samples_per_second);
  options.repeat = 1;
  CHECK_FALSE(run(options, context).shown_repetitions);
  CHECK(run(options, context).repetitions.empty());
  options.repeat = 0;
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
