#pragma once

#include <iosfwd>
#include <string>

#include "cli/messages/messages.hpp"
#include "cli/messages/progress_line.hpp"

/// Standard error for log collectors: each line is one JSON object with "time", "level" and "event". Valid JSON for any
/// input: bytes that are not UTF-8 become U+FFFD.
namespace shardkit {

/// {"time":..,"level":"info","event":"progress","phase":..,"items":..,"items_total":..,"bytes":..,"bytes_total":..},
/// with a newline.
std::string progress_json(const ProgressSample& now);

/// Events "warning", "error", "stopped", "soft_fail" and, at the end of each command, "done".
class JsonMessages final : public Messages {
 public:
  JsonMessages(const CommandText& text, std::ostream& err) : text_(text), err_(err) {}

  void failure(const Outcome& outcome, int signal) const override;
  void done(const Outcome& outcome, double elapsed_seconds) const override;
  std::string farewell(int signal) const override;

 protected:
  void warning(const Warning& warning) const override;

 private:
  std::string with_how_to_go_on(std::string_view text) const;

  const CommandText& text_;
  std::ostream& err_;
};

}  // namespace shardkit
