#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/bytes.hpp"

namespace shardkit {

/// Counters that a command raises while it works and that lib/cli samples for its progress line. All relaxed
/// atomics: any thread may write, any thread may read, nothing waits.
struct Progress {
  std::atomic<const char*> phase{""};         ///< what is being done now; a string literal
  std::atomic<std::uint64_t> items{0};        ///< samples or files finished in this phase
  std::atomic<std::uint64_t> items_total{0};  ///< 0 while unknown
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> bytes_total{0};

  /// Starts a phase: sets its name and totals, zeroes the counters.
  void start(const char* name, std::uint64_t total_items = 0, std::uint64_t total_bytes = 0);
};

/// Something the user should know that did not stop the command. `code` is stable and snake_case.
struct Warning {
  std::string code;
  std::string text;
};

/// What a command borrows from its caller: a stop token, progress counters and a place for warnings. Thread-safe.
class Context {
 public:
  Context() = default;
  explicit Context(std::stop_token stop) : stop_(std::move(stop)) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Progress& progress() { return progress_; }
  const std::stop_token& stop_token() const { return stop_; }

  /// Throws Error{cancelled} once a stop has been requested. Call it between units of work.
  void throw_if_stopped() const;

  /// Standard output, for a verb whose output is a stream of any length (ls, cat): it is written while the verb works
  /// and lies in no result. Null where the caller wants the result alone. A reader that went away is an Error from
  /// write(), which the verb lets pass. One thread at a time.
  ByteSink* output() const { return output_; }
  /// True when the result is wanted as well, or alone: what was streamed belongs in it too.
  bool keeps_result() const { return keeps_result_; }
  /// Before the command runs; `sink` outlives the context. Without it there is no output() and the result is kept.
  void lend_output(ByteSink& sink, bool keeps_result) {
    output_ = &sink;
    keeps_result_ = keeps_result;
  }

  /// What was said already, word by word, is not said again: a verb that measures several times meets it each time.
  void warn(std::string code, std::string text);
  /// A copy of the warnings so far, in the order they came.
  std::vector<Warning> warnings() const;

 private:
  std::stop_token stop_;
  ByteSink* output_ = nullptr;
  bool keeps_result_ = true;
  Progress progress_;
  mutable std::mutex mutex_;
  std::vector<Warning> warnings_;
  std::unordered_set<std::string> said_;  ///< code and text of each
};

}  // namespace shardkit
