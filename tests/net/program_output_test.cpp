#include <chrono>
#include <csignal>
#include <thread>

#include <doctest/doctest.h>

#include "net/aws_profile.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::system;
using shardkit_test::failure_of;

TEST_CASE("a program's output is what it prints, not what it complains") {
  CHECK(program_output("printf 'a b'; echo secret >&2; cat", 100, Seconds(20), {}) == "a b");
}

TEST_CASE("a program that fails, prints too much or takes too long is an error that shows nothing of it") {
  const auto failing = failure_of([] { program_output("echo secret; exit 3", 100, Seconds(20), {}); });
  CHECK(failing == ErrorCode::denied);
  CHECK_FALSE(failing.says("secret"));
  CHECK(failure_of([] { program_output("yes", 100, Seconds(20), {}); }) == ErrorCode::denied);
  CHECK(failure_of([] { program_output("sleep 100 & sleep 100", 100, Seconds(0.1), {}); }).says("too long"));
  CHECK(failure_of([] { program_output("/no/such/program", 100, Seconds(20), {}); }) == ErrorCode::denied);
}

TEST_CASE("signals that this process ignores end the program as usual") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  CHECK(failure_of([] { program_output("kill -PIPE $$; echo survived", 100, Seconds(20), {}); }) == ErrorCode::denied);
  std::signal(SIGPIPE, before);
}

TEST_CASE("a stop ends it") {
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  CHECK(failure_of([&] { program_output("sleep 100", 100, Seconds(90), stop.get_token()); }) == ErrorCode::cancelled);
}
