#include <map>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "bench/pipeline/trace.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::io;
using shardkit_test::failure_of;

namespace {

TraceTrack::Time at(int microseconds) { return TraceTrack::Time(std::chrono::microseconds(microseconds)); }

nlohmann::json written(const TraceLog& log) {
  const TempDir dir;
  log.write(*posix_file_system(), dir.path("t.json"), "a test");
  return nlohmann::json::parse(read_file(dir.path("t.json")));
}

}  // namespace

TEST_CASE("a trace names its tracks and holds complete events in the order of their times") {
  TraceLog log(2, at(1000));
  TraceTrack& read = log.track("read 0");
  TraceTrack& step = log.track("step");
  read.add(Activity::read, at(1500), at(1700));
  step.add(Activity::compute, at(1100), at(1900));
  read.add(Activity::blocked, at(1700), at(1800));
  const nlohmann::json trace = written(log);
  std::map<int, std::string> names;
  double last = 0;
  int complete = 0;
  for (const auto& event : trace["traceEvents"]) {
    CHECK(event["pid"] == 1);
    if (event["ph"] == "M") {
      if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
      continue;
    }
    REQUIRE(event["ph"] == "X");
    CHECK(event["ts"] >= last);
    CHECK(event["dur"] >= 0);
    CHECK(names.contains(event["tid"]));
    last = event["ts"];
    ++complete;
  }
  CHECK(complete == 3);
  CHECK(names == std::map<int, std::string>{{1, "read 0"}, {2, "step"}});
  const auto& first = trace["traceEvents"][3];
  CHECK(first["name"] == "compute");
  CHECK(first["ts"] == 100.0);
  CHECK(first["dur"] == 800.0);
}

TEST_CASE("a track has one place whoever asks for it") {
  TraceLog log(4, at(0));
  TraceTrack& first = log.track("worker 1");
  log.track("worker 2");
  CHECK(&log.track("worker 1") == &first);
}

TEST_CASE("a track keeps the last events and counts those that made room") {
  TraceTrack track("x", 3);
  for (int i = 0; i < 5; ++i) track.add(Activity::decode, at(i * 10), at(i * 10 + 5));
  CHECK(track.size() == 3);
  CHECK(track.dropped() == 2);
  for (int i = 0; i < 3; ++i) CHECK((track.event(static_cast<std::size_t>(i)).begin == at((i + 2) * 10)));
}

TEST_CASE("waits of less than a microsecond are no events") {
  TraceTrack track("x", 3);
  track.add(Activity::starved, at(5), at(5));
  track.add(Activity::blocked, at(5), at(5));
  CHECK(track.size() == 0);
  track.add(Activity::decode, at(5), at(5));
  track.add(Activity::starved, at(5), at(6));
  CHECK(track.size() == 2);
}

TEST_CASE("however many tracks, memory is bounded") {
  TraceLog log(1'000'000, at(0));
  TraceTrack& track = log.track("x");
  for (int i = 0; i < 1000; ++i) track.add(Activity::decode, at(i), at(i + 1));
  CHECK(track.size() == 256);
  CHECK(log.events() == 256);
  CHECK(log.dropped() == 744);
}

TEST_CASE("a trace without events is one too, and a folder that is not there an error") {
  const TraceLog log(1, at(0));
  CHECK(written(log)["traceEvents"].size() == 1);
  CHECK(failure_of([&] { log.write(*posix_file_system(), "/nowhere/t.json", "x"); }) == ErrorCode::not_found);
}
