#include "cli/messages.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ostream>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/field_text.hpp"
#include "cli/report_formats.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "system/clock.hpp"

namespace shardkit::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string line(std::string_view level, std::string_view event, const Json& members) {
  Json object{{"time", system::rfc3339(std::chrono::system_clock::now())}, {"level", level}, {"event", event}};
  object.update(members);
  return json_text(object) + "\n";
}

std::string soft_fail_text(const Outcome& outcome) {
  return fmt::format("--soft-fail: exit code 0 instead of {}", outcome.exit_code);
}

std::vector<FieldNode> chosen(std::vector<FieldNode> nodes, const auto& is_chosen) {
  std::erase_if(nodes, [&](const FieldNode& node) { return !is_chosen(node); });
  return nodes;
}

bool holds_more(FieldKind kind) { return kind == FieldKind::group || kind == FieldKind::list; }

constexpr std::size_t kMostWarnings = 20;
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kYellow = "\x1b[33m";

constexpr std::size_t kMostBytes = 4096;

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

nlohmann::ordered_json failure_json(const Error& failure) {
  nlohmann::ordered_json error = {
      {"code", error_code_name(failure.code())}, {"text", failure.what()}, {"path", nullptr}, {"offset", nullptr}};
  if (!failure.path().empty()) error["path"] = failure.path();
  if (failure.offset()) error["offset"] = *failure.offset();
  return error;
}

std::string progress_json(const ProgressSample& now) {
  return line("info", "progress",
              {{"phase", now.phase},
               {"items", now.items},
               {"items_total", now.items_total},
               {"bytes", now.bytes},
               {"bytes_total", now.bytes_total},
               {"stage", now.stage},
               {"stages", now.stages}});
}

std::string failure_text(const Error& failure, std::string_view title) {
  const std::string_view what = failure.what();
  if (failure.code() == ErrorCode::cancelled) return std::string(what);
  std::string text = fmt::format("{}: {}", title, printable(what));
  if (!failure.path().empty() && what.find(failure.path()) == std::string::npos) {
    text += fmt::format(" (in '{}')", printable(failure.path()));
  }
  if (failure.offset() && what.find(fmt::format("byte {}", *failure.offset())) == std::string::npos) {
    text += fmt::format(" (at offset {})", *failure.offset());
  }
  return text;
}

std::string_view how_to_go_on(const CommandText& text) {
  return text.resumable ? "run the same command again to continue" : "";
}

void Messages::failure(const Outcome& outcome, int signal) const {
  if (json_) return json_failure(outcome, signal);
  const Error& failure = *outcome.failure;
  say(failure_text(failure, painted("error", kRed)));
  if (outcome.interrupted()) console_.err << go_on_line();
  if (outcome.softened) say(soft_fail_text(outcome));
  if (failure.code() == ErrorCode::usage) {
    console_.err << fmt::format("run '{} {} --help' for its options\n", program_, text_.name);
  }
}

void Messages::json_failure(const Outcome& outcome, int signal) const {
  const Error& failure = *outcome.failure;
  if (outcome.interrupted()) {
    console_.err << json_stop(signal, outcome.exit_code, failure_text(failure));
    return;
  }
  Json members = failure_json(failure);
  members["exit_code"] = outcome.exit_code;
  console_.err << line("error", "error", members);
  if (outcome.softened) console_.err << line("info", "soft_fail", {{"text", soft_fail_text(outcome)}});
}

std::string Messages::json_stop(int signal, int exit_code, std::string_view text) const {
  const std::string_view go_on = how_to_go_on(text_);
  return line("info", "stopped",
              {{"signal", signal_name(signal)},
               {"exit_code", exit_code},
               {"text", go_on.empty() ? std::string(text) : fmt::format("{}; {}", text, go_on)}});
}

void Messages::done(const Report& report) const {
  if (!json_) return;
  Json members{{"status", report.outcome.status()},
               {"exit_code", report.outcome.exit_code},
               {"elapsed_seconds", report.elapsed_seconds}};
  members["operands"] =
      fields_json(chosen(report.options, [](const FieldNode& node) { return node.field.is_operand(); }));
  if (!report.outcome.failure || report.failed_with_result) {
    members["result"] =
        fields_json(chosen(report.result, [](const FieldNode& node) { return !holds_more(node.kind); }));
  }
  console_.err << line("info", "done", members);
}

std::string Messages::forced_end(int signal) const {
  if (json_) return json_stop(signal, 128 + signal, kForcedEnd);
  return fmt::format("\n{}: {}\n{}", program_, kForcedEnd, go_on_line());
}

void Messages::start_progress(const Progress& progress) {
  const auto style = json_                      ? ProgressLine::Style::json
                     : console_.err_is_terminal ? ProgressLine::Style::bar
                                                : ProgressLine::Style::plain;
  monitor_.emplace(progress, console_.err, style, console_.err_columns);
}

void Messages::put(const std::string& text) {
  if (monitor_) return monitor_->above(text);
  console_.err << text << std::flush;
}

std::string Messages::warning_text(const Finding& warning) const {
  const std::string text = without_secrets(warning.text);
  if (json_) return line("warning", "warning", {{"code", warning.code}, {"text", text}});
  return titled(fmt::format("{}: {}", painted("warning", kYellow), printable(text)));
}

void Messages::say(std::string_view line) const { console_.err << titled(line); }

std::string Messages::titled(std::string_view line) const {
  const std::string text = fmt::format("{}: {}", program_, line);
  return (console_.err_is_terminal ? broken_at_blanks(text, console_.err_columns()) : text) + '\n';
}

std::string Messages::go_on_line() const {
  const std::string_view words = how_to_go_on(text_);
  return words.empty() ? std::string() : fmt::format("{}: {}\n", program_, words);
}

std::string Messages::painted(std::string_view text, std::string_view color) const {
  return console_.err_color ? fmt::format("{}{}\x1b[0m", color, text) : std::string(text);
}

void Messages::warning(const Finding& warning) {
  if (++warnings_ <= kMostWarnings) put(warning_text(warning));
}

void Messages::more_warnings() {
  if (warnings_ <= kMostWarnings) return;
  const std::string more = format_count(warnings_ - kMostWarnings);
  put(warning_text({"more_warnings", fmt::format("{} more warnings; --json lists them", more)}));
}

void Messages::repeated(const RepeatedRequest& request) {
  std::string text = without_secrets(request.reason);
  if (text.find(request.address) == std::string::npos) text = fmt::format("'{}': {}", request.address, text);
  const std::string next =
      request.wait_seconds == 0
          ? "the next one now"
          : fmt::format("{} {}", request.asked_to_wait ? "the server asks to wait" : "the next one in",
                        format_duration(request.wait_seconds));
  text += fmt::format(" (attempt {} of {}; {})", request.attempt, request.attempts, next);
  if (request.more > 0)
    text +=
        fmt::format("; {} more {} repeated", format_count(request.more), request.more == 1 ? "request" : "requests");
  if (!json_) return put(titled(fmt::format("retry: {}", printable(text))));
  put(line("info", "retry",
           {{"text", text},
            {"address", request.address},
            {"attempt", request.attempt},
            {"attempts", request.attempts},
            {"wait_seconds", request.wait_seconds},
            {"asked_to_wait", request.asked_to_wait},
            {"more", request.more}}));
}

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
