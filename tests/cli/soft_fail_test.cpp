// --soft-fail: for prologs, whose failure would drain the node.

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/fake_app.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using shardkit::ErrorCode;
using namespace shardkit_test;

namespace {

template <ErrorCode code>
FakeResult fail(const FakeOptions&, shardkit::Context&) {
  throw shardkit::Error(code, "it went wrong");
}

FakeResult find(const FakeOptions&, shardkit::Context&) {
  FakeResult result;
  result.problems.push_back({"pax_header", 512});
  return result;
}

int soft_exit_code(Behavior behavior) { return run_fake(behavior, {"work", "x", "--soft-fail"}).exit_code; }

}  // namespace

TEST_CASE("every failure is exit code 0, and the error is still printed") {
  CHECK(soft_exit_code(fail<ErrorCode::network>) == 0);
  CHECK(soft_exit_code(fail<ErrorCode::not_found>) == 0);
  const Ran ran = run_fake(fail<ErrorCode::no_space>, {"work", "x", "--soft-fail"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.empty());
  CHECK(ran.err == "fake: error: it went wrong\nfake: --soft-fail: exit code 0 instead of 5\n");
}

TEST_CASE("success, findings, wrong usage and a stop stay what they are") {
  CHECK(run_fake(succeed, {"work", "x", "--soft-fail"}).err.empty());
  CHECK(soft_exit_code(find) == 3);
  CHECK(soft_exit_code(fail<ErrorCode::usage>) == 2);
  CHECK(soft_exit_code(fail<ErrorCode::cancelled>) == 130);
  CHECK(run_fake(succeed, {"work", "--soft-fail"}).exit_code == 2);
}

TEST_CASE("the envelope says failed, with the error, and the exit code of the failure") {
  const Ran ran = run_fake(fail<ErrorCode::corrupt>, {"work", "x", "--soft-fail", "--json", "-"});
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["status"] == "failed");
  CHECK(json["error"]["code"] == "corrupt");
  CHECK(json["exit_code"] == 4);
}

TEST_CASE("metrics contain the exit code of the failure, for alerts") {
  const TempDir dir;
  run_fake(fail<ErrorCode::corrupt>, {"work", "x", "--soft-fail", "--prometheus", dir.path("m.prom")});
  const std::string metrics = read_file(dir.path("m.prom"));
  CHECK(metrics.find("\nshardkit_work_success{") != std::string::npos);
  CHECK(metrics.find("} 4\n") != std::string::npos);
}

TEST_CASE("a report that cannot be written is exit code 0 as well, alone or after another error") {
  const Ran alone = run_fake(succeed, {"work", "x", "--soft-fail", "--json", "/dev/full"});
  CHECK(alone.exit_code == 0);
  CHECK(alone.err.ends_with("\nfake: --soft-fail: exit code 0 instead of 5\n"));
  CHECK(run_fake(fail<ErrorCode::corrupt>, {"work", "x", "--soft-fail", "--json", "/dev/full"}).exit_code == 0);
}

TEST_CASE("verbs without it refuse it") {
  CHECK(run_fake(succeed, {"cache", "ls", "x", "--soft-fail"}).exit_code == 2);
}
