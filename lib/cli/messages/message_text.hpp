#pragma once

#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "cli/outcome.hpp"

/// Sentences about the end of a command that standard error, its JSON form and the termination message share.
namespace shardkit {

/// What the process says when it has to leave without the command's consent.
inline constexpr std::string_view kFarewell = "told to stop, and leaving with work unfinished";

/// True when it was a signal that ended the command, not a fault.
bool was_stopped(const Failure& failure);

/// "SIGTERM"; SIGINT for a stop without a signal.
std::string_view signal_name(int signal);

/// "stopped by SIGTERM", or "error: ..." with the file and offset concerned: one line without control characters.
/// `title` is the word "error", painted or not.
std::string failure_text(const Failure& failure, int signal, std::string_view title = "error");

/// How to go on after a stop; empty for a verb that starts anew.
std::string_view how_to_go_on(const CommandText& text);

/// "--soft-fail: exit code 0 instead of 4", for an outcome that was softened.
std::string soft_fail_text(const Outcome& outcome);

}  // namespace shardkit
