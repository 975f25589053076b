#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/outcome.hpp"
#include "cli/progress.hpp"

/// Standard error for log collectors: each line is one JSON object with "time", "level" and "event". Valid JSON for any
/// input: bytes that are not UTF-8 become U+FFFD.
///
/// Sentences about the end of a command that standard error, its JSON form and the termination message share.
namespace shardkit::cli {

/// {"code","text","path","offset"}; null for a path or an offset that there is not.
nlohmann::ordered_json failure_json(const Failure& failure);

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
  virtual std::string forced_end(int signal) const = 0;

 protected:
  virtual void warning(const Warning& warning) const = 0;
};

/// `text` and `io` outlive the messages.
std::unique_ptr<Messages> make_messages(LogFormat format, std::string_view program, const CommandText& text,
                                        const Io& io);

/// {"time":..,"level":"info","event":"progress","phase":..,"items":..,"items_total":..,"bytes":..,"bytes_total":..},
/// with a newline.
std::string progress_json(const ProgressSample& now);

/// What the process says when it has to leave without the command's consent.
inline constexpr std::string_view kForcedEnd = "told to stop, and leaving with work unfinished";

/// True when it was a signal that ended the command, not a fault.
bool was_stopped(const Failure& failure);

/// "SIGTERM"; SIGINT for a stop without a signal.
std::string_view signal_name(int signal);

/// "stopped by SIGTERM", or "error: ..." with the file and offset concerned: one line without control characters.
/// `title` is the word "error", painted or not.
std::string failure_text(const Failure& failure, int signal, std::string_view title = "error");

/// How to go on after a stop; empty for a verb that starts anew.
std::string_view how_to_go_on(const CommandText& text);

/// "--soft-fail: exit code 0 instead of 4", for an outcome that was softened.
std::string soft_fail_text(const Outcome& outcome);

/// The file that Kubernetes mounts into every container. What stands in it when the container ends is shown as the
/// reason (`kubectl describe pod`), its first 4096 bytes.
inline constexpr const char* kTerminationLog = "/dev/termination-log";

/// Replaces the content of `path` by the line `end` and, where it is not empty, the line `go_on`. Together they have
/// 4096 bytes at most, for which `end` is cut, and are valid UTF-8, without which the message is lost on its way.
/// Writes only into a regular file that is there already; creates nothing and ignores every error. An empty path is no
/// file. Throws nothing but std::bad_alloc.
void write_termination_message(const std::string& path, std::string_view end, std::string_view go_on);

}  // namespace shardkit::cli
