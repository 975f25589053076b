// What only a real process shows: signals, terminals, closed pipes.

#include "support/process.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "support/files.hpp"
#include "support/temp_dir.hpp"

using shardkit_test::Exit;
using shardkit_test::Process;

namespace {

const std::string kProgram = FAKE_PROGRAM;

Exit run_in_terminal(const std::vector<std::string>& environment) {
  return Process({kProgram, "count"}, Process::Terminal::yes, environment).finish();
}

/// How a process ends that gets `signal` while it works.
Exit stopped(Process process, int signal = SIGTERM) {
  REQUIRE(process.wait_for("working"));
  process.send(signal);
  return process.finish();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a command that heeds its stop token ends by the signal's code and says how to go on") {
  for (const auto& [signal, code, name] :
       {std::tuple{SIGTERM, 143, "SIGTERM"}, std::tuple{SIGINT, 130, "SIGINT"}, std::tuple{SIGHUP, 129, "SIGHUP"}}) {
    const Exit exit = stopped(Process({kProgram, "patient"}), signal);
    CHECK(exit.code == code);
    CHECK(contains(exit.output, std::string("stopped by ") + name));
    CHECK(contains(exit.output, "run the same command again to continue"));
  }
}

TEST_CASE(
    "a command that is stopped gives what it had, and both the exit code and the JSON say that it is incomplete") {
  const TempDir dir;
  const Exit exit = stopped(Process({kProgram, "honest", "--json", dir.path("result.json")}));
  CHECK(exit.code == 143);
  CHECK(contains(exit.output, "stopped by SIGTERM"));
  CHECK(contains(exit.output, "samples: 7\n"));
  const std::string json = read_file(dir.path("result.json"));
  CHECK(contains(json, "\"samples\": 7"));
  CHECK(contains(json, "\"interrupted\": true"));
  CHECK(contains(json, "\"status\": \"failed\""));
}

TEST_CASE("a command that ignores the stop is left behind") {
  for (const char* verb : {"stuck", "tangled"}) {
    const Exit exit = stopped(Process({kProgram, verb}));
    CHECK(exit.code == 143);
    CHECK(contains(exit.output, "stopping before the work is complete"));
    CHECK(contains(exit.output, "run the same command again to continue"));
  }
}

TEST_CASE("with --log json a stop is reported in JSON, whether the command heeds it or not") {
  for (const auto& [verb, text] : {std::pair{"patient", "stopped by SIGTERM"},
                                   std::pair{"stuck", "interrupted; stopping before the work is complete"}}) {
    const Exit exit = stopped(Process({kProgram, verb, "--log", "json"}));
    CHECK(exit.code == 143);
    CHECK(contains(exit.output, std::string(R"("level":"info","event":"stopped","signal":"SIGTERM","exit_code":143,)") +
                                    R"("text":")" + text + "; run the same command again to continue\"}\n"));
    CHECK_FALSE(contains(exit.output, "fake:"));
  }
}

TEST_CASE("a stop leaves its reason and how to go on for Kubernetes, whether the command heeds it or not") {
  for (const auto& [verb, text] : {std::pair{"patient", "stopped by SIGTERM"},
                                   std::pair{"stuck", "interrupted; stopping before the work is complete"}}) {
    const TempDir dir;
    write_file(dir.path("log"), "");
    stopped(Process({kProgram, verb}, Process::Terminal::no, {"FAKE_TERMINATION_LOG=" + dir.path("log")}));
    CHECK(read_file(dir.path("log")) ==
          std::string("fake: ") + text + "\nfake: run the same command again to continue\n");
  }
}

TEST_CASE("with --log json there is no bar on a terminal, and every line is JSON") {
  const Exit exit =
      Process({kProgram, "count", "--log", "json", "--json", "-"}, Process::Terminal::yes, {"TERM=xterm"}).finish();
  CHECK_FALSE(contains(exit.output, "count ["));
  CHECK_FALSE(contains(exit.output, "\x1b"));
  CHECK(contains(exit.output, R"("event":"warning","code":"slow","text":"that was slow"})"));
}

TEST_CASE("a second signal within a second is the same signal, also for a command that takes a moment to stop") {
  Process process({kProgram, "tidy"});
  REQUIRE(process.wait_for("working"));
  process.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  process.send(SIGINT);
  const Exit exit = process.finish();
  CHECK(exit.code == 130);
  CHECK(contains(exit.output, "stopped by SIGINT"));
  CHECK_FALSE(contains(exit.output, "before the work is complete"));
}

TEST_CASE("a later signal ends the wait") {
  Process process({kProgram, "stuck"});
  REQUIRE(process.wait_for("working"));
  process.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  process.send(SIGTERM);
  CHECK(process.finish().code == 130);
}

TEST_CASE("a warning is there while the command works, and only once") {
  Process process({kProgram, "tidy"});
  REQUIRE(process.wait_for("this comes early"));
  REQUIRE(process.wait_for("working"));
  process.send(SIGTERM);
  const Exit exit = process.finish();
  const std::size_t first = exit.output.find("this comes early");
  CHECK(exit.output.find("this comes early", first + 1) == std::string::npos);
}

TEST_CASE("on a terminal there is a bar, which is gone at the end, and color") {
  const Exit exit = run_in_terminal({"TERM=xterm", "NO_COLOR="});
  CHECK(exit.code == 0);
  CHECK(contains(exit.output, "\rcount ["));
  CHECK(contains(exit.output, "\r\x1b[K"));
  CHECK(contains(exit.output, "\x1b[33mwarning\x1b[0m: that was slow"));
}

TEST_CASE("NO_COLOR leaves the bar and takes the color") {
  const Exit exit = run_in_terminal({"TERM=xterm", "NO_COLOR=1"});
  CHECK(contains(exit.output, "\rcount ["));
  CHECK(contains(exit.output, "warning: that was slow"));
  CHECK_FALSE(contains(exit.output, "\x1b[33m"));
}

TEST_CASE("a dumb terminal gets neither bar nor color") {
  const Exit exit = run_in_terminal({"TERM=dumb"});
  CHECK_FALSE(contains(exit.output, "\x1b"));
  CHECK(contains(exit.output, "warning: that was slow"));
}

TEST_CASE("away from a terminal a short command says nothing but its report") {
  const Exit exit = Process({kProgram, "count"}).finish();
  CHECK(exit.code == 0);
  CHECK_FALSE(contains(exit.output, "\x1b"));
  CHECK_FALSE(contains(exit.output, "\r"));
  CHECK(contains(exit.output, "samples: 100\n"));
}

TEST_CASE("--quiet shows no progress on a terminal either") {
  const Exit exit = Process({kProgram, "count", "--quiet"}, Process::Terminal::yes, {"TERM=xterm"}).finish();
  CHECK_FALSE(contains(exit.output, "count ["));
}

TEST_CASE("a reader that closes the pipe early has had enough: no crash, no failure") {
  const Exit exit =
      Process({"bash", "-c", "set -o pipefail; " + kProgram + " count --quiet | true; echo code $?"}).finish();
  CHECK(contains(exit.output, "code 0\n"));
  CHECK_FALSE(contains(exit.output, "terminate"));
  CHECK_FALSE(contains(exit.output, "error"));
}

TEST_CASE("a full disk under standard output is an exit code of its own") {
  const Exit exit = Process({"bash", "-c", kProgram + " count --json - > /dev/full; echo code $?"}).finish();
  CHECK(contains(exit.output, "No space left on device"));
  CHECK(contains(exit.output, "code 5\n"));
}
