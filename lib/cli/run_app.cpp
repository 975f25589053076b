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
#include "cli/help.hpp"
#include "cli/parse.hpp"
#include "core/error.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr int kUsage = 2;

const Command* find_command(const App& app, std::string_view name) {
  const auto found = std::find_if(app.commands.begin(), app.commands.end(),
                                  [&](const Command& command) { return command.text().name == name; });
  return found == app.commands.end() ? nullptr : &*found;
}

int unknown_verb(const App& app, const std::string& verb, const Io& io) {
  std::vector<std::string> verbs;
  for (const Command& command : app.commands) verbs.emplace_back(command.text().name);
  const std::string meant = verb.starts_with('-') ? "" : closest(verb, verbs);
  io.err << fmt::format(
      "{}: error: {}: there is no such verb{}\n{} --help lists the verbs; options stand after the verb\n", app.name,
      verb, meant.empty() ? "" : "; did you mean " + meant + "?", app.name);
  return kUsage;
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
  if (first == "--help" || first == "-h") {
    io.out << program_help(app);
    return 0;
  }
  if (first == "--version") {
    io.out << fmt::format("{} {} ({})\n", app.name, build_version(), build_commit());
    return 0;
  }
  const Command* command = find_command(app, first);
  if (command == nullptr) return unknown_verb(app, first, io);
  return run_command(app, *command, {args.begin() + 1, args.end()}, io);
}

int run_app(const App& app, int argc, const char* const* argv) {
  raise_descriptor_limit();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write, not the end of the process
  const Io io{std::cout,
              std::cerr,
              is_terminal(STDERR_FILENO),
              wants_colour(STDOUT_FILENO),
              wants_colour(STDERR_FILENO),
              isatty(STDOUT_FILENO) == 1};
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return run_app(app, args, io);
}

}  // namespace shardkit
