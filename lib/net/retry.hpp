#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "net/http.hpp"
#include "system/clock.hpp"

/// What to do after an answer, in one place for all requests to stores.
namespace shardkit::net {

enum class RetryDecision {
  done,                 ///< success
  retry,                ///< retry later
  refresh_credentials,  ///< retry with newer credentials
  correct_clock,        ///< retry with the server's clock
  fatal,                ///< a retry does not help
};

struct AnswerVerdict {
  RetryDecision remedy = RetryDecision::done;
  ErrorCode code = ErrorCode::network;  ///< code of the error, if it becomes one
  bool throttled = false;               ///< the store wants fewer requests: 503, 429, SlowDown, ...
  bool answered = true;                 ///< false: no answer came, or it broke
  unsigned attempts = ~0U;              ///< maximum for this kind of failure
};

/// Judges an answer by its status and the code in its XML (empty without one), like the AWS SDKs: "Error responses" of
/// the Amazon S3 API reference. An error code in a 200 counts. 412 is Error{conflict}.
AnswerVerdict judge(int status, std::string_view error_code);

/// Gets each repetition, from the repeating thread, to count and report retries and lower the concurrency.
struct RetryEvent {
  bool throttled = false;
  system::Seconds wait{0};
  std::string reason;
  unsigned failures = 0;                            ///< of this request in a row, without sufficient progress
  bool answered = true;                             ///< false: no answer came, or it broke
  unsigned attempts = 0;                            ///< maximum in a row
  std::string address = {};                         ///< of the object
  std::optional<system::Seconds> retry_after = {};  ///< what the server asked for
};

struct RetryOptions {
  unsigned attempts = 10;  ///< in a row without sufficient progress
  system::Seconds longest_wait{20};
  system::Seconds longest_retry_after{120};
  system::Seconds longest_answer{60};  ///< to a request that makes an object of parts; then the object is looked at
  system::Clock* clock = &system::system_clock();
  std::function<double()> random;                   ///< uniform in [0, 1), thread-safe; empty: the library's own
  std::function<void(const RetryEvent&)> on_retry;  ///< may be empty; thread-safe
  /// Called before each wait; false ends the attempts early. Empty: always true. Thread-safe.
  std::function<bool(const RetryEvent&)> may_retry;
};

/// The attempts of one request: how long to wait between them (full jitter: a random share of 2^i seconds, capped), and
/// when to give up. One thread.
class Attempts {
 public:
  Attempts(const RetryOptions& options, const std::stop_token& stop) : options_(options), stop_(stop) {}

  /// Called after a failed attempt: waits for the next one, at least `retry_after`. Throws `error`, with the number of
  /// attempts in its text, after the last one; Error{cancelled} on a stop.
  void failed(const Error& error, const AnswerVerdict& verdict, std::optional<system::Seconds> retry_after = {});

  /// An attempt received `bytes` of a range of `length`. True if they are worth an attempt: then the count starts
  /// again; not for a server that sends a byte with each answer.
  bool progressed(std::uint64_t bytes, std::uint64_t length);

 private:
  system::Seconds wait_after(const AnswerVerdict& verdict, std::optional<system::Seconds> retry_after) const;

  const RetryOptions& options_;
  const std::stop_token& stop_;
  unsigned failures_ = 0;
};

/// The Retry-After of an answer: seconds, or a date that is compared with `now`. Never negative.
std::optional<system::Seconds> retry_after(const HttpHeaders& headers, system::WallTime now);

/// A rate limit shared by all connections of a process. Thread-safe.
class RateLimit {
 public:
  /// `bytes_per_second` > 0; the clock outlives the limit.
  explicit RateLimit(std::uint64_t bytes_per_second, system::Clock& clock = system::system_clock());

  /// Waits until `bytes` more are allowed. Connections are served in order. Unused allowance is kept for a tenth of a
  /// second. Throws Error{cancelled} on a stop.
  void take(std::uint64_t bytes, const std::stop_token& stop);

 private:
  system::Seconds reserve(std::uint64_t bytes);

  const double bytes_per_second_;
  system::Clock& clock_;
  std::mutex mutex_;
  system::Seconds paid_until_;
};

}  // namespace shardkit::net
