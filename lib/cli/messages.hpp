#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/outcome.hpp"
#include "cli/progress.hpp"

/// Standard error for log collectors: each line is one JSON object with "time", "level" and "event". Valid JSON for any
/// input: bytes that are not UTF-8 become U+FFFD.
///
/// Sentences about the end of a command, shared by standard error, its JSON form and the termination message.
namespace shardkit::cli {

struct Report;

/// {"code","text","path","offset"}; null for a missing path or offset.
nlohmann::ordered_json failure_json(const Error& failure);

/// Messages of a command on standard error, and its progress: text ("shardctl: error: ..."), or with --log json the
/// events "warning", "retry", "error", "stopped", "soft_fail" and, at the end of each command, "done".
class Messages final : public Log {
 public:
  /// `text` and `console` outlive the messages.
  Messages(LogFormat format, std::string_view program, const CommandText& text, const Console& console)
      : json_(format == LogFormat::json), program_(program), text_(text), console_(console) {}

  /// Shows the progress of a command until it ends. `progress` outlives that.
  void start_progress(const Progress& progress);
  void end_progress() { monitor_.reset(); }

  /// Shows the first 20, also between lines of progress.
  void warning(const Finding& warning) override;
  void repeated(const RepeatedRequest& request) override;
  /// The number of warnings that were not shown, if there are any.
  void more_warnings();

  /// The error, or the stop by `signal` and how to continue; for a usage error where the help is. The outcome has a
  /// failure.
  void failure(const Outcome& outcome, int signal) const;

  /// The "done" event with the operands and, if there is one, the result without its lists; in text form the report
  /// has this role.
  void done(const Report& report) const;

  /// The last message before the process ends without waiting for the command. From any thread.
  std::string forced_end(int signal) const;

 private:
  void json_failure(const Outcome& outcome, int signal) const;
  std::string json_stop(int signal, int exit_code, std::string_view text) const;
  void put(const std::string& text);
  std::string warning_text(const Finding& warning) const;
  void say(std::string_view line) const;
  std::string titled(std::string_view line) const;
  std::string go_on_line() const;
  std::string painted(std::string_view text, std::string_view color) const;

  bool json_;
  std::string_view program_;
  const CommandText& text_;
  const Console& console_;
  std::size_t warnings_ = 0;  ///< so far
  std::optional<ProgressMonitor> monitor_;
};

/// {"time":..,"level":"info","event":"progress","phase":..,"items":..,"items_total":..,"bytes":..,"bytes_total":..,
/// "stage":..,"stages":..}, with a newline.
std::string progress_json(const ProgressSample& now);

/// Message when the process ends without waiting for the command.
inline constexpr std::string_view kForcedEnd = "interrupted; stopping before the work is complete";

/// "stopped by SIGTERM", or "error: ..." with file and offset: one line without control characters. `title` is the word
/// "error", colored or not.
std::string failure_text(const Error& failure, std::string_view title = "error");

/// How to continue after a stop; empty for a verb that starts again.
std::string_view how_to_go_on(const CommandText& text);

/// A file that Kubernetes mounts into every container. Its first 4096 bytes are shown as the reason when the container
/// ends (`kubectl describe pod`).
inline constexpr const char* kTerminationLog = "/dev/termination-log";

/// Replaces the content of `path` by the line `end` and, if not empty, the line `go_on`. Together they have at most
/// 4096 bytes, for which `end` is cut, and are valid UTF-8, because otherwise the message would be lost. Writes only
/// into an existing regular file and ignores every error. An empty path means no file. Throws only std::bad_alloc.
void write_termination_message(const std::string& path, std::string_view end, std::string_view go_on);

}  // namespace shardkit::cli
