#include "cli/messages.hpp"

#include <algorithm>
#include <csignal>
#include <ostream>

#include <fmt/format.h>

#include "cli/field_text.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kMostWarnings = 20;
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kYellow = "\x1b[33m";

std::string painted(std::string_view text, std::string_view colour, bool wanted) {
  return wanted ? fmt::format("{}{}\x1b[0m", colour, text) : std::string(text);
}

}  // namespace

void Messages::warnings(const std::vector<Warning>& warnings) const {
  const std::string title = painted("warning", kYellow, io_.err_colour);
  for (std::size_t i = 0; i < std::min(warnings.size(), kMostWarnings); ++i) {
    io_.err << fmt::format("{}: {}: {}\n", program_, title, printable(warnings[i].text));
  }
  if (warnings.size() > kMostWarnings) {
    io_.err << fmt::format("{}: {}: {} more; --json lists them\n", program_, title,
                           format_count(warnings.size() - kMostWarnings));
  }
}

void Messages::failure(const Failure& failure, int signal) const {
  if (failure.code == "cancelled") {
    io_.err << fmt::format("{}: stopped by {}\n{}", program_, signal == SIGTERM ? "SIGTERM" : "SIGINT", how_to_go_on());
    return;
  }
  io_.err << fmt::format("{}: {}: {}", program_, painted("error", kRed, io_.err_colour), printable(failure.text));
  if (!failure.path.empty() && failure.text.find(failure.path) == std::string::npos) {
    io_.err << fmt::format(" (in '{}')", printable(failure.path));
  }
  if (failure.offset) io_.err << fmt::format(" (at offset {})", *failure.offset);
  io_.err << '\n';
  if (failure.code == "usage") io_.err << fmt::format("{} {} --help shows its options\n", program_, text_.name);
}

std::string Messages::farewell() const {
  return fmt::format("\n{}: told to stop, and leaving with work unfinished\n{}", program_, how_to_go_on());
}

std::string Messages::how_to_go_on() const {
  return text_.resumable ? fmt::format("{}: the same command again goes on from here\n", program_) : std::string();
}

}  // namespace shardkit
