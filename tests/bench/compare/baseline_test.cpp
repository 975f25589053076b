#include <filesystem>
#include <thread>

#include <doctest/doctest.h>

#include "bench/compare/measurements.hpp"
#include "compare_support.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

CompareResult save(const std::string& result, const std::string& file, std::optional<std::string> name = {}) {
  CompareOptions options;
  options.changed = result;
  options.save_baseline = file;
  options.machine_class = std::move(name);
  Context context;
  return compare(options, context);
}

}  // namespace

TEST_CASE("baselines that are saved at once are all kept") {
  const TempDir dir;
  const std::string file = dir.path("fleet.json");
  std::vector<std::thread> savers;
  for (int i = 0; i < 8; ++i) {
    savers.emplace_back([&file, i] {
      Measurements measured;
      measured.verb = "read";
      measured.machine_class = "class " + std::to_string(i);
      measured.values["read.bytes_per_second"] = {{1, 2, 3}};
      measured.runs.resize(1);
      save_baseline(file, measured, {});
    });
  }
  for (std::thread& saver : savers) saver.join();
  for (int i = 0; i < 8; ++i) {
    CHECK(read_baseline(file, "class " + std::to_string(i), "read").values.at("read.bytes_per_second").front().size() ==
          3);
  }
}

TEST_CASE("a node is kept as baseline of its class, and others are held against it") {
  const TempDir dir;
  const std::string file = dir.path("fleet.json");
  const CompareResult saved = save(write_repetitions(dir, "good", {}), file, "h100-nvme");
  CHECK_FALSE(saved.verdict);
  CHECK_FALSE(saved.has_findings());
  CHECK(saved.text.find("class 'h100-nvme'") != std::string::npos);
  const std::string slow = write_repetitions(dir, "slow", {.rate = 0.8e9, .host = "node7"});
  const CompareResult result = compare_paths(file, slow, {.machine_class = "h100-nvme"});
  CHECK(result.verdict == stats::ChangeVerdict::regressed);
  CHECK(result.base->machine_class == "h100-nvme");
  CHECK(result.base->repetitions == 10);
}

TEST_CASE("without a name the class follows from processors, memory and storage") {
  const TempDir dir;
  const std::string file = dir.path("fleet.json");
  CHECK(save(write_repetitions(dir, "good", {}), file).changed.machine_class == "16cpu-32gib-nvme");
  CHECK(compare_paths(file, dir.path("good")).verdict == stats::ChangeVerdict::pass);
  CompareOptions options;
  options.base = file;
  options.changed = write_repetitions(dir, "other", {.cpus = 64});
  const auto failure = failure_of_compare(options);
  CHECK(failure == ErrorCode::not_found);
  CHECK(failure.says("no baseline of class '64cpu-32gib-nvme', only of 16cpu-32gib-nvme"));
}

TEST_CASE("saving again adds new runs to that class and verb; runs under other conditions replace them") {
  const TempDir dir;
  const std::string file = dir.path("fleet.json");
  save(write_repetitions(dir, "a", {}), file, "a");
  save(write_repetitions(dir, "b", {.rate = 2e9}), file, "b");
  write_file(dir.path("run.json"), run_envelope({1, 2, 3}));
  save(dir.path("run.json"), file, "a");
  save(write_repetitions(dir, "a2", {.rate = 3e9}, 12), file, "a");
  const auto runs = [&] { return read_baseline(file, "a", "read").values.at("read.bytes_per_second").size(); };
  CHECK(runs() == 22);
  save(dir.path("a2"), file, "a");
  CHECK(runs() == 22);
  save(write_repetitions(dir, "warm", {.cache = "warm"}, 3), file, "a");
  CHECK(runs() == 3);
  CHECK(read_baseline(file, "a", "run").values.at("read.bytes_per_second") == stats::Runs{{1, 2, 3}});
  CHECK(read_baseline(file, "b", "read").values.at("read.bytes_per_second").size() == 10);
}

