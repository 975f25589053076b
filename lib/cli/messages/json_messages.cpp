#include "cli/messages/json_messages.hpp"

#include <chrono>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/envelope.hpp"
#include "cli/messages/failure_json.hpp"
#include "cli/messages/message_text.hpp"
#include "net/timestamp.hpp"

namespace shardkit {
namespace {

using Json = nlohmann::ordered_json;

std::string line(std::string_view level, std::string_view event, const Json& members) {
  Json object{{"time", rfc3339(std::chrono::system_clock::now())}, {"level", level}, {"event", event}};
  object.update(members);
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string stopped(int signal, int exit_code, const std::string& text) {
  return line("info", "stopped", {{"signal", signal_name(signal)}, {"exit_code", exit_code}, {"text", text}});
}

}  // namespace

std::string progress_json(const ProgressSample& now) {
  return line("info", "progress",
              {{"phase", now.phase},
               {"items", now.items},
               {"items_total", now.items_total},
               {"bytes", now.bytes},
               {"bytes_total", now.bytes_total}});
}

void JsonMessages::failure(const Outcome& outcome, int signal) const {
  const Failure& failure = *outcome.failure;
  if (was_stopped(failure)) {
    err_ << stopped(signal, outcome.exit_code, with_how_to_go_on(failure_text(failure, signal)));
    return;
  }
  Json members = failure_json(failure);
  members["exit_code"] = outcome.exit_code;
  err_ << line("error", "error", members);
  if (outcome.softened_from != 0) err_ << line("info", "soft_fail", {{"text", soft_fail_text(outcome)}});
}

void JsonMessages::done(const Outcome& outcome, double elapsed_seconds) const {
  err_ << line("info", "done",
               {{"status", outcome.status()}, {"exit_code", outcome.exit_code}, {"elapsed_seconds", elapsed_seconds}});
}

std::string JsonMessages::farewell(int signal) const {
  return stopped(signal, 128 + signal, with_how_to_go_on(kFarewell));
}

void JsonMessages::warning(const Warning& warning) const {
  err_ << line("warning", "warning", {{"code", warning.code}, {"text", warning.text}});
}

std::string JsonMessages::with_how_to_go_on(std::string_view text) const {
  const std::string_view words = how_to_go_on(text_);
  return words.empty() ? std::string(text) : fmt::format("{}; {}", text, words);
}

}  // namespace shardkit
