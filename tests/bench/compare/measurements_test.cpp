#include "bench/compare/measurements.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "compare_support.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

shardkit_test::Failure failure_with_new(const std::string& changed) {
  const TempDir dir;
  CompareOptions options;
  options.base = write_repetitions(dir, "base", {});
  options.changed = changed;
  return failure_of_compare(options);
}

}  // namespace

TEST_CASE("a missing file or folder is named") {
  const auto failure = failure_with_new("/nowhere/new.json");
  CHECK(failure == ErrorCode::not_found);
  CHECK(failure.path == "/nowhere/new.json");
}

TEST_CASE("what is no JSON, or not ours, is named with what to give instead") {
  const TempDir dir;
  for (const char* text : {"", "{", "[]", "3", "fio-3.33", R"({"fio version":"fio-3.33","jobs":[]})",
                           R"({"schema":"other/read","result":{}})", R"({"schema":7})"}) {
    CAPTURE(text);
    write_file(dir.path("x.json"), text);
    const auto failure = failure_with_new(dir.path("x.json"));
    CHECK(failure == ErrorCode::corrupt);
    CHECK(failure.path == dir.path("x.json"));
    CHECK(failure.says("--json FILE"));
  }
  write_file(dir.path("x.json"), R"({"schema":"shardkit/read"})");
  CHECK(failure_with_new(dir.path("x.json")).says("no member \"result\""));
}

TEST_CASE("the result of a run that failed is refused with its error") {
  const TempDir dir;
  write_file(dir.path("x.json"), R"({"schema":"shardkit/read","result":null,
"error":{"code":"io","text":"cannot read /data/a.tar"},"status":"failed"})");
  auto failure = failure_with_new(dir.path("x.json"));
  CHECK(failure == ErrorCode::conflict);
  CHECK(failure.says("failed run: cannot read /data/a.tar; leave it out"));
  write_file(dir.path("x.json"), R"({"schema":"shardkit/stage","tool":{"name":"shardctl"},"result":{},"error":null})");
  CHECK(failure_with_new(dir.path("x.json")).says("is a result of shardctl stage; give a result of iobench"));
  write_file(dir.path("x.json"), R"({"schema":"shardkit/read","result":{"bytes_per_second":1},"status":"failed"})");
  CHECK(failure_with_new(dir.path("x.json")) == ErrorCode::conflict);
}

TEST_CASE("a folder of several measurements is refused, naming two files and what differs") {
  const TempDir dir;
  const std::string folder = write_repetitions(dir, "new", {});
  write_file(dir.path("new/99.json"), read_envelope({.threads = 2}));
  auto failure = failure_with_new(folder);
  CHECK(failure == ErrorCode::usage);
  CHECK(failure.path == dir.path("new/99.json"));
  CHECK(failure.says("00.json"));
  CHECK(failure.says("read.threads is 8 and 2"));
  write_file(dir.path("new/99.json"), run_envelope({1}));
  CHECK(failure_with_new(folder).says("verb is read and run"));
  write_file(dir.path("new/99.json"), R"({"schema":"shardkit/read","result":null})");
  CHECK(failure_with_new(folder).path == dir.path("new/99.json"));
}

TEST_CASE("an empty folder, and a verb that measures nothing, are refused") {
  const TempDir dir;
  write_file(dir.path("empty/notes.txt"), "x");
  write_file(dir.path("empty/.hidden.json"), "x");
  CHECK(failure_with_new(dir.path("empty")) == ErrorCode::not_found);
  write_file(dir.path("v.json"), R"({"schema":"shardkit/verify","result":{"shards":3}})");
  const auto failure = failure_with_new(dir.path("v.json"));
  CHECK(failure == ErrorCode::usage);
  CHECK(failure.says("verify"));
}

TEST_CASE("a copy of a result, or a link to it, is no repetition") {
  const TempDir dir;
  write_repetitions(dir, "runs", {}, 3);
  std::filesystem::create_symlink("00.json", dir.path("runs/latest.json"));
  Context context;
  const auto failure = shardkit_test::failure_of([&] { read_measurements(dir.path("runs"), context); });
  CHECK(failure == ErrorCode::usage);
  CHECK(failure.says("00.json"));
  CHECK(failure.says("latest.json' are the same result"));
}

TEST_CASE("members of other types than expected are no values and no crash") {
  const TempDir dir;
  write_file(dir.path("x.json"), R"({"schema":"shardkit/read","tool":3,"host":[1],"options":"x",
"result":{"bytes_per_second":"fast","latency_seconds":[1],"cache":"cold","repetitions":{"a":1}}})");
  CHECK(failure_with_new(dir.path("x.json")) == ErrorCode::usage);
  write_file(dir.path("x.json"), R"({"schema":"shardkit/run","result":{"repetitions":[1,null,"x",{"read":3}]}})");
  CHECK(failure_with_new(dir.path("x.json")) == ErrorCode::usage);
}
