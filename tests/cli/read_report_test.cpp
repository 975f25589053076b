#include <doctest/doctest.h>

#include "bench/read/read.hpp"
#include "bench/read/store_read.hpp"
#include "cli/report_text.hpp"
#include "iobench/verbs.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;

namespace {

RepeatedReadResult of_store() {
  RepeatedReadResult result;
  result.bytes_per_second = 500e6;
  result.store.emplace();
  result.store->knee_connections = 16;
  result.store->streaming = judge_streaming(500e6, 1e9, 1'000'000'000'000);
  return result;
}

}  // namespace

TEST_CASE("of a store the verdict is the first line, and a line for the connections follows") {
  const RepeatedReadResult result = of_store();
  const std::string report = report_text(answer_read(result), false);
  CHECK(report.starts_with(result.store->streaming->text + " (1.00 s)\n"));
  CHECK(report.find("  connection  ") != std::string::npos);
  CHECK(report_text(answer_read(result), true).starts_with("\x1b[1mstage: "));
}

TEST_CASE("without a job the first line says what the store gives, and how to have a verdict") {
  RepeatedReadResult result = of_store();
  result.store->streaming.reset();
  CHECK(report_text(answer_read(result), false)
            .starts_with("the store delivers 500 MB/s with 16 connections; use --required-rate"));
}

TEST_CASE("of local files the first line is the rate and the state of the cache that it was read from") {
  RepeatedReadResult result;
  result.bytes_per_second = 322e6;
  result.engine = "pread";
  result.threads = 2;
  result.cache.state = bench::CacheState::cold;
  result.storage.file_system = "ext4";
  result.storage.device = "vda";
  CHECK(report_text(answer_read(result), false)
            .starts_with("322 MB/s, cache cold: 2 reading threads (pread), ext4 on vda (1.00 s)\n"));
  result.samples = 2000;
  result.samples_per_second = 2870.6;
  CHECK(report_text(answer_read(result), false)
            .starts_with("322 MB/s, cache cold: 2,871 samples/s with 2 reading threads (pread), ext4"));
}

TEST_CASE("steady is yes or no, and of a run too short to tell not known, with the reason") {
  RepeatedReadResult result;
  result.read_seconds = 0.003;
  CHECK(report_text(answer_read(result), false).find("only 3 ms were measured\n") != std::string::npos);
  result.steady = true;
  CHECK(report_text(answer_read(result), false).find("were measured") == std::string::npos);
}

TEST_CASE("shares of the time of an epoch, and of what was cached, are in percent") {
  RepeatedReadResult result;
  result.cache.residency_before_ratio = 0.0066;
  result.imagefolder.emplace().operations = {{"open", 400, 1000, 0.001, 0.002, 0.125}};
  const std::string report = report_text(answer_read(result), false);
  CHECK(report.find("12.5 %\n") != std::string::npos);
  CHECK(report.find("in cache  0.66 % before, unknown after\n") != std::string::npos);
}
