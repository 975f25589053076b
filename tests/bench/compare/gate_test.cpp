#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/compare/compare.hpp"
#include "compare_support.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

std::string gate_text(const std::string& requirements) {
  return R"({"schema":"shardkit/gate","schema_version":1,"requirements":[)" + requirements + "]}";
}

CompareResult gate(const TempDir& dir, const std::string& result, const std::string& requirements,
                   bool strict = false) {
  write_file(dir.path("gate.json"), gate_text(requirements));
  CompareOptions options;
  options.changed = result;
  options.gate = dir.path("gate.json");
  options.strict = strict;
  Context context;
  return compare(options, context);
}

GateVerdict verdict_of(const std::string& requirement, const ReadFacts& facts = {}) {
  const TempDir dir;
  write_file(dir.path("new.json"), read_envelope(facts));
  return gate(dir, dir.path("new.json"), requirement).gate.front().verdict;
}

}  // namespace

TEST_CASE("a single result meets or misses by its value and the drift between runs, of 3 %") {
  CHECK(verdict_of(R"({"metric":"read.bytes_per_second","min":"900MB/s"})") == GateVerdict::met);
  CHECK(verdict_of(R"({"metric":"read.bytes_per_second","min":1040000000})") == GateVerdict::missed);
  CHECK(verdict_of(R"({"metric":"read.bytes_per_second","min":1020000000})") == GateVerdict::inconclusive);
  CHECK(verdict_of(R"({"metric":"read.bytes_per_second","min":990000000})") == GateVerdict::inconclusive);
  CHECK(verdict_of(R"({"metric":"read.bytes_per_second","max":"0.9GB/s"})") == GateVerdict::missed);
  CHECK(verdict_of(R"({"metric":"read.latency_seconds.p99","max":0.003})") == GateVerdict::met);
  CHECK(verdict_of(R"({"metric":"read.bytes_per_second","min":1,"max":"2GB/s"})") == GateVerdict::met);
}

TEST_CASE("a requirement on a state of the cache is not met by another state") {
  const std::string cold = R"({"metric":"read.bytes_per_second","min":1,"cache":"cold"})";
  CHECK(verdict_of(cold) == GateVerdict::met);
  CHECK(verdict_of(cold, {.cache = "warm"}) == GateVerdict::absent);
  const std::string several = R"({"metric":"read.bytes_per_second","min":1,"cache":["client-cold","direct"]})";
  CHECK(verdict_of(several, {.cache = "direct"}) == GateVerdict::met);
  CHECK(verdict_of(several, {.cache = "cold"}) == GateVerdict::absent);
}

TEST_CASE("a known metric that was not measured is not judged, one that its own stage lacks is missed") {
  const TempDir dir;
  write_file(dir.path("new.json"), read_envelope());
  const CompareResult result =
      gate(dir, dir.path("new.json"),
           R"({"metric":"read.bytes_per_second","min":1},{"metric":"decode.samples_per_second_per_core","min":400})");
  CHECK(result.gate[0].verdict == GateVerdict::met);
  CHECK(result.gate[1].verdict == GateVerdict::absent);
  CHECK_FALSE(result.has_findings());
  CHECK(gate(dir, dir.path("new.json"), R"({"metric":"decode.samples_per_second_per_core","min":400})", true)
            .has_findings());
  CHECK_FALSE(result.verdict);
  CHECK(
      result.text.starts_with("gate undecided, 1 of 2 not judged: decode.samples_per_second_per_core required at "
                              "least 400/s, but"));
  auto lacking = nlohmann::json::parse(read_envelope());
  lacking["result"].erase("bytes_per_second");
  write_file(dir.path("new.json"), lacking.dump());
  CHECK(gate(dir, dir.path("new.json"), R"({"metric":"read.bytes_per_second","min":1})").gate[0].verdict ==
        GateVerdict::missed);
}

TEST_CASE("disturbed runs are left out of a gate, unless they are more than half") {
  const TempDir dir;
  const std::string folder = write_repetitions(dir, "new", {});
  const auto disturb = [&](int runs) {
    for (int i = 0; i < runs; ++i) {
      const std::string file = fmt::format("{}/{:02}.json", folder, i);
      auto envelope = nlohmann::json::parse(read_file(file));
      envelope["result"]["neighbors"]["text"] = "others used 1.3 of 2 cores";
      write_file(file, envelope.dump());
    }
    return gate(dir, folder, R"({"metric":"read.bytes_per_second","min":2e9})").gate[0].verdict;
  };
  CHECK(disturb(1) == GateVerdict::missed);
  CHECK(disturb(5) == GateVerdict::missed);
  CHECK(disturb(6) == GateVerdict::inconclusive);
}

