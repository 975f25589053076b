#include "net/retry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "core/prng.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

namespace shardkit::net {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 10> kThrottled{"SlowDown",
                                                      "Throttling",
                                                      "ThrottlingException",
                                                      "ThrottledException",
                                                      "RequestThrottled",
                                                      "RequestLimitExceeded",
                                                      "RequestThrottledException",
                                                      "TooManyRequests",
                                                      "ServiceUnavailable",
                                                      "BandwidthLimitExceeded"};
constexpr std::array<std::string_view, 6> kPassing{"RequestTimeout", "InternalError",           "InternalServerError",
                                                   "BadDigest",      "PriorRequestNotComplete", "OperationAborted"};
constexpr std::array<std::string_view, 5> kExpired{"ExpiredToken", "ExpiredTokenException", "RequestExpired",
                                                   "TokenRefreshRequired", "InvalidToken"};
constexpr std::array<std::string_view, 5> kMissing{"NoSuchKey", "NoSuchBucket", "NoSuchVersion", "NoSuchUpload",
                                                   "NotFound"};

bool is_one_of(std::string_view code, Names names) { return std::ranges::find(names, code) != names.end(); }

AnswerVerdict fatal(ErrorCode code) { return {RetryDecision::fatal, code, false}; }

AnswerVerdict judge_status(int status) {
  switch (status) {
    case 408:
    case 500:
    case 502:
    case 504:
      return {RetryDecision::retry, ErrorCode::network, false};
    case 429:
    case 503:
      return {RetryDecision::retry, ErrorCode::network, true};
    case 401:
    case 403:
    case 407:
      return fatal(ErrorCode::denied);
    case 404:
    case 410:
      return fatal(ErrorCode::not_found);
    case 409:
    case 412:
      return fatal(ErrorCode::conflict);
    case 416:
      return fatal(ErrorCode::corrupt);
    default:
      break;
  }
  if (status > 504 && status < 600 && status != 505)
    return {RetryDecision::retry, ErrorCode::network, false};  // gateways' own
  return fatal(ErrorCode::unsupported);
}

double library_random() {
  static std::mutex mutex;
  static Prng prng(random_bits());
  const std::scoped_lock lock(mutex);
  return prng.uniform();
}

}  // namespace

AnswerVerdict judge(int status, std::string_view error_code) {
  if (is_one_of(error_code, kThrottled)) return {RetryDecision::retry, ErrorCode::network, true};
  if (is_one_of(error_code, kPassing)) return {RetryDecision::retry, ErrorCode::network, false};
  if (is_one_of(error_code, kExpired)) return {RetryDecision::refresh_credentials, ErrorCode::denied, false};
  if (is_one_of(error_code, kMissing)) return fatal(ErrorCode::not_found);
  if (error_code == "RequestTimeTooSkewed") return {RetryDecision::correct_clock, ErrorCode::denied, false};
  if (status >= 200 && status < 300) return error_code.empty() ? AnswerVerdict{} : fatal(ErrorCode::unsupported);
  return judge_status(status);
}

namespace {

constexpr std::uint64_t kWorthAnAttempt = 64ULL << 10U;
constexpr std::uint64_t kMostParts = 128;  // of a shorter range, each with attempts of its own

}  // namespace

bool Attempts::progressed(std::uint64_t bytes, std::uint64_t length) {
  const bool is_worth = bytes >= std::clamp<std::uint64_t>(length / kMostParts, 1, kWorthAnAttempt);
  if (is_worth) failures_ = 0;
  return is_worth;
}

void Attempts::failed(const Error& error, const AnswerVerdict& verdict, std::optional<system::Seconds> retry_after) {
  ++failures_;
  if (verdict.remedy == RetryDecision::fatal) throw error;
  const unsigned most = std::min(options_.attempts, verdict.attempts);
  const RetryEvent event{verdict.throttled, wait_after(verdict, retry_after),
                         error.what(),      failures_,
                         verdict.answered,  most,
                         error.path(),      retry_after};
  if (retry_after && *retry_after > options_.longest_retry_after) {
    throw Error(error.code(),
                fmt::format("{}; the server asks to wait {}: run the same command again then", error.what(),
                            format_duration(retry_after->count())),
                error.path(), error.offset());
  }
  if (failures_ >= most || (options_.may_retry && !options_.may_retry(event))) {
    throw Error(error.code(), fmt::format("{} (after {})", error.what(), format_count(failures_, "attempt")),
                error.path(), error.offset());
  }
  if (options_.on_retry) options_.on_retry(event);
  options_.clock->sleep(event.wait, stop_);
}

system::Seconds Attempts::wait_after(const AnswerVerdict& verdict, std::optional<system::Seconds> retry_after) const {
  const bool corrected =
      verdict.remedy == RetryDecision::refresh_credentials || verdict.remedy == RetryDecision::correct_clock;
  if (corrected && failures_ == 1) return system::Seconds(0);
  const double random = options_.random ? options_.random() : library_random();
  const system::Seconds backoff = random * std::min(system::Seconds(std::exp2(failures_ - 1)), options_.longest_wait);
  return std::max(backoff, std::min(retry_after.value_or(system::Seconds(0)), options_.longest_retry_after));
}

std::optional<system::Seconds> retry_after(const HttpHeaders& headers, system::WallTime now) {
  const std::string_view text = headers.get("retry-after");
  if (const auto date = system::parse_http_date(text))
    return std::max<system::Seconds>(*date - now, system::Seconds(0));
  const auto seconds = parse_count(text);
  return seconds ? std::optional(system::Seconds(*seconds)) : std::nullopt;
}

namespace {

constexpr system::Seconds kSavedUp{0.1};

}  // namespace

RateLimit::RateLimit(std::uint64_t bytes_per_second, system::Clock& clock)
    : bytes_per_second_(static_cast<double>(bytes_per_second)), clock_(clock), paid_until_(clock.monotonic()) {}

void RateLimit::take(std::uint64_t bytes, const std::stop_token& stop) {
  const system::Seconds wait = reserve(bytes);
  if (wait > system::Seconds(0)) clock_.sleep(wait, stop);
}

/// Books the time for these bytes and returns how long until then.
system::Seconds RateLimit::reserve(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  const system::Seconds now = clock_.monotonic();
  paid_until_ = std::max(paid_until_, now - kSavedUp) + system::Seconds(static_cast<double>(bytes) / bytes_per_second_);
  return paid_until_ - now;
}

}  // namespace shardkit::net
