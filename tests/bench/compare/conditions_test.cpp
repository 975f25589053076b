#include <doctest/doctest.h>

#include "bench/compare/measurements.hpp"
#include "compare_support.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::stats;
using namespace shardkit::test;

namespace {

/// The verdict on two folders that differ in what `change` does, and the first difference.
struct Seen {
  ChangeVerdict verdict = ChangeVerdict::pass;
  std::string key;
  bool decisive = false;
  std::string text;
};

Seen compare_with(const ReadFacts& changed, CompareOptions options = {}) {
  const TempDir dir;
  const CompareResult result =
      compare_paths(write_repetitions(dir, "base", {}), write_repetitions(dir, "new", changed), std::move(options));
  Seen seen{*result.verdict, {}, false, result.text};
  if (!result.differences.empty()) {
    seen.key = result.differences.front().key;
    seen.decisive = result.differences.front().decisive;
  }
  return seen;
}

}  // namespace

TEST_CASE("another state of the cache, number of threads, data or machine makes results incomparable") {
  struct Row {
    ReadFacts facts;
    std::string key;
  };
  const std::vector<Row> rows{{{.cache = "warm"}, "read.cache.state"},
                              {{.threads = 4}, "read.threads"},
                              {{.files = 13, .path = "/data/other"}, "read.files"},
                              {{.mean_sample = 150'000, .path = "/data/other"}, "read.mean_sample_bytes"},
                              {{.cpus = 32}, "host.cpus"},
                              {{.retries = 3}, "options.retries"}};
  for (const Row& row : rows) {
    CAPTURE(row.key);
    const Seen seen = compare_with(row.facts);
    CHECK(seen.verdict == ChangeVerdict::incomparable);
    CHECK(seen.key == row.key);
    CHECK(seen.decisive);
    CHECK(seen.text.starts_with("incomparable: " + row.key + " is "));
    CHECK(seen.text.find("--allow-different " + row.key) != std::string::npos);
  }
}

TEST_CASE("another version, host name or path is listed and hinders nothing") {
  for (const ReadFacts& facts :
       {ReadFacts{.version = "0.2.0"}, ReadFacts{.host = "node2"}, ReadFacts{.path = "/mnt/other"}}) {
    const Seen seen = compare_with(facts);
    CHECK(seen.verdict == ChangeVerdict::pass);
    CHECK_FALSE(seen.key.empty());
    CHECK_FALSE(seen.decisive);
  }
}

TEST_CASE("sizes of samples may differ a little, because each run reads other files") {
  const Seen seen = compare_with({.mean_sample = 111'000});
  CHECK(seen.verdict == ChangeVerdict::pass);
  CHECK(seen.key.empty());
}

TEST_CASE("what the user allows to differ is compared, by whole key, first part or last part") {
  for (const char* allowed : {"host.cpus", "host", "cpus"}) {
    CAPTURE(allowed);
    CHECK(compare_with({.cpus = 32}, {.allow_different = {allowed}}).verdict == ChangeVerdict::pass);
  }
  CHECK(compare_with({.cache = "warm", .cpus = 32}, {.allow_different = {"host"}}).verdict ==
        ChangeVerdict::incomparable);
  CHECK(compare_with({.rate = 0.8e9, .cache = "warm"}, {.allow_different = {"cache.state"}}).verdict ==
        ChangeVerdict::regressed);
}

TEST_CASE("rows of incomparable results show their medians and judge nothing") {
  const TempDir dir;
  const CompareResult result = compare_paths(write_repetitions(dir, "base", {}),
                                             write_repetitions(dir, "new", {.rate = 0.5e9, .cache = "warm"}));
  CHECK(result.has_findings());
  REQUIRE_FALSE(result.rows.empty());
  CHECK(result.rows.front().change.verdict == ChangeVerdict::incomparable);
  CHECK(result.rows.front().change.ratio);
  CHECK_FALSE(result.rows.front().change.p_value);
  CHECK_FALSE(result.rows.front().change.interval);
}

TEST_CASE("results of two verbs are incomparable, unless the user says so: then what is named alike is compared") {
  const TempDir dir;
  const auto write = [&](const std::string& verb, double rate) {
    for (int i = 0; i < 10; ++i) {
      write_file(dir.path(fmt::format("{}/{}.json", verb, i)),
                 fmt::format(R"({{"schema":"shardkit/{}","schema_version":1,"options":{{}},
"result":{{"samples_per_second":{}}},"error":null}})",
                             verb, rate + i));
    }
    return dir.path(verb);
  };
  const std::string node = write("pipeline", 1180);
  const std::string loader = write("loader-probe", 640);
  CHECK(compare_paths(node, loader).verdict == ChangeVerdict::incomparable);
  const CompareResult result = compare_paths(node, loader, {.allow_different = {"verb"}});
  CHECK(result.verdict == ChangeVerdict::regressed);
  REQUIRE(result.rows.size() == 1);
  CHECK(result.rows.front().metric == "loader-probe.samples_per_second");
}

TEST_CASE(
    "a stage measured by one verb is compared only with the same stage of another, never with what is named alike") {
  const TempDir dir;
  const auto envelope = [](const char* verb, const char* result) {
    return fmt::format(R"({{"schema":"shardkit/{}","schema_version":1,"options":{{}},"result":{},"error":null}})", verb,
                       result);
  };
  write_file(dir.path("read.json"), envelope("read", R"({"bytes_per_second":4e9,"samples_per_second":55569})"));
  write_file(dir.path("decode.json"), envelope("decode", R"({"samples_per_second":1691})"));
  write_file(dir.path("loader.json"), envelope("loader-probe", R"({"samples_per_second":640})"));
  write_file(dir.path("run.json"), envelope("run", R"({"read":{"bytes_per_second":4e9},
"decode":{"samples_per_second":1691},"pipeline":{"samples_per_second":1500},"predicted":{"samples_per_second":1480}})"));
  const auto metrics = [&](const char* base, const char* changed) {
    std::vector<std::string> names;
    for (const CompareRow& row : compare_paths(dir.path(base), dir.path(changed), {.allow_different = {"verb"}}).rows) {
      names.push_back(row.metric);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(metrics("read.json", "run.json") == Names{"read.bytes_per_second"});
  CHECK(metrics("run.json", "decode.json") == Names{"decode.samples_per_second"});
  CHECK(metrics("run.json", "loader.json") == Names{"loader-probe.samples_per_second"});
  CHECK(metrics("loader.json", "run.json") == Names{"run.predicted.samples_per_second"});
  for (const char* base : {"decode.json", "loader.json"}) {
    const auto failure = failure_of_compare({.base = dir.path(base), .changed = dir.path("read.json")});
    CHECK(failure.code == ErrorCode::usage);
    CHECK(failure.says("have no metric in common"));
  }
}

TEST_CASE("a loader is held against what a run says that the node feeds") {
  const TempDir dir;
  write_file(dir.path("node.json"), run_envelope(std::vector<double>(10, 2e9)));
  write_file(dir.path("loader.json"), R"({"schema":"shardkit/loader-probe","schema_version":1,"options":{},"error":null,
"result":{"samples_per_second":640,"cache":{"requested":"any"}}})");
  const CompareResult result =
      compare_paths(dir.path("node.json"), dir.path("loader.json"), {.allow_different = {"verb"}});
  REQUIRE(result.rows.size() == 1);
  CHECK(result.rows.front().metric == "loader-probe.samples_per_second");
  CHECK(result.rows.front().base == doctest::Approx(1000));
  CHECK(result.rows.front().changed == doctest::Approx(640));
}

TEST_CASE("what only one side tells is another version's and no difference") {
  CHECK(differences({{"read.depth", "8"}}, {}, {}).empty());
  CHECK(differences({}, {{"read.depth", "8"}}, {}).empty());
}

namespace {

std::string transfer_envelope(const std::string& verb, const std::string& gpu) {
  const std::string transfer = fmt::format(R"({{"gpu":"{}","pinned_h2d_bytes_per_second":54e9}})", gpu);
  return fmt::format(R"({{"schema":"shardkit/{}","result":{},"error":null}})", verb,
                     verb == "run" ? fmt::format(R"({{"transfer":{}}})", transfer) : transfer);
}

ChangeVerdict verdict_on_transfers(const std::string& verb, const std::string& base, const std::string& changed) {
  const TempDir dir;
  write_file(dir.path("base.json"), transfer_envelope(verb, base));
  write_file(dir.path("new.json"), transfer_envelope(verb, changed));
  return *compare_paths(dir.path("base.json"), dir.path("new.json")).verdict;
}

}  // namespace

TEST_CASE("copies to another GPU are incomparable; a run that saw no GPU is only without that metric") {
  for (const char* verb : {"transfer", "run"}) {
    CHECK(verdict_on_transfers(verb, "NVIDIA H100", "NVIDIA A100") == ChangeVerdict::incomparable);
    CHECK(verdict_on_transfers(verb, "NVIDIA H100", "NVIDIA H100") == ChangeVerdict::inconclusive);
    CHECK(verdict_on_transfers(verb, "NVIDIA H100", "") == ChangeVerdict::inconclusive);
  }
}

namespace {

/// What is compared against a pipeline whose batches stay in host memory, with a difference in its result.
ChangeVerdict verdict_on_pipelines(const std::string& changed) {
  const TempDir dir;
  const auto write = [&](const char* name, const std::string& facts) {
    write_file(dir.path(name), fmt::format(R"({{"schema":"shardkit/pipeline","result":{{{},"samples_per_second":900}},)"
                                           R"("options":{{"sink":"auto"}},"error":null}})",
                                           facts));
    return dir.path(name);
  };
  const std::string base = write("base.json", R"("sink":"host","normalize":"cpu","step_seconds":0.1,"gpus":1)");
  return *compare_paths(base, write("new.json", changed)).verdict;
}

}  // namespace

TEST_CASE(
    "a pipeline to a GPU, of another step or for more GPUs is no measure of one without, though the options are the "
    "same") {
  CHECK(verdict_on_pipelines(R"("sink":"host","normalize":"cpu","step_seconds":0.1)") == ChangeVerdict::inconclusive);
  CHECK(verdict_on_pipelines(R"("sink":"gpu","normalize":"cpu","step_seconds":0.1)") == ChangeVerdict::incomparable);
  CHECK(verdict_on_pipelines(R"("sink":"host","normalize":"gpu","step_seconds":0.1)") == ChangeVerdict::incomparable);
  CHECK(verdict_on_pipelines(R"("sink":"host","normalize":"cpu","step_seconds":0.2)") == ChangeVerdict::incomparable);
  CHECK(verdict_on_pipelines(R"("sink":"host","normalize":"cpu","step_seconds":0.1,"gpus":8)") ==
        ChangeVerdict::incomparable);
}

TEST_CASE("the same command twice is never incomparable: how far the budget went and what it found are no conditions") {
  CHECK(compare_with({.files = 13, .mean_sample = 150'000}).verdict == ChangeVerdict::pass);
  const Seen seen = compare_with({.rate = 0.5e9, .cache = "warm", .requested = "cold"});
  CHECK(seen.verdict == ChangeVerdict::inconclusive);
  CHECK(seen.text.starts_with("inconclusive: read.cache.state was cold in BASE and warm in NEW"));
}

namespace {

constexpr const char* kShared = "others used 1.2 of 2 cores";

}  // namespace

TEST_CASE("a disturbed result has no verdict but the reason, neither worse nor better, and misses no gate") {
  const TempDir dir;
  write_file(dir.path("gate.json"), R"({"schema":"shardkit/gate","schema_version":1,
"requirements":[{"metric":"read.bytes_per_second","min":"0.9GB/s"}]})");
  write_file(dir.path("base.json"), read_envelope());
  for (const double rate : {0.1e9, 9e9}) {
    write_file(dir.path("new.json"), read_envelope({.rate = rate, .neighbors = kShared}));
    for (const bool swapped : {false, true}) {
      const CompareResult result =
          compare_paths(dir.path(swapped ? "new.json" : "base.json"), dir.path(swapped ? "base.json" : "new.json"),
                        {.gate = dir.path("gate.json")});
      CHECK(result.verdict == ChangeVerdict::inconclusive);
      CHECK(result.text.find("others used 1.2 of 2 cores") != std::string::npos);
      CHECK_FALSE(result.has_findings());
    }
  }
  CHECK(compare_paths(dir.path("new.json"), dir.path("base.json"), {.strict = true}).has_findings());
}

TEST_CASE("a run that others disturbed says so itself, also if that made its own verdict undecided") {
  const TempDir dir;
  std::string text = read_envelope({.rate = 1e8});
  const auto put = [&](std::string_view before, std::string_view after) {
    text.replace(text.find(before), before.size(), after);
  };
  put(R"("text":"")", R"("text":"others used 1.3 of 2 cores")");
  write_file(dir.path("base.json"), read_envelope());
  write_file(dir.path("new.json"), text);
  put(R"("error":null,"status":"ok")", R"("error":{"code":"in_use","text":"disturbed"},"status":"failed")");
  write_file(dir.path("undecided.json"), text);
  for (const char* changed : {"new.json", "undecided.json"}) {
    const CompareResult result = compare_paths(dir.path("base.json"), dir.path(changed));
    CHECK(result.verdict == ChangeVerdict::inconclusive);
    CHECK(result.text.find("others used 1.3 of 2 cores") != std::string::npos);
  }
}

TEST_CASE("a few disturbed runs of many are left out, and a first run that filled the cache") {
  const TempDir dir;
  const std::string base = write_repetitions(dir, "base", {.cache = "warm", .requested = "any"});
  const std::string changed = write_repetitions(dir, "new", {.cache = "warm", .requested = "any"});
  write_file(dir.path("new/00.json"), read_envelope({.rate = 1e8, .cache = "cold", .requested = "any"}));
  write_file(dir.path("new/01.json"),
             read_envelope({.rate = 1e8, .cache = "warm", .requested = "any", .neighbors = kShared}));
  const CompareResult result = compare_paths(base, changed);
  CHECK(result.verdict == ChangeVerdict::pass);
  CHECK(result.changed.runs == 10);
  CHECK(result.changed.disturbed == 2);
  REQUIRE(result.hints.size() == 1);
  CHECK(result.hints.front().starts_with("2 of 10 of NEW are left out: read.cache.state was cold in one run"));
}

TEST_CASE("runs are judged while at least half of each side are undisturbed, and else none is") {
  for (const bool of_base : {false, true}) {
    for (const int disturbed : {1, 5, 6, 10}) {
      CAPTURE(of_base);
      CAPTURE(disturbed);
      const TempDir dir;
      const std::string calm = write_repetitions(dir, "calm", {});
      const std::string mixed = write_repetitions(dir, "mixed", {.rate = 0.5e9});
      for (int i = 0; i < disturbed; ++i)
        write_file(fmt::format("{}/{:02}.json", mixed, i), read_envelope({.rate = 1e8 + i, .neighbors = kShared}));
      const CompareResult result = of_base ? compare_paths(mixed, calm) : compare_paths(calm, mixed);
      const ChangeVerdict half_the_rate = of_base ? ChangeVerdict::improved : ChangeVerdict::regressed;
      CHECK(result.verdict == (disturbed <= 5 ? half_the_rate : ChangeVerdict::inconclusive));
      const std::string said = result.text + (result.hints.empty() ? "" : result.hints.front());
      CHECK(said.find(fmt::format("{} of 10", disturbed)) != std::string::npos);
    }
  }
}

TEST_CASE("a changed CPU limit is a condition, also if one side has none") {
  CHECK(differences({{"host.cpu_limit", "1.5"}}, {{"host.cpu_limit", "1.9"}}, {}).front().decisive);
  CHECK(differences({{"host.cpu_limit", ""}}, {{"host.cpu_limit", "1.9"}}, {}).front().decisive);
}