TEST_CASE("of repetitions the interval of the median decides, and across the limit nothing") {
  const TempDir dir;
  const std::string folder = write_repetitions(dir, "new", {});  // 0.995 to 1.004 GB/s, interval 0.996 to 1.003
  const auto verdict = [&](const char* limit) {
    return gate(dir, folder, fmt::format(R"({{"metric":"read.bytes_per_second","min":{}}})", limit)).gate[0].verdict;
  };
  CHECK(verdict("0.9e9") == GateVerdict::met);
  CHECK(verdict("1.1e9") == GateVerdict::missed);
  CHECK(verdict("1.0e9") == GateVerdict::inconclusive);
  const char* on_limit = R"({"metric":"read.bytes_per_second","min":1.0e9})";
  CHECK_FALSE(gate(dir, folder, on_limit).has_findings());
  CHECK(gate(dir, folder, on_limit, true).has_findings());
}

TEST_CASE("of fewer than six values the median and the drift decide, of six their interval") {
  for (const int count : {1, 2, 5, 6, 7}) {
    CAPTURE(count);
    const TempDir dir;
    write_repetitions(dir, "new", {}, count);
    write_file(dir.path("new/00.json"), read_envelope({.rate = 0.8e9}));
    if (count > 1) write_file(dir.path("new/01.json"), read_envelope({.rate = 1.2e9}));
    const auto verdict = [&](const char* limit) {
      const auto requirement = fmt::format(R"({{"metric":"read.bytes_per_second",{}}})", limit);
      return gate(dir, dir.path("new"), requirement).gate[0].verdict;
    };
    const GateVerdict across = count < 6 ? GateVerdict::met : GateVerdict::inconclusive;
    CHECK(verdict(count == 1 ? R"("min":0.77e9)" : R"("min":0.9e9)") == across);
    CHECK(verdict(R"("max":1.1e9)") == across);
    CHECK(verdict(R"("min":1.3e9)") == GateVerdict::missed);
    CHECK(verdict(R"("max":0.7e9)") == GateVerdict::missed);
  }
}

TEST_CASE("a gate stands beside a comparison: either fails the call") {
  const TempDir dir;
  const std::string base = write_repetitions(dir, "base", {});
  write_file(dir.path("gate.json"), gate_text(R"({"metric":"read.bytes_per_second","min":"2GB/s"})"));
  const CompareResult result = compare_paths(base, base, {.gate = dir.path("gate.json")});
  CHECK(result.verdict == stats::ChangeVerdict::pass);
  CHECK(result.has_findings());
  CHECK(result.text.find("gate missed") != std::string::npos);
}

TEST_CASE("what misses the gate is not kept as a baseline") {
  const TempDir dir;
  CompareOptions options;
  options.changed = write_repetitions(dir, "new", {});
  options.gate = dir.path("gate.json");
  options.save_baseline = dir.path("fleet.json");
  Context context;
  for (const char* limit : {"2GB/s", "0.5GB/s"}) {
    CHECK_FALSE(std::filesystem::exists(*options.save_baseline));
    write_file(*options.gate, gate_text(fmt::format(R"({{"metric":"read.bytes_per_second","min":"{}"}})", limit)));
    compare(options, context);
  }
  CHECK(std::filesystem::exists(*options.save_baseline));
}

TEST_CASE("a gate that is wrong says which requirement and how, before results are read") {
  const TempDir dir;
  struct Row {
    std::string text, part;
  };
  const std::vector<Row> rows{
      {gate_text(R"({"metric":"read.speed","min":1})"), "unknown metric 'read.speed'"},
      {gate_text(R"({"min":1})"), "requirement 1: a metric is missing"},
      {gate_text(R"({"metric":"read.bytes_per_second"})"), "expected min, max or both"},
      {gate_text(R"({"metric":"read.bytes_per_second","min":"fast"})"), "'min' is \"fast\""},
      {gate_text(R"({"metric":"read.bytes_per_second","min":-1})"), "'min' is -1"},
      {gate_text(R"({"metric":"read.bytes_per_second","minimum":1})"), "unknown member 'minimum'"},
      {gate_text(R"({"metric":"read.bytes_per_second","min":"5GB/s","max":"1GB/s"})"), "min is more than max"},
      {gate_text(R"({"metric":"read.bytes_per_second","min":1,"cache":"cool"})"), "unknown cache state 'cool'"},
      {gate_text(R"({"metric":"read.bytes_per_second","min":1},3)"), "requirement 2: expected an object"},
      {gate_text(""), "expected at least one requirement"},
      {R"({"schema":"shardkit/gate","schema_version":1,"requirements":3})", "expected a list"},
      {R"({"schema":"shardkit/gate","schema_version":9})", "schema_version is not 1"},
      {R"({"schema":"shardkit/read"})", "not shardkit/gate"}};
  for (const Row& row : rows) {
    write_file(dir.path("gate.json"), row.text);
    const auto failure = shardkit_test::failure_of([&] { read_gate(dir.path("gate.json")); });
    CAPTURE(failure.text);
    CHECK(failure == ErrorCode::usage);
    CHECK(failure.says(row.part));
    CHECK(failure.path == dir.path("gate.json"));
  }
  write_file(dir.path("gate.json"), "min: 3");
  const auto failure = shardkit_test::failure_of([&] { read_gate(dir.path("gate.json")); });
  CHECK(failure == ErrorCode::corrupt);
  CHECK(failure.says("is not a shardkit result file; expected a gate"));
}
