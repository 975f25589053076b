#include "bench/aggregate/aggregate.hpp"

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
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
                {"elapsed_seconds", 60.0},
                {"host", {{"hostname", name}, {"node", name}, {"cpus", 8}, {"labels", {{"rack", "r1"}}}}},
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

/// The same node an hour later.
Json later(Json result) {
  result["started_at"] = "2026-11-26T08:51:49Z";
  return result;
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
}

TEST_CASE("without a common second there is no sum") {
  const AggregateResult result = combined({node_result("a", 1e9, 1000), node_result("b", 3e9, 2000)});
  CHECK(result.stages.at(0).seconds == 0);
  CHECK_FALSE(result.stages.at(0).bytes_per_second);
}

NodeState state_of(const AggregateResult& result, const std::string& name) {
  for (const FleetNode& row : result.rows) {
    if (row.name == name) return row.state;
  }
  FAIL("no node " << name);
  return NodeState::missing;
}

TEST_CASE("seconds that were measured in part count as rates, and clocks are corrected by what the barrier saw") {
  Json parts = node_result("a", 2e9);
  for (Json& row : parts["result"]["seconds"]) row["measured_seconds"] = 0.95, row["bytes"] = 0.95 * 2e9;
  CHECK(combined({parts, node_result("b", 2e9)}).stages.at(0).bytes_per_second == doctest::Approx(4e9));
  for (Json& row : parts["result"]["seconds"]) row["measured_seconds"] = 0.1, row["bytes"] = 0.1 * 2e9;
  CHECK_FALSE(combined({parts, node_result("b", 2e9)}).stages.at(0).bytes_per_second);

  Json fast_clock = node_result("a", 1e9, 1010);  // in truth from 1000 on
  fast_clock["result"]["start"] = {{"clock_offset_seconds", 10.0}};
  const StageSum sum = combined({fast_clock, node_result("b", 3e9, 1000)}).stages.at(0);
  CHECK(sum.seconds == 10);
  CHECK(sum.bytes_per_second == doctest::Approx(4e9));
}

TEST_CASE("a node that is slow in one run is to be measured again, in two it is taken out of service") {
  std::vector<Json> results = fleet(9);
  results.push_back(node_result("slow", 0.7 * kRate));
  AggregateResult result = combined(results);
  CHECK(result.suspects == std::vector<std::string>{"slow"});
  CHECK(result.exclude.empty());
  CHECK(result.has_findings());
  results.push_back(later(node_result("slow", 0.71 * kRate)));
  result = combined(results);
  CHECK(result.exclude == std::vector<std::string>{"slow"});
  CHECK(result.suspects.empty());
  CHECK(result.rows.front().name == "slow");
  CHECK(result.rows.front().straggler);
  CHECK(result.rows.front().runs == 2);
  CHECK(result.nodes == 10);
  results.back()["result"]["read"]["bytes_per_second"] = kRate;  // after a repair
  CHECK_FALSE(combined(results).has_findings());
}

TEST_CASE("runs of one node right after each other are of one machine, runs at the same time are of two") {
  std::vector<Json> results = fleet(9);
  results.push_back(results.front());
  results.front()["elapsed_seconds"] = 1.4;  // from :49.7 to :51.1, and times have whole seconds
  results.back()["started_at"] = "2026-11-26T07:51:50Z";
  results.back()["result"]["read"]["bytes_per_second"] = 0.99 * kRate;
  CHECK_FALSE(combined(results).has_findings());
  results.front()["elapsed_seconds"] = 3.0;
  CHECK(combined(results).has_findings());
}

