#include "cli/messages/message_text.hpp"

#include <csignal>

#include <fmt/format.h>

#include "cli/fields/field_text.hpp"

namespace shardkit {

bool was_stopped(const Failure& failure) { return failure.code == "cancelled"; }

std::string_view signal_name(int signal) {
  if (signal == SIGHUP) return "SIGHUP";
  return signal == SIGTERM ? "SIGTERM" : "SIGINT";
}

std::string failure_text(const Failure& failure, int signal, std::string_view title) {
  if (was_stopped(failure)) return fmt::format("stopped by {}", signal_name(signal));
  std::string text = fmt::format("{}: {}", title, printable(failure.text));
  if (!failure.path.empty() && failure.text.find(failure.path) == std::string::npos) {
    text += fmt::format(" (in '{}')", printable(failure.path));
  }
  if (failure.offset) text += fmt::format(" (at offset {})", *failure.offset);
  return text;
}

std::string_view how_to_go_on(const CommandText& text) {
  return text.resumable ? "the same command again goes on from here" : "";
}

std::string soft_fail_text(const Outcome& outcome) {
  return fmt::format("--soft-fail: exit code 0 instead of {}", outcome.softened_from);
}

}  // namespace shardkit
