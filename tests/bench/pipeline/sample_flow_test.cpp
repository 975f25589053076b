#include <string>

#include <doctest/doctest.h>

#include "bench/pipeline/pipeline_fakes.hpp"
#include "bench/pipeline/sample_source.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

/// What comes out when one reader puts "0", "1", ... and ends.
std::vector<std::string> passed(const FlowLimits& limits, int samples) {
  SampleFlow flow(limits, 1);
  for (int i = 0; i < samples; ++i) {
    if (!flow.put(buffer_of(std::to_string(i)), {})) break;
  }
  flow.reader_ended();
  std::vector<std::string> out;
  while (auto image = flow.take({})) out.push_back(text_of(*image));
  return out;
}

std::vector<std::string> numbers(int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(std::to_string(i));
  return texts;
}

}  // namespace

TEST_CASE("samples keep their order") { CHECK(passed({}, 20) == numbers(20)); }

TEST_CASE("buffers go round, but large ones and more than 64 MiB of them do not stay") {
  SampleBuffers buffers;
  SampleBuffer first = buffers.take(1000);
  const std::byte* memory = first.bytes().data();
  buffers.give_back(std::move(first));
  CHECK(buffers.idle_bytes() == 1000);
  SampleBuffer again = buffers.take(10);
  CHECK(again.bytes().data() == memory);
  CHECK(again.size() == 10);
  CHECK(again.capacity() == 1000);
  buffers.give_back(buffers.take(2U << 20U));
  CHECK(buffers.idle_bytes() == 0);
  std::vector<SampleBuffer> many;
  for (int i = 0; i < 100; ++i) many.push_back(buffers.take(1U << 20U));
  for (SampleBuffer& buffer : many) buffers.give_back(std::move(buffer));
  CHECK(buffers.idle_bytes() == SampleBuffers::kMostIdle);
}

TEST_CASE("buffers that hold nothing do not stay: those with memory go round") {
  SampleBuffers buffers;
  buffers.give_back(buffers.take(1000));
  buffers.give_back({});
  CHECK(buffers.idle() == 1);
  CHECK(buffers.take(10).capacity() == 1000);
}

TEST_CASE("no more samples than asked for, and none after the time") {
  CHECK(passed({.samples = 7}, 100) == numbers(7));
  CHECK(passed({.deadline = std::chrono::steady_clock::now()}, 100).empty());
}

TEST_CASE("the flow ends when the last reader does") {
  SampleFlow flow({}, 2);
  flow.reader_ended();
  CHECK(flow.put(buffer_of("late"), {}));
  flow.reader_ended();
  CHECK(flow.take({}));
  CHECK_FALSE(flow.take({}));
  CHECK(flow.samples() == 1);
  CHECK(flow.bytes() == 4);
}

TEST_CASE("a stop ends both sides' waits") {
  std::stop_source stop;
  stop.request_stop();
  SampleFlow flow({.queue_bytes = 1}, 1);
  CHECK_FALSE(flow.put(buffer_of("x"), stop.get_token()));
  CHECK_FALSE(flow.take(stop.get_token()));
}
