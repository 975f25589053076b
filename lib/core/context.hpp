#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/bytes.hpp"
#include "core/finding.hpp"

namespace shardkit {

/// Counters that a command updates while it works and that lib/cli reads for its progress line. All are relaxed
/// atomics: any thread may write or read, without waiting.
struct Progress {
  std::atomic<const char*> phase{""};         ///< current phase; a string literal
  std::atomic<const char*> noun{""};          ///< name of the items: "images"; a string literal, empty: not shown
  std::atomic<std::uint64_t> items{0};        ///< samples or files finished in this phase
  std::atomic<std::uint64_t> items_total{0};  ///< 0 while unknown
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> bytes_total{0};
  std::atomic<double> budget_seconds{0};  ///< of a phase that ends by time; 0: none
  std::atomic<std::uint64_t> starts{0};   ///< phases so far
  std::atomic<unsigned> stage{0};         ///< current part of the command, from 1; it may have several phases
  std::atomic<unsigned> stages{0};        ///< 0: the command has no parts

  /// Starts a phase: sets its name, totals and the name of its items, resets the counters.
  void start(const char* name, std::uint64_t total_items = 0, std::uint64_t total_bytes = 0,
             const char* items_name = "");
  /// The same for a phase that ends after `seconds`.
  void start_for(const char* name, double seconds, const char* items_name = "");

  void expect_stages(std::size_t count) { stages = static_cast<unsigned>(count); }
  void next_stage() { ++stage; }
};

/// A request that failed and is repeated.
struct RepeatedRequest {
  std::string address;
  std::string reason;
  unsigned attempt = 0;        ///< that failed, from 1
  unsigned attempts = 0;       ///< maximum in a row
  double wait_seconds = 0;     ///< until the next attempt
  bool asked_to_wait = false;  ///< by the server, with Retry-After
  std::uint64_t more = 0;      ///< repeated requests since the last one in the log, without this one
};

/// Gets messages when they occur, from any thread, one at a time.
class Log {
 public:
  virtual ~Log() = default;
  virtual void warning(const Finding& warning) = 0;
  virtual void repeated(const RepeatedRequest& request) = 0;
};

/// What a command borrows from its caller: a stop token, progress counters and a list of warnings. Thread-safe.
class Context {
 public:
  Context() = default;
  explicit Context(std::stop_token stop) : stop_(std::move(stop)) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Progress& progress() { return progress_; }
  const std::stop_token& stop_token() const { return stop_; }

  /// Throws Error{cancelled} after a stop request. Call it between units of work.
  void throw_if_stopped() const;

  /// Standard output, for a verb with output of any length (ls, cat): written while the verb works and not part of the
  /// result. Null if the caller needs only the result. If the reader has closed it, write() throws an Error, which the
  /// verb passes on. One thread at a time.
  ByteSink* output() const { return output_; }
  /// True if the result is needed, in addition or only: then it must contain the streamed data too.
  bool keeps_result() const { return keeps_result_; }
  /// Called before the command runs; `sink` outlives the context. Without it there is no output() and the result is
  /// kept.
  void lend_output(ByteSink& sink, bool keeps_result) {
    output_ = &sink;
    keeps_result_ = keeps_result;
  }

  /// Called before the command runs; `log` outlives the context.
  void lend_log(Log& log) { log_ = &log; }

  /// Reports a repeated request to the log: at most one in a second, with the number of the others.
  void repeated(RepeatedRequest request);
  /// Reports the latest request that is only counted so far.
  void flush_log();

  /// Identical warnings are added only once, because a verb that measures several times causes them each time.
  void warn(std::string code, std::string text);
  /// The same with a text like that of fmt::format().
  template <class... Args>
  requires(sizeof...(Args) > 0) void warn(std::string code, fmt::format_string<Args...> text, Args&&... args) {
    warn(std::move(code), fmt::vformat(text, fmt::make_format_args(args...)));
  }
  /// While it lives, warnings are about one of several sets and start with its name, so that those of different sets
  /// are different warnings. Made and destroyed by the thread that works on the set; an empty name changes nothing.
  class Scope {
   public:
    Scope(Context& context, const std::string& set) : context_(context) { context_.set_scope(set); }
    ~Scope() { context_.set_scope({}); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Context& context_;
  };

  /// A copy of the warnings so far, in order.
  std::vector<Finding> warnings() const;

 private:
  void set_scope(const std::string& set);

  std::stop_token stop_;
  ByteSink* output_ = nullptr;
  bool keeps_result_ = true;
  Log* log_ = nullptr;
  Progress progress_;
  mutable std::mutex mutex_;
  std::vector<Finding> warnings_;
  std::string scope_;                     ///< set of the warnings; empty: none
  std::unordered_set<std::string> said_;  ///< code and text of each
  std::optional<RepeatedRequest> held_;   ///< the latest that is not in the log
  std::optional<std::chrono::steady_clock::time_point> logged_at_;
};

}  // namespace shardkit
