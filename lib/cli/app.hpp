#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace shardkit {

/// A program: a name and its verbs.
struct App {
  std::string_view name;
  std::string_view summary;  ///< one line, lower-case start, no final full stop
  std::vector<Command> commands;
};

/// Where a program talks to: reports go to `out`, everything else to `err`.
struct Io {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;  ///< progress is a bar that redraws itself
  bool out_colour = false;
  bool err_colour = false;
  bool out_is_terminal = false;      ///< what a verb streams there would be torn by progress
  std::string termination_log = {};  ///< where an error goes as well when this file is there; empty: nowhere
};

/// Runs one command line and returns the exit code: the whole of main(). Ignores SIGPIPE for the process; SIGINT and
/// SIGTERM ask the command to stop, and the process leaves within 2 s of them in any case.
int run_app(const App& app, int argc, const char* const* argv);

/// The same over any streams; `args` come without the program's name. What tests call.
int run_app(const App& app, std::span<const std::string> args, const Io& io);

}  // namespace shardkit
