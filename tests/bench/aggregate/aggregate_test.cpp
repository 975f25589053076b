#include "bench/aggregate/aggregate.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "io/file.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

constexpr double kRate = 2e9;

/// A result of `run` on a node that reads `rate` bytes per second from second `start` on.
Json node_result(const std::string& name, double rate, std::uint64_t start = 1000, std::uint64_t seconds = 10) {
  Json envelope{{"schema", "shardkit/run"},
                {"schema_version", 1},
                {"tool", {{"name", "iobench"}, {"version", "0.9.0"}}},
                {"started_at", "2026-11-26T07:51:49Z"},
                {"host", {{"hostname", name}, {"node", name}, {"labels", {{"rack", "r1"}}}}},
                {"options", {{"preset", nullptr}}},
                {"error", nullptr},
                {"status", "ok"}};
  Json rows = Json::array();
  for (std::uint64_t i = 0; i < seconds; ++i) {
    rows.push_back({{"unix_time_seconds", start + i},
                    {"stage", "read"},
                    {"bytes", rate},
                    {"samples", 10},
                    {"measured_seconds", 1.0}});
  }
  envelope["result"] = {{"read", {{"bytes_per_second", rate}}}, {"seconds", rows}};
  return envelope;
}

AggregateResult combined(const std::vector<Json>& results, AggregateOptions options = {}) {
  const TempDir folder;
  for (std::size_t i = 0; i < results.size(); ++i) {
    write_file(fmt::format("{}/{:04}.json", folder.path(), i), results[i].dump());
  }
  options.results = {folder.path()};
  Context context;
  return aggregate(options, context);
}

std::vector<Json> fleet(std::size_t count) {
  std::vector<Json> results;
  for (std::size_t i = 0; i < count; ++i) results.push_back(node_result(fmt::format("node{:04}", i), kRate));
  return results;
}

TEST_CASE("rates are added over the seconds in which all nodes ran") {
  const AggregateResult result = combined({node_result("a", 1e9, 1000), node_result("b", 3e9, 1004)});
  REQUIRE(result.stages.size() == 1);
  CHECK(result.stages[0].seconds == 6);
  CHECK(result.stages[0].bytes_per_second == doctest::Approx(4e9));
  CHECK(result.nodes == 2);
}

TEST_CASE("without a common second there is no sum") {
  const AggregateResult result = combined({node_result("a", 1e9, 1000), node_result("b", 3e9, 2000)});
  CHECK(result.stages.at(0).seconds == 0);
  CHECK_FALSE(result.stages.at(0).bytes_per_second);
}

TEST_CASE("a slow node is named, and listed first") {
  std::vector<Json> results = fleet(9);
  results.push_back(node_result("slow", 0.7 * kRate));
  const AggregateResult result = combined(results);
  CHECK(result.exclude == std::vector<std::string>{"slow"});
  CHECK(result.rows.front().name == "slow");
  CHECK(result.rows.front().straggler);
  CHECK(result.has_findings());
}

TEST_CASE("a node is compared within its group") {
  std::vector<Json> results;
  for (int i = 0; i < 10; ++i) {
    Json result = node_result(fmt::format("n{}", i), i < 5 ? kRate : kRate / 2);
    result["host"]["labels"]["rack"] = i < 5 ? "r1" : "r2";
    results.push_back(result);
  }
  AggregateOptions by_rack;
  by_rack.group_by = "rack";
  CHECK(combined(results, by_rack).stragglers == 0);
}

TEST_CASE("results of other verbs, versions, jobs or data are left out with the reason") {
  std::vector<Json> results = fleet(5);
  results.push_back(node_result("version", kRate));
  results.back()["tool"]["version"] = "0.8.0";
  results.push_back(node_result("preset", kRate));
  results.back()["result"]["requirement"] = {{"preset", "resnet50-h100"}, {"samples_per_second", 1786.0}};
  results.push_back(node_result("verb", kRate));
  results.back()["schema"] = "shardkit/read";
  results.back()["result"] = {{"bytes_per_second", kRate}};
  const AggregateResult result = combined(results);
  CHECK(result.nodes == 5);
  REQUIRE(result.left_out.size() == 3);
  std::set<std::string> reasons;
  for (const LeftOut& one : result.left_out) reasons.insert(one.reason);
  CHECK(reasons.contains("of version 0.8.0, not 0.9.0 as most"));
  CHECK(reasons.contains("for the job 'resnet50-h100, 1,786 samples/s', not 'none' as most"));
  CHECK(reasons.contains("verb is 'read', not 'run' as for most"));
}