TEST_CASE("a node that was measured under other conditions than the baseline is incomparable") {
  const TempDir dir;
  const std::string file = dir.path("fleet.json");
  save(write_repetitions(dir, "good", {}), file, "x");
  const std::string warm = write_repetitions(dir, "warm", {.cache = "warm"});
  CHECK(compare_paths(file, warm, {.machine_class = "x"}).verdict == stats::ChangeVerdict::incomparable);
}

TEST_CASE("damaged baselines are errors and are not overwritten") {
  const TempDir dir;
  const std::string result = write_repetitions(dir, "good", {});
  for (
      const char* text :
      {R"({"schema":"shardkit/baseline","schema_version":2,"classes":{}})",
       R"({"schema":"shardkit/baseline","schema_version":1,"classes":[]})",
       R"({"schema":"shardkit/baseline","schema_version":1,"classes":{"x":3}})",
       R"({"schema":"shardkit/baseline","schema_version":1,"classes":{"x":{"read":{"values":{}}}}})",
       R"({"schema":"shardkit/baseline","schema_version":1,"classes":{"x":{"read":{"conditions":{"a":1},"values":{}}}}})",
       R"({"schema":"shardkit/baseline","schema_version":1,"classes":{"x":{"read":{"conditions":{},"values":{"a":["b"]}}}}})",
       R"({"schema":"shardkit/baseline","schema_version":1,"classes":{"x":{"read":{"conditions":{},"values":{"a":1}}}}})"}) {
    CAPTURE(text);
    write_file(dir.path("bad.json"), text);
    CompareOptions options;
    options.base = dir.path("bad.json");
    options.changed = result;
    options.machine_class = "x";
    CHECK(failure_of_compare(options) == ErrorCode::corrupt);
  }
  write_file(dir.path("read.json"), read_envelope());
  CHECK(shardkit_test::failure_of([&] { save(result, dir.path("read.json"), "x"); }) == ErrorCode::usage);
  CHECK(read_file(dir.path("read.json")) == read_envelope());
  write_file(dir.path("notes.txt"), "notes");
  CHECK(shardkit_test::failure_of([&] { save(result, dir.path("notes.txt"), "x"); }) == ErrorCode::corrupt);
}

TEST_CASE("a baseline of version 0.1, a list of numbers for each metric, is one run") {
  const TempDir dir;
  write_file(dir.path("old.json"),
             R"({"schema":"shardkit/baseline","schema_version":1,"classes":{"x":{"read":{"conditions":{},)"
             R"("values":{"read.bytes_per_second":[1e9,1.1e9]}}}}})");
  const Measurements old = read_baseline(dir.path("old.json"), "x", "read");
  CHECK(old.values.at("read.bytes_per_second") == stats::Runs{{1e9, 1.1e9}});
  CHECK(old.runs.size() == 1);
}

TEST_CASE("a disturbed baseline is kept with a warning") {
  const TempDir dir;
  write_file(dir.path("busy.json"), read_envelope({.neighbors = "others used 1.2 of 2 cores"}));
  CompareOptions options;
  options.changed = dir.path("busy.json");
  options.save_baseline = dir.path("fleet.json");
  Context context;
  compare(options, context);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings().front().code == "disturbed_baseline");
}

TEST_CASE("a result that misses the gate is not saved, and the report says so") {
  const TempDir dir;
  write_file(dir.path("gate.json"), R"({"schema":"shardkit/gate","schema_version":1,
"requirements":[{"metric":"read.bytes_per_second","min":"900GB/s"}]})");
  CompareOptions options;
  options.changed = write_repetitions(dir, "slow", {});
  options.gate = dir.path("gate.json");
  options.save_baseline = dir.path("fleet.json");
  Context context;
  CHECK(compare(options, context).text.ends_with("; not saved as baseline in " + dir.path("fleet.json")));
  CHECK_FALSE(std::filesystem::exists(dir.path("fleet.json")));
}

TEST_CASE("a class without a name is refused") {
  const TempDir dir;
  CompareOptions options;
  options.changed = write_repetitions(dir, "good", {});
  options.save_baseline = dir.path("fleet.json");
  options.machine_class = "";
  CHECK(failure_of_compare(options) == ErrorCode::usage);
}
