#include "cli/outcome.hpp"

#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/text.hpp"

namespace shardkit::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kFindings = 3;
constexpr int kPermanent = 4;
constexpr int kNoSpace = 5;

int exit_code(ErrorCode code, int signal) {
  switch (code) {
    case ErrorCode::io:
    case ErrorCode::network:
    case ErrorCode::in_use:
    case ErrorCode::internal:
      return kFailed;
    case ErrorCode::usage:
      return kUsageExit;
    case ErrorCode::not_found:
    case ErrorCode::denied:
    case ErrorCode::corrupt:
    case ErrorCode::conflict:
    case ErrorCode::unsupported:
      return kPermanent;
    case ErrorCode::no_space:
    case ErrorCode::out_of_memory:
      return kNoSpace;
    case ErrorCode::cancelled:
      return 128 + (signal == 0 ? SIGINT : signal);
  }
  return kFailed;
}

bool is_memory_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

Error failure_of_system(const std::system_error& error) {
  if (error.code() != std::errc::resource_unavailable_try_again)
    return {error_code_of(error.code().value()), error.what()};
  if (is_memory_limited()) {
    return {ErrorCode::out_of_memory,
            "no memory for another thread; use fewer threads, or raise the memory limit (ulimit -v)"};
  }
  return {ErrorCode::io,
          "the system allows no more threads; raise the limit of processes (ulimit -u, pids.max of the container) or "
          "of memory"};
}

}  // namespace

std::string_view signal_name(int signal) {
  if (signal == SIGHUP) return "SIGHUP";
  return signal == SIGTERM ? "SIGTERM" : "SIGINT";
}

std::string_view Outcome::status() const {
  if (failure) return "failed";
  return exit_code == kFindings ? "findings" : "ok";
}

Outcome finished(bool findings) { return {findings ? kFindings : 0, std::nullopt}; }

Outcome softened(Outcome outcome) {
  const int code = outcome.exit_code;
  outcome.softened = code == kFailed || code == kPermanent || code == kNoSpace;
  return outcome;
}

Outcome failed(const std::exception_ptr& exception, int signal) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled)  // whatever it was doing
      return {exit_code(error.code(), signal), Error(error.code(), fmt::format("stopped by {}", signal_name(signal)))};
    return {exit_code(error.code(), signal),
            Error(error.code(), without_secrets(error.what()), without_secrets(error.path()), error.offset())};
  } catch (const std::bad_alloc&) {
    return {kNoSpace, Error(ErrorCode::out_of_memory, "out of memory; use fewer threads, or raise the memory limit")};
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(std::make_exception_ptr(system_error(error.code().value(), "access", error.path1())), signal);
  } catch (const std::system_error& error) {  // from std::thread
    const Error failure = failure_of_system(error);
    return {exit_code(failure.code(), signal), failure};
  } catch (const std::exception& error) {
    return {kFailed, Error(ErrorCode::internal, fmt::format("internal error: {}; please report it", error.what()))};
  } catch (...) {
    return {kFailed, Error(ErrorCode::internal, "unknown internal error; please report it")};
  }
}

}  // namespace shardkit::cli
