#include "bench/compare/compare.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "bench/compare/measurements.hpp"
#include "bench/results/result_file.hpp"
#include "compare_support.hpp"
#include "core/metric_text.hpp"
#include "io/file.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::stats;
using namespace shardkit::test;
using doctest::Approx;

namespace {

const CompareRow& row_of(const CompareResult& result, std::string_view metric) {
  return *std::ranges::find(result.rows, metric, &CompareRow::metric);
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a folder that reads a tenth slower regressed, the other metrics of it did not") {
  const TempDir dir;
  const std::string base = write_repetitions(dir, "base", {});
  const CompareResult result = compare_paths(base, write_repetitions(dir, "new", {.rate = 0.9e9}));
  CHECK(result.verdict == ChangeVerdict::regressed);
  CHECK(result.has_findings());
  const CompareRow& rate = row_of(result, "read.bytes_per_second");
  CHECK(rate.change.verdict == ChangeVerdict::regressed);
  CHECK(rate.base == Approx(1e9).epsilon(0.001));
  CHECK(rate.changed == Approx(0.9e9).epsilon(0.001));
  CHECK(rate.change.ratio.value() == Approx(-0.1).epsilon(0.01));
  CHECK(rate.change.interval->high < -0.05);
  CHECK(rate.change.p_value.value() < 0.001);
  CHECK(row_of(result, "read.latency_seconds.p99").change.verdict == ChangeVerdict::pass);
  CHECK(result.text.starts_with("regressed: read.bytes_per_second typically -10.0 %, medians "));
  CHECK(result.base->repetitions == 10);
  CHECK(result.changed.files == 10);
  CHECK(result.differences.empty());
}

TEST_CASE("a longer latency is worse, a shorter one better") {
  const TempDir dir;
  const std::string base = write_repetitions(dir, "base", {});
  const std::string slow = write_repetitions(dir, "slow", {.p99 = 0.0023});
  CHECK(compare_paths(base, slow).verdict == ChangeVerdict::regressed);
  CHECK(compare_paths(slow, base).verdict == ChangeVerdict::improved);
  CHECK_FALSE(compare_paths(slow, base).has_findings());
}

TEST_CASE("the same again passes") {
  const TempDir dir;
  const CompareResult result =
      compare_paths(write_repetitions(dir, "base", {}), write_repetitions(dir, "new", {.rate = 1.001e9}));
  CHECK(result.verdict == ChangeVerdict::pass);
  CHECK(says(result.text, "2 metrics"));
  CHECK_FALSE(result.has_findings());
}

TEST_CASE("thresholds are for all metrics, or for one") {
  const TempDir dir;
  const std::string base = write_repetitions(dir, "base", {});
  const std::string changed = write_repetitions(dir, "new", {.rate = 0.96e9});
  CHECK(compare_paths(base, changed).verdict == ChangeVerdict::pass);
  CHECK(compare_paths(base, changed, {.threshold = {"2%"}}).verdict == ChangeVerdict::regressed);
  CHECK(compare_paths(base, changed, {.threshold = {"read.bytes_per_second=2%"}}).verdict == ChangeVerdict::regressed);
  CHECK(compare_paths(base, changed, {.threshold = {"0.02", "read.bytes_per_second=10%"}}).verdict ==
        ChangeVerdict::pass);
  CHECK(compare_paths(base, changed, {.threshold = {"2 %"}, .include = {"read.latency_seconds.p99"}}).verdict ==
        ChangeVerdict::pass);
}

TEST_CASE(
    "single results: a quarter may be the difference of two runs, a half is not; a flag makes unclear a finding") {
  const TempDir dir;
  write_file(dir.path("base.json"), read_envelope());
  write_file(dir.path("new.json"), read_envelope({.rate = 0.85e9}));
  CompareResult result = compare_paths(dir.path("base.json"), dir.path("new.json"));
  CHECK(result.verdict == ChangeVerdict::inconclusive);
  CHECK(row_of(result, "read.bytes_per_second").change.ratio.value() == Approx(-0.15));
  REQUIRE(result.hints.size() == 1);
  CHECK(says(result.hints.front(), "a deviation of 7 % between them is assumed"));
  CHECK(result.text.starts_with("inconclusive: one run per side shows only losses of about 35 % or more; "));
  CHECK_FALSE(result.has_findings());
  result = compare_paths(dir.path("base.json"), dir.path("new.json"), {.strict = true});
  CHECK(result.has_findings());
  write_file(dir.path("half.json"), read_envelope({.rate = 0.5e9}));
  CHECK(compare_paths(dir.path("base.json"), dir.path("half.json")).verdict == ChangeVerdict::regressed);
}

TEST_CASE("what is too noisy for a verdict says how many runs would have one") {
  const TempDir dir;
  for (int i = 0; i < 10; ++i) {
    const double noise = (i % 2 == 0 ? 0.05 : -0.05) + 0.002 * i;
    write_file(dir.path(fmt::format("base/{}.json", i)), read_envelope({.rate = 1e9 * (1 + noise)}));
    write_file(dir.path(fmt::format("new/{}.json", i)), read_envelope({.rate = 1e9 * (1 - noise)}));
  }
  const CompareResult result = compare_paths(dir.path("base"), dir.path("new"));
  CHECK(result.verdict == ChangeVerdict::inconclusive);
  CHECK(row_of(result, "read.bytes_per_second").change.runs_needed.value() > 20);
  CHECK(says(result.text, fmt::format("inconclusive: needs about {} runs per side; read.bytes_per_second ",
                                      *row_of(result, "read.bytes_per_second").change.runs_needed)));
}

TEST_CASE("of a checkpoint that --budget cut, only the rate is compared") {
  const TempDir dir;
  const auto checkpoint = [&](const std::string& name, int bytes, double seconds) {
    write_file(dir.path(name), fmt::format(R"({{"schema":"shardkit/checkpoint","schema_version":1,
"tool":{{"version":"1.0.0"}},"host":{{"cpus":16}},"options":{{"dir":"/ckpt"}},"result":{{"bytes":20,
"block_seconds":{0},"durable_seconds":{0},"bytes_per_second":1e9,"rows":[{{"mode":"sync","bytes":{1}}}]}},
"error":null}})",
                                           seconds, bytes));
  };
  checkpoint("base.json", 20, 0.012);
  checkpoint("new.json", 4, 0.003);
  const CompareResult result = compare_paths(dir.path("base.json"), dir.path("new.json"));
  REQUIRE(result.rows.size() == 1);
  CHECK(result.rows.front().metric == "checkpoint.bytes_per_second");
  CompareOptions gate;
  gate.changed = dir.path("new.json");
  gate.gate = dir.path("gate.json");
  write_file(*gate.gate, R"({"schema":"shardkit/gate","schema_version":1,
"requirements":[{"metric":"checkpoint.block_seconds","max":0.005}]})");
  Context context;
  CHECK(compare(gate, context).gate.front().verdict == GateVerdict::absent);
}

