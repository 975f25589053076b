#include "cli/messages/messages.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "cli/fields/field_text.hpp"
#include "cli/messages/json_messages.hpp"
#include "cli/messages/message_text.hpp"

namespace shardkit {
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

}  // namespace shardkit
