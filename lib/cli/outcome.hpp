#pragma once

#include <exception>
#include <optional>
#include <string_view>

#include "core/error.hpp"

namespace shardkit::cli {

/// Exit code of wrong usage.
inline constexpr int kUsageExit = 2;

/// How a command ended.
struct Outcome {
  int exit_code = 0;
  std::optional<Error> failure;  ///< ready to be shown
  bool softened = false;         ///< by --soft-fail: the process exits with 0, reports keep exit_code

  /// True if a signal ended the command, not a fault.
  bool interrupted() const { return failure && failure->code() == ErrorCode::cancelled; }
  /// "ok", "findings" or "failed".
  std::string_view status() const;
};

/// "SIGTERM"; SIGINT for a stop without a signal.
std::string_view signal_name(int signal);

/// The outcome of a command that returned.
Outcome finished(bool findings);

/// The outcome of a command that threw; `signal` requested the stop, 0: none. The only place where errors become exit
/// codes.
Outcome failed(const std::exception_ptr& exception, int signal);

/// The effect of --soft-fail: the process exits with 0 although the command failed in its work. After wrong usage and
/// signals it exits with their exit codes.
Outcome softened(Outcome outcome);

}  // namespace shardkit::cli
