#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/app.hpp"
#include "cli/build_info.hpp"
#include "cli/command_run.hpp"
#include "cli/documents/help.hpp"
#include "cli/messages/termination_message.hpp"
#include "cli/parse.hpp"
#include "cli/verbs.hpp"
#include "core/error.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr int kUsage = 2;

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// `group` is what stands before the word, with a blank, or empty; `known` are the words that could stand there.
int unknown_verb(const App& app, const std::string& group, const std::string& word,
                 const std::vector<std::string>& known, const Io& io) {
  const std::string meant = word.starts_with('-') ? "" : closest(word, known);
  const std::string error = fmt::format("{}: error: {}{}: there is no such verb{}", app.name, group, word,
                                        meant.empty() ? "" : fmt::format("; did you mean {}{}?", group, meant));
  io.err << fmt::format("{}\n{} {}--help lists the verbs; options stand after the verb\n", error, app.name, group);
  write_termination_message(io.termination_log, error, "");
  return kUsage;
}

int run_group(const App& app, const FirstWord& group, std::span<const std::string> args, const Io& io) {
  if (args.empty()) {
    io.err << group_help(app, group);
    return kUsage;
  }
  if (asks_for_help(args.front())) {
    io.out << group_help(app, group);
    return 0;
  }
  std::vector<std::string> known;
  for (const Command* command : group.commands) {
    known.emplace_back(last_word(command->text().name));
    if (known.back() == args.front()) {
      return run_command(app, *command, {args.begin() + 1, args.end()}, io);
    }
  }
  return unknown_verb(app, fmt::format("{} ", group.word), args.front(), known, io);
}

/// True where colours are welcome: a terminal that knows them, and no NO_COLOR (no-color.org).
bool wants_colour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(fd) == 1 && (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

/// True where a line can be redrawn in place.
bool is_terminal(int fd) {
  const char* terminal = std::getenv("TERM");
  return isatty(fd) == 1 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace

int run_app(const App& app, std::span<const std::string> args, const Io& io) {
  if (args.empty()) {
    io.err << program_help(app);
    return kUsage;
  }
  const std::string& first = args.front();
  if (asks_for_help(first)) {
    io.out << program_help(app);
    return 0;
  }
  if (first == "--version") {
    io.out << fmt::format("{} {} ({})\n", app.name, build_version(), build_commit());
    return 0;
  }
  const std::vector<FirstWord> words = first_words(app);
  const auto found = std::ranges::find(words, first, &FirstWord::word);
  if (found == words.end()) {
    std::vector<std::string> known;
    for (const FirstWord& word : words) known.emplace_back(word.word);
    return unknown_verb(app, "", first, known, io);
  }
  if (found->is_group) return run_group(app, *found, args.subspan(1), io);
  return run_command(app, *found->commands.front(), {args.begin() + 1, args.end()}, io);
}

int run_app(const App& app, int argc, const char* const* argv) {
  raise_descriptor_limit();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write, not the end of the process
  const Io io{std::cout,
              std::cerr,
              is_terminal(STDERR_FILENO),
              wants_colour(STDOUT_FILENO),
              wants_colour(STDERR_FILENO),
              isatty(STDOUT_FILENO) == 1,
              kTerminationLog};
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return run_app(app, args, io);
}

}  // namespace shardkit
