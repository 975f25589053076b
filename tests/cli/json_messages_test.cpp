#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/fake_app.hpp"
#include "cli/messages.hpp"
#include "core/error.hpp"

using namespace shardkit_test;
using Json = nlohmann::json;

namespace {

/// Each line of `text`, which must be one object with a time.
std::vector<Json> lines(const std::string& text) {
  std::vector<Json> objects;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    objects.push_back(Json::parse(line));
    CHECK(objects.back()["time"].get<std::string>().size() == std::string("2026-01-31T12:00:00Z").size());
    objects.back().erase("time");
  }
  return objects;
}

std::vector<Json> logged(Behavior behavior, std::vector<std::string> args, int exit_code) {
  args.insert(args.begin(), {"work", "--log", "json"});
  const Ran ran = run_fake(behavior, args);
  CHECK(ran.exit_code == exit_code);
  return lines(ran.err);
}

FakeResult warn(const FakeOptions& options, shardkit::Context& context) {
  for (std::uint64_t i = 0; i < options.samples; ++i) context.warn("odd", "odd thing \n\xff " + std::to_string(i));
  return {};
}

FakeResult fail(const FakeOptions&, shardkit::Context&) {
  throw shardkit::Error(shardkit::ErrorCode::corrupt, "bad \xff\n\"", "/x/\xfe.tar", 512);
}

FakeResult fail_plainly(const FakeOptions&, shardkit::Context&) {
  throw shardkit::Error(shardkit::ErrorCode::network, "no connection");
}

FakeResult stop(const FakeOptions&, shardkit::Context&) {
  throw shardkit::Error(shardkit::ErrorCode::cancelled, "stopped");
}

}  // namespace

TEST_CASE("a command that is done says so, and how long it took") {
  const std::vector<Json> log = logged(succeed, {"x"}, 0);
  REQUIRE(log.size() == 1);
  CHECK(log[0]["level"] == "info");
  CHECK(log[0]["event"] == "done");
  CHECK(log[0]["status"] == "ok");
  CHECK(log[0]["exit_code"] == 0);
  CHECK(log[0]["elapsed_seconds"].is_number());
}

TEST_CASE("the last event has the operands and the result without its lists and groups") {
  const Json done = logged(succeed, {"x"}, 0).back();
  CHECK(done["operands"]["src"] == "x");
  CHECK(done["result"]["samples"].is_number());
  CHECK_FALSE(done["result"].contains("problems"));
  CHECK_FALSE(done["result"].contains("latency"));
  CHECK_FALSE(logged(fail, {"x"}, 4).back().contains("result"));
}

TEST_CASE("a warning is an object with its code, whatever bytes its text has") {
  const std::vector<Json> log = logged(warn, {"x", "--samples", "1"}, 0);
  REQUIRE(log.size() == 2);
  CHECK(log[0] ==
        Json{{"level", "warning"}, {"event", "warning"}, {"code", "odd"}, {"text", "odd thing \n\xef\xbf\xbd 0"}});
}

TEST_CASE("of many warnings the last object says how many more there are") {
  const std::vector<Json> log = logged(warn, {"x", "--samples", "1021"}, 0);
  REQUIRE(log.size() == 22);
  CHECK(log[20]["code"] == "more_warnings");
  CHECK(log[20]["text"] == "1,001 more warnings; --json lists them");
}

TEST_CASE("an error has code, text, path, offset and exit code, whatever bytes they have") {
  const std::vector<Json> log = logged(fail, {"x"}, 4);
  REQUIRE(log.size() == 2);
  CHECK(log[0] == Json{{"level", "error"},
                       {"event", "error"},
                       {"code", "corrupt"},
                       {"text", "bad \xef\xbf\xbd\n\""},
                       {"path", "/x/\xef\xbf\xbd.tar"},
                       {"offset", 512},
                       {"exit_code", 4}});
  CHECK(log[1]["event"] == "done");
  CHECK(log[1]["status"] == "failed");
  CHECK(log[1]["exit_code"] == 4);
}

TEST_CASE("path and offset are null where there are none") {
  const Json error = logged(fail_plainly, {"x"}, 1)[0];
  CHECK(error["path"].is_null());
  CHECK(error["offset"].is_null());
}

TEST_CASE("a stop is no error, and says how to go on where that is possible") {
  const std::vector<Json> log = logged(stop, {"x"}, 130);
  REQUIRE(log.size() == 2);
  CHECK(log[0] == Json{{"level", "info"},
                       {"event", "stopped"},
                       {"signal", "SIGINT"},
                       {"exit_code", 130},
                       {"text", "stopped by SIGINT; run the same command again to continue"}});
  const Ran ran = run_fake(stop, {"cache", "ls", "x", "--log", "json"});
  CHECK(lines(ran.err)[0]["text"] == "stopped by SIGINT");
}

TEST_CASE("--soft-fail has an event of its own, and the others contain the exit code of the failure") {
  const std::vector<Json> log = logged(fail, {"x", "--soft-fail"}, 0);
  REQUIRE(log.size() == 3);
  CHECK(log[0]["event"] == "error");
  CHECK(log[0]["exit_code"] == 4);
  CHECK(log[1] == Json{{"level", "info"}, {"event", "soft_fail"}, {"text", "--soft-fail: exit code 0 instead of 4"}});
  CHECK(log[2]["status"] == "failed");
  CHECK(log[2]["exit_code"] == 4);
}

TEST_CASE("a wrong command line is reported in JSON too, wherever --log stands") {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"work", "x", "--samples", "many", "--log=json"},
                                               {"work", "--log", "json"},
                                               {"work", "x", "--log", "json", "--sampels", "7"}}) {
    const Ran ran = run_fake(succeed, args);
    CHECK(ran.exit_code == 2);
    const std::vector<Json> log = lines(ran.err);
    REQUIRE(log.size() == 2);
    CHECK(log[0]["code"] == "usage");
    CHECK(log[0]["exit_code"] == 2);
  }
}

TEST_CASE("a form that there is not is refused in text") {
  const Ran ran = run_fake(succeed, {"work", "x", "--log", "xml"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.err.starts_with("fake: error: --log must be text or json, not 'xml'\n"));
}

TEST_CASE("a report that cannot be written is an error in JSON before the end is reported") {
  const std::vector<Json> log = logged(succeed, {"x", "--json", "/dev/full"}, 5);
  REQUIRE(log.size() == 2);
  CHECK(log[0]["code"] == "no_space");
  CHECK(log[0]["exit_code"] == 5);
  CHECK(log[1]["exit_code"] == 5);
}