TEST_CASE("a node is compared within its group, and with nodes of its size") {
  std::vector<Json> racks;
  std::vector<Json> sizes;
  for (int i = 0; i < 20; ++i) {
    Json result = node_result(fmt::format("n{}", i), i < 10 ? kRate : kRate / 2);
    result["host"]["labels"]["rack"] = i < 10 ? "r1" : "r2";
    racks.push_back(result);
    result["host"]["cpus"] = i < 10 ? 8 : 4;
    sizes.push_back(result);
  }
  AggregateOptions by_rack;
  by_rack.group_by = "rack";
  CHECK(combined(racks, by_rack).unjudged.size() == 20);
  CHECK_FALSE(combined(sizes).has_findings());
  CHECK(combined(sizes).rows.front().group.ends_with(" CPUs"));
  const AggregateResult halves = combined(racks);  // nobody knows which half is slow
  CHECK(halves.unjudged.size() == 20);
  CHECK(halves.rows.front().text == "read.bytes_per_second: two levels, 50 % apart: which one is right is unknown");
  for (int i = 20; i < 60; ++i) {
    racks.push_back(node_result(fmt::format("n{}", i), kRate));
    racks.back()["host"]["labels"]["rack"] = fmt::format("r{}", i / 10 + 1);
  }
  const AggregateResult rack = combined(racks, by_rack);
  CHECK(rack.suspects.size() == 10);
  CHECK(rack.rows.front().text == "read.bytes_per_second 50 % below the median of other groups, as all of rack=r2");
}

TEST_CASE("nobody who was not judged is fit") {
  AggregateOptions by_rack;
  by_rack.group_by = "rack";
  std::vector<Json> results = fleet(10);
  results[3]["host"]["labels"] = Json::object();
  results[4]["result"]["neighbors"] = {{"text", "others used 1.5 of 2 cores"}};
  results[5]["status"] = "failed";
  results[5]["error"] = {{"code", "io"}, {"text", "cannot read"}};
  results.push_back(later(node_result("node0006", kRate)));
  results.back()["started_at"] = "2026-11-26T07:52:00Z";  // while the first one ran
  by_rack.expect = {"node[0000-0009]", "gone"};
  const AggregateResult result = combined(results, by_rack);
  CHECK(result.has_findings());
  CHECK(result.nodes == 6);
  CHECK(result.expected == 11);
  CHECK(state_of(result, "node0003") == NodeState::undecided);
  CHECK(state_of(result, "node0004") == NodeState::undecided);
  CHECK(state_of(result, "node0005") == NodeState::failed);
  CHECK(state_of(result, "node0006") == NodeState::undecided);
  CHECK(state_of(result, "gone") == NodeState::missing);
  CHECK(result.exclude.empty());
  by_rack.group_by = "rak";
  CHECK_THROWS_AS(combined(results, by_rack), Error);
}

TEST_CASE("a result that another program wrote again is the same result") {
  std::vector<Json> results = fleet(8);
  for (Json& result : results) result["host"]["cpu_limit"] = 2.0;
  results[7]["host"]["cpu_limit"] = 2;
  results[7]["result"]["read"]["bytes_per_second"] = 500'000'000;
  CHECK(combined(results).suspects == std::vector<std::string>{"node0007"});
}

TEST_CASE("--alone compares like with like") {
  TempDir folder;
  AggregateOptions options;
  options.alone = folder.path() + "/alone.json";
  Json alone = node_result("alone", 1.5 * kRate);
  write_file(*options.alone, alone.dump());
  CHECK(combined(fleet(4), options).ceiling->limits);
  alone["result"]["requirement"] = {{"preset", "resnet50-h100"}, {"samples_per_second", 1786.0}};
  write_file(*options.alone, alone.dump());
  CHECK_THROWS_AS(combined(fleet(4), options), Error);
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
  CHECK(result.unjudged == std::vector<std::string>{"version", "preset", "verb"});
  REQUIRE(result.left_out.size() == 3);
  std::set<std::string> reasons;
  for (const LeftOut& one : result.left_out) reasons.insert(one.reason);
  CHECK(reasons.contains("of version 0.8.0, not 0.9.0 as most"));
  CHECK(reasons.contains("for the job 'resnet50-h100, 1,786 samples/s', not 'none' as most"));
  CHECK(reasons.contains("verb is 'read', not 'run' as for most"));
}

