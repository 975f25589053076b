#include "net/retry.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/errors.hpp"
#include "support/fake_clock.hpp"
#include "system/clock.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::system;
using shardkit_test::failure_of;
using shardkit_test::FakeClock;

namespace {

const AnswerVerdict kRetry{RetryDecision::retry, ErrorCode::network, false};
const Error kError(ErrorCode::network, "no luck", "s3://bucket/key");

RetryOptions options_with(FakeClock& clock, double random) {
  RetryOptions options;
  options.clock = &clock;
  options.random = [random] { return random; };
  return options;
}

}  // namespace

TEST_CASE("what passes is tried again, and the store's wish for fewer requests is seen") {
  for (const int status : {408, 500, 502, 504, 520, 599}) {
    CAPTURE(status);
    CHECK(judge(status, "").remedy == RetryDecision::retry);
    CHECK_FALSE(judge(status, "").throttled);
  }
  for (const int status : {429, 503}) CHECK(judge(status, "").throttled);
  for (const char* code : {"RequestTimeout", "InternalError"}) CHECK(judge(400, code).remedy == RetryDecision::retry);
  for (const char* code : {"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded"}) {
    CAPTURE(code);
    CHECK(judge(400, code).remedy == RetryDecision::retry);
    CHECK(judge(400, code).throttled);
  }
}

TEST_CASE("an error counts although its status is 200") {
  CHECK(judge(200, "InternalError").remedy == RetryDecision::retry);
  CHECK(judge(200, "Something").remedy == RetryDecision::fatal);
  CHECK(judge(200, "").remedy == RetryDecision::done);
  CHECK(judge(206, "").remedy == RetryDecision::done);
}

