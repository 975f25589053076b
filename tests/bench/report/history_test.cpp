#include "bench/report/history.hpp"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

Json run_on(int day, double rate, const std::string& kernel = "6.1") {
  return {{"schema", "shardkit/read"},
          {"schema_version", 1},
          {"tool", {{"name", "iobench"}, {"version", "0.9.0"}}},
          {"started_at", fmt::format("2026-10-{:02}T08:00:00Z", day)},
          {"host", {{"hostname", "node17"}, {"node", "node17"}, {"kernel", kernel}}},
          {"options", Json::object()},
          {"result", {{"bytes_per_second", rate}, {"engine", "pread"}}}};
}

History history_of(const std::vector<Json>& results) {
  const TempDir folder;
  for (std::size_t i = 0; i < results.size(); ++i) {
    write_file(fmt::format("{}/{:04}.json", folder.path(), i), results[i].dump());
  }
  Context context;
  Json newest;
  return read_history(std::vector{folder.path()}, context, newest);
}

std::vector<Json> weeks(double before, double after) {
  std::vector<Json> results;
  for (int day = 1; day <= 24; ++day) {
    results.push_back(run_on(day, (day <= 12 ? before : after) * (1 + 0.01 * (day % 3)), day <= 12 ? "6.1" : "6.8"));
  }
  return results;
}

TEST_CASE("a change is marked with its day and what changed in the environment") {
  const History history = history_of(weeks(2e9, 1.6e9));
  REQUIRE(history.metrics.size() == 1);
  const MetricHistory& rate = history.metrics[0];
  REQUIRE(rate.changes.size() == 1);
  CHECK(rate.changes[0].change.verdict == stats::ChangeVerdict::regressed);
  CHECK(rate.changes[0].environment == std::vector<std::string>{"host.kernel: 6.1 -> 6.8"});
  CHECK(rate.changes[0].text == "regressed by 20.0 % on 2026-10-13 (host.kernel: 6.1 -> 6.8)");
  CHECK(rate.bands.size() == 2);
  CHECK(history.text.starts_with("24 runs of node17: read.bytes_per_second regressed"));
}

TEST_CASE("the newest runs are judged in the headline") {
  std::vector<Json> results = weeks(2e9, 2e9);
  results.push_back(run_on(25, 1e9));
  results.push_back(run_on(26, 0.99e9));
  const History history = history_of(results);
  CHECK(history.text ==
        "26 runs of node17: read.bytes_per_second 990 MB/s now, 51 % below the runs before (the last 2 "
        "runs); no earlier change points");
  CHECK(history_of({run_on(1, 1e9), run_on(2, 1e9)}).text ==
        "2 runs of node17: too few for change points, which need 18");
}

TEST_CASE("runs that only vary have no change, and a band") {
  const History history = history_of(weeks(2e9, 2e9));
  CHECK(history.metrics.at(0).changes.empty());
  REQUIRE(history.metrics.at(0).bands.size() == 1);
  CHECK(history.metrics.at(0).bands[0].low < 2e9);
  CHECK(history.text == "24 runs of node17: none regressed");
}

TEST_CASE("results of other nodes and other conditions are left out with the reason") {
  std::vector<Json> results = weeks(2e9, 2e9);
  results.push_back(run_on(2, 1e9));
  results.back()["host"]["node"] = "other";
  results.push_back(run_on(3, 1e9));
  results.back()["result"]["engine"] = "uring";
  const History history = history_of(results);
  CHECK(history.runs == 24);
  REQUIRE(history.left_out.size() == 2);
  CHECK(history.left_out[0].reason == "of another node, not 'node17'");
  CHECK(history.left_out[1].reason == "not comparable with the newest result: read.engine is 'uring', not 'pread'");
}

TEST_CASE("a result without a date has no place in a history") {
  Json undated = run_on(1, 1e9);
  undated.erase("started_at");
  CHECK_THROWS_AS(history_of({undated}), Error);
  const History history = history_of({undated, run_on(2, 1e9)});
  REQUIRE(history.left_out.size() == 1);
  CHECK(history.left_out[0].reason.ends_with("has no date in started_at"));
}

}  // namespace
}  // namespace shardkit::bench
