#include "cli/messages.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ostream>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/field_text.hpp"
#include "cli/report_formats.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "system/clock.hpp"

namespace shardkit::cli {

nlohmann::ordered_json failure_json(const Failure& failure) {
  nlohmann::ordered_json error = {
      {"code", error_code_name(failure.code)}, {"text", failure.text}, {"path", nullptr}, {"offset", nullptr}};
  if (!failure.path.empty()) error["path"] = failure.path;
  if (failure.offset) error["offset"] = *failure.offset;
  return error;
}

namespace {

using Json = nlohmann::ordered_json;

std::string line(std::string_view level, std::string_view event, const Json& members) {
  Json object{{"time", system::rfc3339(std::chrono::system_clock::now())}, {"level", level}, {"event", event}};
  object.update(members);
  return json_text(object) + "\n";
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

bool was_stopped(const Failure& failure) { return failure.code == ErrorCode::cancelled; }

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

/// Events "warning", "error", "stopped", "soft_fail" and, at the end of each command, "done".
class JsonMessages final : public Messages {
 public:
  JsonMessages(const CommandText& text, std::ostream& err) : text_(text), err_(err) {}

  void failure(const Outcome& outcome, int signal) const override {
    const Failure& failure = *outcome.failure;
    if (was_stopped(failure)) {
      err_ << stopped(signal, outcome.exit_code, failure_text(failure, signal));
      return;
    }
    Json members = failure_json(failure);
    members["exit_code"] = outcome.exit_code;
    err_ << line("error", "error", members);
    if (outcome.softened_from != 0) err_ << line("info", "soft_fail", {{"text", soft_fail_text(outcome)}});
  }

  void done(const Outcome& outcome, double elapsed_seconds) const override {
    const Json members{
        {"status", outcome.status()}, {"exit_code", outcome.exit_code}, {"elapsed_seconds", elapsed_seconds}};
    err_ << line("info", "done", members);
  }

  std::string forced_end(int signal) const override { return stopped(signal, 128 + signal, kForcedEnd); }

 protected:
  void warning(const Warning& warning) const override {
    err_ << line("warning", "warning", {{"code", warning.code}, {"text", warning.text}});
  }

 private:
  std::string stopped(int signal, int exit_code, std::string_view text) const {
    const std::string_view go_on = how_to_go_on(text_);
    return line("info", "stopped",
                {{"signal", signal_name(signal)},
                 {"exit_code", exit_code},
                 {"text", go_on.empty() ? std::string(text) : fmt::format("{}; {}", text, go_on)}});
  }

  const CommandText& text_;
  std::ostream& err_;
};

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
    if (failure.code == ErrorCode::usage)
      io_.err << fmt::format("{} {} --help shows its options\n", program_, text_.name);
  }

  void done(const Outcome&, double) const override {}  // the report says it

  std::string forced_end(int) const override { return fmt::format("\n{}: {}\n{}", program_, kForcedEnd, go_on_line()); }

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

namespace {

constexpr std::size_t kMostBytes = 4096;

/// Each byte that is not UTF-8 becomes U+FFFD.
std::string as_utf8(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t bad = find_invalid_utf8(text);
    out += text.substr(0, bad);
    if (bad == std::string_view::npos) return out;
    out += "\xef\xbf\xbd";
    text.remove_prefix(bad + 1);
  }
}

/// The longest start of valid UTF-8 that has at most `most` bytes and no half character.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80) --most;
  return text.substr(0, most);
}

std::string message(std::string_view end, std::string_view go_on) {
  const std::string last = go_on.empty() ? std::string() : std::string(go_on) + "\n";
  return std::string(cut(as_utf8(end), kMostBytes - std::min(last.size() + 1, kMostBytes))) + "\n" + last;
}

}  // namespace

void write_termination_message(const std::string& path, std::string_view end, std::string_view go_on) {
  if (path.empty()) return;
  const std::string text = message(end, go_on);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return;
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ::ftruncate(fd, 0) == 0) {
    [[maybe_unused]] const auto written = ::write(fd, text.data(), text.size());
  }
  ::close(fd);
}

}  // namespace shardkit::cli