TEST_CASE("of two results of a node the newest counts") {
  std::vector<Json> results = fleet(2);
  results.push_back(node_result("node0000", kRate));
  results.back()["started_at"] = "2026-11-27T00:00:00Z";
  const AggregateResult result = combined(results);
  CHECK(result.nodes == 2);
  REQUIRE(result.left_out.size() == 1);
  CHECK(result.left_out[0].file.ends_with("/0000.json"));
}

TEST_CASE("one node is no fleet, and is not judged") {
  const AggregateResult result = combined(fleet(1));
  CHECK(result.nodes == 1);
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("no usable result is an error") { CHECK_THROWS_AS(combined({}), Error); }

TEST_CASE("clocks that differ are measured") {
  std::vector<Json> results = fleet(2);
  results[0]["result"]["start"] = {{"clock_offset_seconds", -0.5}};
  results[1]["result"]["start"] = {{"clock_offset_seconds", 2.0}};
  CHECK(combined(results).clock_spread == doctest::Approx(2.5));
}

TEST_CASE("a gate lists the nodes that miss it") {
  TempDir folder;
  const std::string gate = folder.path() + "/gate.json";
  write_file(gate, R"({"schema":"shardkit/gate","schema_version":1,"requirements":[
      {"metric":"read.bytes_per_second","min":"1.9GB/s"}]})");
  AggregateOptions options;
  options.gate = gate;
  const AggregateResult result = combined({node_result("a", kRate), node_result("b", 0.9 * kRate)}, options);
  CHECK(result.exclude == std::vector<std::string>{"b"});
  CHECK(result.gate_missed == 1);
}

TEST_CASE("truncated and foreign files are left out by name") {
  TempDir folder;
  write_file(folder.path() + "/1.json", node_result("a", kRate).dump());
  write_file(folder.path() + "/2.json", node_result("b", kRate).dump().substr(0, 200));
  write_file(folder.path() + "/3.json", R"({"some":"json"})");
  AggregateOptions options;
  options.results = {folder.path()};
  Context context;
  const AggregateResult result = aggregate(options, context);
  CHECK(result.nodes == 1);
  REQUIRE(result.left_out.size() == 2);
  CHECK(result.left_out[0].file == folder.path() + "/2.json");
  CHECK(result.left_out[1].file == folder.path() + "/3.json");
}

TEST_CASE("of 1000 nodes with noise of 2 %, the 7 that are 20 % slower are found, and no other") {
  constexpr std::size_t kNodes = 1000;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Prng prng(seed);
    std::vector<std::size_t> slow;
    for (std::size_t i = 0; i < 7; ++i) slow.push_back(i * 131 + seed % 100);
    std::vector<double> rates;
    for (std::size_t i = 0; i < kNodes; ++i) {
      const double level = std::ranges::find(slow, i) != slow.end() ? 0.8 : 1;
      rates.push_back(kRate * level * (1 + 0.02 * prng.normal()));
    }
    CAPTURE(seed);
    CHECK(stragglers(rates) == slow);
  }
}

TEST_CASE("noise alone makes no straggler, and few nodes are not judged") {
  CHECK(stragglers(std::vector<double>{1, 1, 1, 0.92}).empty());
  CHECK(stragglers(std::vector<double>{1, 1, 1, 0.85}) == std::vector<std::size_t>{3});
  CHECK(stragglers(std::vector<double>{1, 1, 0.1}).empty());
  CHECK(stragglers({}).empty());
}

}  // namespace
}  // namespace shardkit::bench