TEST_CASE("credentials that expired and a clock that is wrong can be mended") {
  for (const char* code : {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"}) {
    CAPTURE(code);
    CHECK(judge(400, code).remedy == RetryDecision::refresh_credentials);
    CHECK(judge(400, code).code == ErrorCode::denied);
  }
  CHECK(judge(403, "RequestTimeTooSkewed").remedy == RetryDecision::correct_clock);
}

TEST_CASE("what stays wrong is fatal, with the code that says why") {
  const auto fatal = [](int status, const char* code, ErrorCode expected) {
    CAPTURE(status);
    CAPTURE(code);
    CHECK(judge(status, code).remedy == RetryDecision::fatal);
    CHECK(judge(status, code).code == expected);
  };
  fatal(403, "AccessDenied", ErrorCode::denied);
  fatal(403, "SignatureDoesNotMatch", ErrorCode::denied);
  fatal(401, "", ErrorCode::denied);
  fatal(404, "NoSuchKey", ErrorCode::not_found);
  fatal(404, "NoSuchBucket", ErrorCode::not_found);
  fatal(404, "", ErrorCode::not_found);
  fatal(412, "PreconditionFailed", ErrorCode::conflict);
  fatal(416, "InvalidRange", ErrorCode::corrupt);
  fatal(400, "InvalidArgument", ErrorCode::unsupported);
  fatal(301, "PermanentRedirect", ErrorCode::unsupported);
  fatal(501, "NotImplemented", ErrorCode::unsupported);
  fatal(505, "", ErrorCode::unsupported);
}

TEST_CASE("waits double up to the cap, times a random share, and end after ten attempts") {
  FakeClock clock;
  const RetryOptions options = options_with(clock, 0.5);
  const std::stop_token stop;
  Attempts attempts(options, stop);
  for (int i = 0; i < 9; ++i) attempts.failed(kError, kRetry);
  CHECK(clock.sleeps() == std::vector<double>{0.5, 1, 2, 4, 8, 10, 10, 10, 10});
  const auto last = failure_of([&] { attempts.failed(kError, kRetry); });
  CHECK(last == ErrorCode::network);
  CHECK(last.says("no luck (after 10 attempts)"));
  CHECK(last.path == "s3://bucket/key");
}

TEST_CASE("Retry-After is the least wait, within bounds") {
  FakeClock clock;
  const RetryOptions options = options_with(clock, 0.5);
  const std::stop_token stop;
  Attempts attempts(options, stop);
  attempts.failed(kError, kRetry, Seconds(7));
  attempts.failed(kError, kRetry, Seconds(0));
  attempts.failed(kError, kRetry, Seconds(120));
  CHECK(clock.sleeps() == std::vector<double>{7, 1, 120});
  const auto busy = failure_of([&] { attempts.failed(kError, kRetry, Seconds(3600)); });
  CHECK(busy == ErrorCode::network);
  CHECK(busy.says("the server asks to wait 1 h 00 min: run the same command again then"));
}

TEST_CASE("progress starts the count again") {
  FakeClock clock;
  const RetryOptions options = options_with(clock, 0.5);
  const std::stop_token stop;
  Attempts attempts(options, stop);
  for (int i = 0; i < 30; ++i) {
    attempts.progressed(64 << 10, 16 << 20);
    attempts.failed(kError, kRetry);
  }
  CHECK(clock.sleeps().back() == 0.5);
  for (int i = 0; i < 30; ++i) {
    attempts.progressed(1, 10);  // a tenth
    attempts.failed(kError, kRetry);
  }
  CHECK(clock.sleeps().back() == 0.5);
}

TEST_CASE("a server that sends a byte with each answer does not get attempts for it") {
  FakeClock clock;
  const RetryOptions options = options_with(clock, 0.5);
  const std::stop_token stop;
  Attempts attempts(options, stop);
  const auto drip = [&] {
    for (int i = 0; i < 30; ++i) {
      attempts.progressed(1, 16 << 20);
      attempts.failed(kError, kRetry);
    }
  };
  CHECK(failure_of(drip).says("after 10 attempts"));
}

TEST_CASE("what was mended is tried at once, the second time after a wait") {
  FakeClock clock;
  const RetryOptions options = options_with(clock, 0.5);
  const std::stop_token stop;
  Attempts attempts(options, stop);
  attempts.failed(kError, {RetryDecision::refresh_credentials, ErrorCode::denied, false});
  attempts.failed(kError, {RetryDecision::refresh_credentials, ErrorCode::denied, false});
  CHECK(clock.sleeps() == std::vector<double>{0, 1});
}

TEST_CASE("a fatal answer throws at once, a stop ends the wait, and each repetition is reported") {
  FakeClock clock;
  RetryOptions options = options_with(clock, 0.5);
  std::vector<RetryEvent> events;
  options.on_retry = [&](const RetryEvent& event) { events.push_back(event); };
  std::stop_source source;
  const std::stop_token stop = source.get_token();
  Attempts attempts(options, stop);
  CHECK(failure_of([&] {
          attempts.failed(kError, {RetryDecision::fatal, ErrorCode::denied, false});
        }).text == "no luck");
  CHECK(events.empty());
  attempts.failed(kError, {RetryDecision::retry, ErrorCode::network, true});
  REQUIRE(events.size() == 1);
  CHECK(events[0].throttled);
  CHECK(events[0].reason == "no luck");
  source.request_stop();
  CHECK(failure_of([&] { attempts.failed(kError, kRetry); }) == ErrorCode::cancelled);
}

TEST_CASE("who asks may give up early: before the wait, knowing how often it failed and whether anything answered") {
  FakeClock clock;
  RetryOptions options = options_with(clock, 0.5);
  options.may_retry = [](const RetryEvent& event) { return event.answered || event.failures < 2; };
  const std::stop_token stop;
  const AnswerVerdict no_answer{RetryDecision::retry, ErrorCode::network, false, false};
  Attempts attempts(options, stop);
  attempts.failed(kError, no_answer);
  CHECK(failure_of([&] { attempts.failed(kError, no_answer); }).says("no luck (after 2 attempts)"));
  CHECK(clock.sleeps() == std::vector<double>{0.5});
  Attempts of_answers(options, stop);
  for (int i = 0; i < 9; ++i) of_answers.failed(kError, kRetry);
  CHECK(clock.sleeps().size() == 10);
}

TEST_CASE("the library's own random share lies between nothing and all") {
  FakeClock clock;
  RetryOptions options;
  options.clock = &clock;
  const std::stop_token stop;
  Attempts attempts(options, stop);
  for (int i = 0; i < 9; ++i) attempts.failed(kError, kRetry);
  double longest = 1;
  for (const double wait : clock.sleeps()) {
    CHECK(wait >= 0);
    CHECK(wait <= longest);
    longest = longest < 16 ? longest * 2 : 20;
  }
}

TEST_CASE("Retry-After is seconds or a date") {
  const WallTime now = *parse_iso8601("2015-08-30T12:36:00Z");
  const auto parsed = [&](const char* text) { return retry_after({{"Retry-After", text}}, now); };
  CHECK(parsed("12") == Seconds(12));
  CHECK(parsed("Sun, 30 Aug 2015 12:36:30 GMT") == Seconds(30));
  CHECK(parsed("Sun, 30 Aug 2015 12:35:30 GMT") == Seconds(0));
  for (const char* text : {"", "-1", "soon", "99999999999999999999", "1.5"}) {
    CAPTURE(text);
    CHECK_FALSE(parsed(text));
  }
  CHECK_FALSE(retry_after({}, now));
}
