#include "cli/messages.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/envelope.hpp"
#include "cli/field_text.hpp"
#include "system/clock.hpp"

namespace shardkit::cli {

nlohmann::ordered_json failure_json(const Failure& failure) {
  nlohmann::ordered_json error = {
      {"code", failure.code}, {"text", failure.text}, {"path", nullptr}, {"offset", nullptr}};
  if (!failure.path.empty()) error["path"] = failure.path;
  if (failure.offset) error["offset"] = *failure.offset;
  return error;
}

namespace {

using Json = nlohmann::ordered_json;

std::string line(std::string_view level, std::string_view event, const Json& members) {
  Json object{{"time", system::rfc3339(std::chrono::system_clock::now())}, {"level", level}, {"event", event}};
  object.update(members);
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string stopped(int signal, int exit_code, const std::string& text) {
  return line("info", "stopped", {{"signal", signal_name(signal)}, {"exit_code", exit_code}, {"text", text}});
}

}  // namespace

std::string progress_json(const ProgressSample& now) {
  return line("info", "progress",
              {{"phase", now.phase},
               {"items", now.items},
               {"items_total", now.items_total},
               {"bytes", now.bytes},
               {"bytes_total", now.bytes_total}});
}

void JsonMessages::failure(const Outcome& outcome, int signal) const {
  const Failure& failure = *outcome.failure;
  if (was_stopped(failure)) {
    err_ << stopped(signal, outcome.exit_code, with_how_to_go_on(failure_text(failure, signal)));
    return;
  }
  Json members = failure_json(failure);
  members["exit_code"] = outcome.exit_code;
  err_ << line("error", "error", members);
  if (outcome.softened_from != 0) err_ << line("info", "soft_fail", {{"text", soft_fail_text(outcome)}});
}

void JsonMessages::done(const Outcome& outcome, double elapsed_seconds) const {
  err_ << line("info", "done",
               {{"status", outcome.status()}, {"exit_code", outcome.exit_code}, {"elapsed_seconds", elapsed_seconds}});
}

std::string JsonMessages::farewell(int signal) const {
  return stopped(signal, 128 + signal, with_how_to_go_on(kFarewell));
}

void JsonMessages::warning(const Warning& warning) const {
  err_ << line("warning", "warning", {{"code", warning.code}, {"text", warning.text}});
}

std::string JsonMessages::with_how_to_go_on(std::string_view text) const {
  const std::string_view words = how_to_go_on(text_);
  return words.empty() ? std::string(text) : fmt::format("{}; {}", text, words);
}

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

namespace {

constexpr std::size_t kMostWarnings = 20;
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kYellow = "\x1b[33m";

/// Lines for people: "shardctl: error: ...".
class TextMessages final : public Messages {
 public:
  TextMessages(std::string_view program, const CommandText& text, const Io& io)
      : program_(program), text_(text), io_(io) {}

  /// For a signal also how to go on; for a usage error where the help is.
  void failure(const Outcome& outcome, int signal) const override {
    const Failure& failure = *outcome.failure;
    say(failure_text(failure, signal, painted("error", kRed)));
    if (was_stopped(failure)) io_.err << go_on_line();
    if (outcome.softened_from != 0) say(soft_fail_text(outcome));
    if (failure.code == "usage") io_.err << fmt::format("{} {} --help shows its options\n", program_, text_.name);
  }

  void done(const Outcome&, double) const override {}  // the report says it

  std::string farewell(int) const override { return fmt::format("\n{}: {}\n{}", program_, kFarewell, go_on_line()); }

 protected:
  void warning(const Warning& warning) const override {
    say(fmt::format("{}: {}", painted("warning", kYellow), printable(warning.text)));
  }

 private:
  void say(std::string_view line) const { io_.err << fmt::format("{}: {}\n", program_, line); }

  std::string go_on_line() const {
    const std::string_view words = how_to_go_on(text_);
    return words.empty() ? std::string() : fmt::format("{}: {}\n", program_, words);
  }

  std::string painted(std::string_view text, std::string_view colour) const {
    return io_.err_colour ? fmt::format("{}{}\x1b[0m", colour, text) : std::string(text);
  }

  std::string_view program_;
  const CommandText& text_;
  const Io& io_;
};

}  // namespace

void Messages::warnings(const std::vector<Warning>& warnings) const {
  const std::size_t shown = std::min(warnings.size(), kMostWarnings);
  for (std::size_t i = 0; i < shown; ++i) warning(warnings[i]);
  if (warnings.size() > shown) {
    warning({"more_warnings", fmt::format("{} more; --json lists them", format_count(warnings.size() - shown))});
  }
}

std::unique_ptr<Messages> make_messages(LogFormat format, std::string_view program, const CommandText& text,
                                        const Io& io) {
  if (format == LogFormat::json) return std::make_unique<JsonMessages>(text, io.err);
  return std::make_unique<TextMessages>(program, text, io);
}

}  // namespace shardkit::cli
