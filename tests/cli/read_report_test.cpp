#include "cli/read_report.hpp"

#include <doctest/doctest.h>

using namespace shardkit;

namespace {

ReadResult of_store() {
  ReadResult result;
  result.bytes_per_second = 500e6;
  result.store.emplace();
  result.store->knee_connections = 16;
  result.store->streaming = judge_streaming(500e6, 1e9, 1'000'000'000'000);
  return result;
}

}  // namespace

TEST_CASE("of a store the verdict is the first line, and all fields follow") {
  const ReadResult result = of_store();
  const std::string report = render_read(result, false);
  CHECK(report.starts_with(result.store->streaming->text + "\n\n"));
  CHECK(report.find("bytes per second:") != std::string::npos);
  CHECK(render_read(result, true).starts_with("\x1b[1mstage: "));
}

TEST_CASE("without a job the first line says what the store gives, and how to have a verdict") {
  ReadResult result = of_store();
  result.store->streaming.reset();
  CHECK(render_read(result, false).starts_with("the store gives 500 MB/s with 16 connections; --preset"));
}

TEST_CASE("local files have no verdict: fields alone") { CHECK(render_read({}, false).starts_with("mode:")); }
