#include "system/program_output.hpp"

#include <chrono>
#include <csignal>
#include <thread>

#include <doctest/doctest.h>

#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::system;
using shardkit_test::failure_of;

namespace {

std::string output_of(const std::string& command, ProgramLimits limits = {Seconds(20), 100}) {
  return program_output("the helper", command, limits, {});
}

}  // namespace

TEST_CASE("a program's output is what it prints, not what it complains") {
  CHECK(output_of("printf 'a b'; echo complaint >&2; cat") == "a b");
  CHECK(output_of("").empty());
}

TEST_CASE("the error of a program that fails has its name, exit code and complaint, and nothing of its output") {
  const auto failing = failure_of([] { output_of("echo secret; printf 'one\\nno token\\n' >&2; exit 3"); });
  CHECK(failing == ErrorCode::denied);
  CHECK(failing.says("the helper ended with exit code 3: one ... no token"));
  CHECK_FALSE(failing.says("secret"));
  CHECK(failure_of([] { output_of("kill -TERM $$"); }).says("was ended by signal 15"));
  CHECK(failure_of([] { output_of("/no/such/program"); }).says("exit code 127"));
}

TEST_CASE("of a long complaint the error has the first line with a text and the last") {
  const auto one = failure_of([] { output_of("printf '\n \nusage: keys NAME\n\n' >&2; exit 2"); });
  CHECK(one.says("ended with exit code 2: usage: keys NAME"));
  CHECK_FALSE(one.says("..."));
  const auto many = failure_of([] { output_of("seq 2000 >&2; exit 1", {Seconds(20), 100'000}); });
  CHECK(many.says("ended with exit code 1: 1 ... 2000"));
}

TEST_CASE("a program may print as much as the limit, in either stream") {
  CHECK(output_of("head -c 100 /dev/zero").size() == 100);
  CHECK(failure_of([] { output_of("head -c 101 /dev/zero"); }).says("too much"));
  CHECK(failure_of([] { output_of("yes"); }).says("too much"));
  CHECK(failure_of([] { output_of("yes >&2"); }).says("too much"));
}

TEST_CASE("a program has its time, also if it closes its output and stays") {
  for (const char* command : {"sleep 100 & sleep 100", "exec >&- 2>&-; sleep 100"}) {
    CAPTURE(command);
    CHECK(failure_of([&] { output_of(command, {Seconds(0.1), 100}); }).says("takes longer than 0.1 s"));
  }
}

TEST_CASE("a child that stays in the background keeps nobody waiting") {
  CHECK(output_of("printf keys; sleep 100 & exit 0") == "keys");
}

TEST_CASE("signals that this process ignores end the program as usual") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  CHECK(failure_of([] { output_of("kill -PIPE $$; echo survived"); }) == ErrorCode::denied);
  std::signal(SIGPIPE, before);
}

TEST_CASE("a stop ends it") {
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  CHECK(failure_of([&] {
          program_output("a", "sleep 100", {Seconds(90), 100}, stop.get_token());
        }) == ErrorCode::cancelled);
}
