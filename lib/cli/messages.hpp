#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/app.hpp"
#include "cli/outcome.hpp"

namespace shardkit {

/// What a program says on standard error about one command.
class Messages {
 public:
  Messages(std::string_view program, const CommandText& text, const Io& io) : program_(program), text_(text), io_(io) {}

  /// All warnings, or the first 20 and how many more there are.
  void warnings(const std::vector<Warning>& warnings) const;

  /// "shardctl: error: ..."; for a signal how to go on; for a usage error where the help is.
  void failure(const Failure& failure, int signal) const;

  /// What is left to say when the process has to leave without the command's consent.
  std::string farewell() const;

 private:
  std::string how_to_go_on() const;

  std::string_view program_;
  const CommandText& text_;
  const Io& io_;
};

}  // namespace shardkit