TEST_CASE("the repetitions of a result count, not the figures beside them") {
  const TempDir dir;
  std::vector<double> base;
  std::vector<double> changed;
  for (int i = 0; i < 10; ++i) {
    base.push_back(1e9 + i * 1e6);
    changed.push_back(0.6e9 + i * 1e6);
  }
  write_file(dir.path("base.json"), run_envelope(base));
  write_file(dir.path("new.json"), run_envelope(changed, "0.2.0"));
  const CompareResult result = compare_paths(dir.path("base.json"), dir.path("new.json"));
  CHECK(result.verdict == ChangeVerdict::regressed);
  CHECK(result.rows.size() == 3);
  CHECK(row_of(result, "run.predicted.samples_per_second").base == Approx(502.25));
  CHECK(result.base->repetitions == 10);
  REQUIRE(result.differences.size() == 1);  // the version is listed and hinders nothing
  CHECK(result.differences.front().key == "tool.version");
  CHECK_FALSE(result.differences.front().decisive);
}

TEST_CASE("what follows from other metrics is shown and decides nothing, unless it is named or stands alone") {
  const TempDir dir;
  const auto write = [&](const std::string& name, double decoded, double predicted) {
    std::vector<std::string> repetitions;
    for (int i = 0; i < 10; ++i) {
      repetitions.push_back(
          fmt::format(R"({{"decode":{{"samples_per_second":{}}},"predicted":{{"samples_per_second":{}}}}})",
                      decoded + i, predicted + i));
    }
    write_file(dir.path(name), fmt::format(R"({{"schema":"shardkit/run","schema_version":1,"options":{{}},"error":null,
"result":{{"repetitions":[{}]}}}})",
                                           fmt::join(repetitions, ",")));
    return dir.path(name);
  };
  const std::string base = write("base.json", 2000, 1000);
  const std::string predicted = "run.predicted.samples_per_second";
  const CompareResult worse = compare_paths(base, write("worse.json", 1000, 500));
  CHECK(worse.verdict == ChangeVerdict::regressed);
  CHECK(worse.text.find("more") == std::string::npos);  // one change, reported once
  CHECK(row_of(worse, predicted).derived);
  CHECK(row_of(worse, predicted).change.verdict == ChangeVerdict::regressed);
  CHECK(row_of(worse, predicted).change.interval->confidence == Approx(0.98));
  CHECK(row_of(worse, "decode.samples_per_second").change.interval->confidence == Approx(0.98));
  const std::string only_predicted = write("odd.json", 2000, 400);
  const CompareResult same = compare_paths(base, only_predicted);
  CHECK(same.verdict == ChangeVerdict::inconclusive);  // one run
  CHECK(says(row_of(same, predicted).text, "follows from others and does not count"));
  CHECK(compare_paths(base, only_predicted, {.include = {predicted}}).verdict == ChangeVerdict::regressed);
  CHECK(compare_paths(base, only_predicted, {.threshold = {predicted + "=10%"}}).verdict == ChangeVerdict::regressed);
}

