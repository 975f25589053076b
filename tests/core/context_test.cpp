#include "core/context.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace shardkit;

TEST_CASE("a context throws once its stop was asked for") {
  std::stop_source stop;
  const Context context(stop.get_token());
  CHECK_NOTHROW(context.throw_if_stopped());
  stop.request_stop();
  try {
    context.throw_if_stopped();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
}

TEST_CASE("a context without a stop token never stops") { CHECK_NOTHROW(Context().throw_if_stopped()); }

namespace {

struct KeptLog final : Log {
  void warning(const Finding& warning) override { warnings.push_back(warning.code); }
  void repeated(const RepeatedRequest& request) override { more.push_back(request.more); }
  std::vector<std::string> warnings;
  std::vector<std::uint64_t> more;
};

}  // namespace

TEST_CASE("a log gets warnings at once, and of many repeated requests one, with the number of the others at the end") {
  KeptLog log;
  Context context;
  context.lend_log(log);
  context.warn("first", "one");
  context.warn("first", "one");
  CHECK(log.warnings == std::vector<std::string>{"first"});
  for (int i = 0; i < 10; ++i) context.repeated({"address", "reason", 1, 10, 0, false, 0});
  const bool is_fast = log.more.size() == 1;  // within a second
  CHECK(log.more.front() == 0);
  context.flush_log();
  context.flush_log();
  std::uint64_t all = log.more.size();
  for (const std::uint64_t more : log.more) all += more;
  CHECK(all == 10);
  if (is_fast) CHECK(log.more == std::vector<std::uint64_t>{0, 8});
}

TEST_CASE("warnings keep their order, and those of several threads are all there") {
  Context context;
  context.warn("first", "one");
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) context.warn("more", std::to_string(t * 100 + i));
      });
    }
  }
  const std::vector<Finding> warnings = context.warnings();
  REQUIRE(warnings.size() == 401);
  CHECK(warnings.front().code == "first");
  CHECK(warnings.front().text == "one");
}

TEST_CASE("what was said word by word is not said again; another code or text is") {
  Context context;
  for (int turn = 0; turn < 3; ++turn) {
    context.warn("slow", "the disk is slow");
    context.warn("slow", "the network is slow");
    context.warn("late", "the disk is slow");
  }
  const std::vector<Finding> warnings = context.warnings();
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[1].text == "the network is slow");
  CHECK(warnings[2].code == "late");
}

TEST_CASE("a phase starts its counters anew") {
  Context context;
  Progress& progress = context.progress();
  progress.items = 5;
  progress.bytes = 50;
  progress.start("read", 10, 100);
  CHECK(std::string(progress.phase.load()) == "read");
  CHECK(progress.items == 0);
  CHECK(progress.bytes == 0);
  CHECK(progress.items_total == 10);
  CHECK(progress.bytes_total == 100);
  progress.start("sync");
  CHECK(progress.items_total == 0);
}