TEST_CASE("too few nodes are not judged") {
  for (const std::size_t nodes : {1, 3}) {
    CHECK(combined(fleet(nodes)).nodes == 0);
    CHECK(combined(fleet(nodes)).has_findings());
  }
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
  std::vector<Json> results{node_result("a", kRate), node_result("b", 0.9 * kRate)};
  AggregateResult result = combined(results, options);
  CHECK(result.suspects == std::vector<std::string>{"b"});
  CHECK(state_of(result, "a") == NodeState::healthy);  // by the gate only
  CHECK(result.gate_missed == 1);
  results.push_back(later(node_result("b", 0.91 * kRate)));
  CHECK(combined(results, options).exclude == std::vector<std::string>{"b"});
  results[1]["result"]["neighbors"] = {{"text", "others used 1.5 of 2 cores"}};
  CHECK(combined(results, options).suspects == std::vector<std::string>{"b"});
  results[0]["result"]["read"]["bytes_per_second"] = 0.96 * kRate;
  CHECK(state_of(combined(results, options), "a") == NodeState::undecided);  // as near to the limit as runs drift
}

TEST_CASE("a met gate makes no node healthy that nobody judged") {
  TempDir folder;
  AggregateOptions options;
  options.gate = folder.path() + "/gate.json";
  write_file(*options.gate, R"({"schema":"shardkit/gate","schema_version":1,"requirements":[
      {"metric":"read.bytes_per_second","min":1}]})");
  std::vector<Json> results = fleet(12);
  for (std::size_t i = 0; i < 6; ++i) results[i]["result"]["read"]["bytes_per_second"] = 0.6 * kRate;
  CHECK(combined(results, options).unjudged.size() == 12);
}

/// A result that began at a barrier with others.
Json at_barrier(Json result, const std::string& id, const std::string& hour) {
  result["result"]["start"] = {{"id", id}};
  result["started_at"] = "2026-11-26T" + hour + ":00:00Z";
  return result;
}

TEST_CASE("a suspect that was measured again alone is still one; with healthy nodes it is slow or cleared") {
  std::vector<Json> results;
  for (const Json& node : fleet(9)) results.push_back(at_barrier(node, "first", "07"));
  results.push_back(at_barrier(node_result("slow", 0.7 * kRate), "first", "07"));
  AggregateResult result = combined(results);
  CHECK(result.suspects == std::vector<std::string>{"slow"});
  CHECK(result.controls.size() == 4);
  results.push_back(at_barrier(node_result("slow", 2 * kRate), "night", "08"));
  CHECK(combined(results).suspects == std::vector<std::string>{"slow"});
  for (std::size_t i = 0; i < 4; ++i) {
    results.push_back(at_barrier(node_result(result.controls[i], 3 * kRate), "night", "08"));
  }
  CHECK(combined(results).exclude == std::vector<std::string>{"slow"});
  results[10]["result"]["read"]["bytes_per_second"] = 3 * kRate;
  CHECK_FALSE(combined(results).has_findings());
}

TEST_CASE("rates that are none, implausible ones and other data are named, and never healthy") {
  std::vector<Json> results = fleet(9);
  results[0]["result"]["read"]["bytes_per_second"] = "fast";
  results[1]["result"]["read"]["bytes_per_second"] = -5;
  results[2]["result"]["read"]["bytes_per_second"] = 200 * kRate;
  for (std::size_t i = 0; i < 9; ++i) results[i]["result"]["read"]["mean_sample_bytes"] = i == 3 ? 800e3 : 100e3;
  const AggregateResult result = combined(results);
  const auto text_of = [&](const std::string& name) {
    for (const FleetNode& row : result.rows) {
      if (row.name == name) return row.text;
    }
    return std::string();
  };
  CHECK(result.unjudged.size() == 4);
  CHECK(text_of("node0000").find("result.read.bytes_per_second is \"fast\", not a rate") != std::string::npos);
  CHECK(text_of("node0001").find("result.read.bytes_per_second is -5, not a rate") != std::string::npos);
  CHECK(text_of("node0002") == "read.bytes_per_second is implausible: 200 times the median");
  CHECK(text_of("node0003") == "its samples have 781 KiB, not 97.7 KiB as for most: other data");
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
  CHECK(result.unjudged.size() == 3);
  REQUIRE(result.left_out.size() == 2);
  CHECK(result.left_out[0].file == folder.path() + "/2.json");
  CHECK(result.left_out[1].file == folder.path() + "/3.json");
}

}  // namespace
}  // namespace shardkit::bench