TEST_CASE("a rate of which nothing is left regressed, though it has no ratio") {
  const TempDir dir;
  const std::string good = write_repetitions(dir, "good", {});
  const std::string dead = write_repetitions(dir, "dead", {.rate = 0});
  const CompareResult lost = compare_paths(good, dead);
  CHECK(lost.verdict == ChangeVerdict::regressed);
  CHECK_FALSE(row_of(lost, "read.bytes_per_second").change.ratio);
  CHECK(compare_paths(dead, good).verdict != ChangeVerdict::regressed);
}

TEST_CASE("a metric that only one side has is named") {
  const TempDir dir;
  const auto write = [&](const std::string& name, const std::string& more) {
    write_file(dir.path(name),
               fmt::format(R"({{"schema":"shardkit/pipeline","schema_version":1,"started_at":"{}","options":{{}},
"error":null,"result":{{"samples_per_second":1000{}}}}})",
                           name, more));
    return dir.path(name);
  };
  const std::string with = write("with.json", R"(,"batch_latency_seconds":{"p99":0.5})");
  const std::string without = write("without.json", "");
  const auto is_named = [](const CompareResult& result, const std::string& side) {
    return std::ranges::any_of(result.hints, [&](const std::string& hint) {
      return says(hint, "only " + side + " has it: pipeline.batch_latency_seconds.p99");
    });
  };
  CHECK(is_named(compare_paths(with, without), "BASE"));
  CHECK(is_named(compare_paths(without, with), "NEW"));
  CHECK_FALSE(is_named(compare_paths(with, write("again.json", R"(,"batch_latency_seconds":{"p99":0.5})")), "NEW"));
}

TEST_CASE("a pipeline of too few steps is not judged, alone and as a stage of a run") {
  const TempDir dir;
  const auto write = [&](const std::string& name, const std::string& verb, const std::string& result) {
    write_file(dir.path(name), fmt::format(R"({{"schema":"shardkit/{}","schema_version":1,"started_at":"{}",
"options":{{}},"error":null,"result":{{{}}}}})",
                                           verb, name, result));
    return dir.path(name);
  };
  const auto alone = [&](const std::string& name, int steps, double rate) {
    return write(name, "pipeline", fmt::format(R"("steps":{},"samples_per_second":{})", steps, rate));
  };
  const std::string base = alone("base.json", 5, 1000);
  CHECK(compare_paths(base, alone("short.json", 4, 10)).verdict == ChangeVerdict::inconclusive);
  CHECK(compare_paths(base, alone("long.json", 5, 10)).rows.size() == 1);
  const auto stage = [&](const std::string& name, int steps) {
    return write(name, "run",
                 fmt::format(R"("pipeline":{{"steps":{},"samples_per_second":9}},
"predicted":{{"samples_per_second":9}})",
                             steps));
  };
  const std::string run = stage("run.json", 5);
  const auto has_pipeline = [&](const std::string& path) {
    return std::ranges::any_of(compare_paths(run, path).rows,
                               [](const auto& row) { return row.metric == "pipeline.samples_per_second"; });
  };
  CHECK(has_pipeline(stage("enough.json", 5)));
  CHECK_FALSE(has_pipeline(stage("few.json", 4)));
}

TEST_CASE("a change beyond a factor of ten is said as a factor") {
  const TempDir dir;
  const std::string base = write_repetitions(dir, "base", {.rate = 1e3});
  const std::string result = compare_paths(base, write_repetitions(dir, "fast", {.rate = 1e9})).text;
  CHECK(says(result, "typically more than 1000 times, medians"));
  CHECK_FALSE(says(result, "0000"));
}

