#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.hpp"
#include "cli/common_options.hpp"
#include "cli/outcome.hpp"

namespace shardkit {

/// What a program says on standard error about one command, progress apart. --log decides in which form.
class Messages {
 public:
  virtual ~Messages() = default;

  /// All warnings, or the first 20 and how many more there are.
  void warnings(const std::vector<Warning>& warnings) const;

  /// The error, or the stop by `signal`; the outcome has a failure.
  virtual void failure(const Outcome& outcome, int signal) const = 0;

  /// The last word on a command.
  virtual void done(const Outcome& outcome, double elapsed_seconds) const = 0;

  /// What is left to say when the process has to leave without the command's consent. From any thread.
  virtual std::string farewell(int signal) const = 0;

 protected:
  virtual void warning(const Warning& warning) const = 0;
};

/// `text` and `io` outlive the messages.
std::unique_ptr<Messages> make_messages(LogFormat format, std::string_view program, const CommandText& text,
                                        const Io& io);

}  // namespace shardkit