TEST_CASE("waits that were 0 and are half a second regressed, and a microsecond is no change") {
  const TempDir dir;
  const auto write = [&](const std::string& name, double wait) {
    for (int i = 0; i < 10; ++i) {
      write_file(
          dir.path(fmt::format("{}/{}.json", name, i)),
          fmt::format(
              R"({{"schema":"shardkit/pipeline","schema_version":1,"started_at":"turn {}","options":{{}},"error":null,
"result":{{"samples_per_second":1000,"batch_latency_seconds":{{"p99":{}}}}}}})",
              i, wait * (1 + 0.001 * i)));
    }
    return dir.path(name);
  };
  const std::string fed = write("fed", 0);
  const CompareResult late = compare_paths(fed, write("late", 0.5));
  CHECK(late.verdict == ChangeVerdict::regressed);
  const CompareRow& row = row_of(late, "pipeline.batch_latency_seconds.p99");
  CHECK(row.change.verdict == ChangeVerdict::regressed);
  CHECK(row.floor == 0.001);
  CHECK(says(row.text, "; less than 1 ms counts as 1 ms"));
  CHECK(compare_paths(fed, write("hardly", 1e-6)).verdict == ChangeVerdict::pass);
}

TEST_CASE("a result that is held against itself is warned of") {
  const TempDir dir;
  CompareOptions options;
  options.base = write_repetitions(dir, "runs", {});
  options.changed = *options.base + "/03.json";
  Context context;
  compare(options, context);
  CHECK(std::ranges::any_of(context.warnings(), [](const shardkit::Finding& w) { return w.code == "same_result"; }));
}

TEST_CASE("options that make no sense are refused") {
  const TempDir dir;
  const std::string base = write_repetitions(dir, "base", {});
  const auto refused = [&](CompareOptions options, const std::string& part) {
    options.changed = base;
    const auto failure = failure_of_compare(options);
    CAPTURE(failure.text);
    return failure == ErrorCode::usage && failure.says(part);
  };
  CHECK(refused({}, "give BASE and NEW"));
  CHECK(refused({.ab = true}, "--ab: give two commands"));
  CHECK(refused({.base = base, .threshold = {"fast"}}, "'fast' is not a share"));
  CHECK(refused({.base = base, .threshold = {"500%"}}, "'500%' is not a share"));
  CHECK(refused({.base = base, .threshold = {"0"}}, "is not a share"));
  CHECK(refused({.base = base, .threshold = {"read.speed=3%"}}, "unknown metric 'read.speed'"));
  CHECK(refused({.base = base, .include = {"nothing"}}, "unknown metric 'nothing'"));
  CHECK(refused({.base = base, .include = {"decode.samples_per_second"}}, "does not measure"));
  CHECK(refused({.base = base, .allow_different = {"enigne"}}, "neither result contains 'enigne'"));
  CHECK(refused({.threshold = {"5%"}, .save_baseline = "x"}, "--threshold needs BASE"));
  CHECK(refused({.base = base, .save_baseline = "x"}, "with a second command"));
  CHECK(refused({.allow_different = {"host"}, .save_baseline = "x"}, "--allow-different needs BASE"));
}

TEST_CASE("what a field means for a comparison comes from the verb that describes it") {
  const auto field = [](std::string_view name) {
    return *std::ranges::find(compared_fields(), name, &ComparedField::name);
  };
  CHECK(field("read.latency_seconds.p99").comparison.better == Better::lower);
  CHECK(field("pipeline.batch_latency_seconds.p99").comparison.floor == 0.001);
  CHECK(field("read.cache.state").comparison.role == CompareRole::circumstance);
  CHECK(field("read.mean_sample_bytes").comparison.tolerance == 0.05);
  CHECK(field("host.memory_bytes").comparison.tolerance == 0.1);
  CHECK(field("pipeline.gpus").comparison.role == CompareRole::own_condition);
  CHECK(is_free_option("budget_seconds"));
  CHECK_FALSE(is_free_option("threads"));
}

TEST_CASE("docs/explain/comparing.md lists every metric, and in which direction it is good") {
  const std::string page = io::read_text_file(CHECKOUT "/docs/explain/comparing.md");
  CHECK(compare_metrics().size() > 5);
  for (const ComparedField& metric : compare_metrics()) {
    const char* better = metric.comparison.better == Better::higher ? "higher" : "lower";
    const std::string row = fmt::format("| `{}` | {} | ", metric.name(), better);
    CAPTURE(row);
    CHECK(page.find(row) != std::string::npos);
    CHECK((page.find(row + "| derived |") != std::string::npos) == metric.comparison.derived);
  }
}

TEST_CASE("names of metrics are unique, and a value is shown in its unit") {
  std::vector<std::string> names;
  for (const ComparedField& metric : compare_metrics()) names.push_back(metric.name());
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
  CHECK(metric_text(1.234e9, Unit::bytes_per_second) == "1.23 GB/s");
  CHECK(metric_text(12'345, Unit::per_second) == "12,345/s");
  CHECK(metric_text(0.00123, Unit::seconds) == "1.23 ms");
  CHECK(metric_text(0.9, Unit::ratio) == "0.9");
}
