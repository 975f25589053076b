// A program whose verbs behave badly or slowly on request; process_test.cpp starts it.

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "cli/app.hpp"
#include "core/error.hpp"

namespace {

using shardkit::Context;

struct NoOptions {
  void describe(shardkit::FieldList&) {}
};

struct Sum {
  std::uint64_t samples = 0;
  bool interrupted = false;
  void describe(shardkit::FieldList& v) { v.field({"samples", shardkit::Unit::count, "samples seen"}, samples); }
};

void say(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::char_traits<char>::length(text));
}

/// Never looks at its stop token.
Sum stuck(const NoOptions&, Context&) {
  say("working\n");
  while (true) pause();
}

/// Has a stop callback that never returns, which must not keep the process alive.
Sum tangled(const NoOptions&, Context& context) {
  const std::stop_callback never(context.stop_token(), [] {
    while (true) pause();
  });
  say("working\n");
  while (true) pause();
}

/// Ends as soon as it is asked to.
Sum patient(const NoOptions&, Context& context) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  say("working\n");
  wake.wait(lock, context.stop_token(), [] { return false; });
  context.throw_if_stopped();
  return {};
}

/// Ends as soon as it is asked to, with what it had.
Sum honest(const NoOptions& options, Context& context) {
  try {
    return patient(options, context);
  } catch (const shardkit::Error&) {
    return {7, true};
  }
}

/// Warns before it is asked to end, and takes a moment for that.
Sum tidy(const NoOptions& options, Context& context) {
  context.warn("early", "this comes early");
  try {
    return patient(options, context);
  } catch (const shardkit::Error&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    throw;
  }
}

/// Counts long enough for a bar to be drawn a few times.
Sum count(const NoOptions&, Context& context) {
  constexpr std::uint64_t kSteps = 100;
  context.progress().start("count", kSteps);
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    ++context.progress().items;
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
  context.warn("slow", "that was slow");
  return {kSteps};
}

shardkit::cli::Command verb(std::string_view name, Sum (*run)(const NoOptions&, Context&)) {
  return shardkit::cli::make_command({.name = name, .summary = "a fake", .description = "A fake.", .resumable = true},
                                     run);
}

}  // namespace

/// With FAKE_TERMINATION_LOG=PATH its error goes there as well.
int main(int argc, char** argv) {
  const shardkit::cli::App app{.name = "fake",
                               .summary = "behave badly",
                               .commands = {verb("stuck", stuck), verb("tangled", tangled), verb("patient", patient),
                                            verb("honest", honest), verb("tidy", tidy), verb("count", count)}};
  const char* log = std::getenv("FAKE_TERMINATION_LOG");
  if (log == nullptr) return shardkit::cli::run_app(app, argc, argv);
  const std::vector<std::string> args(argv + 1, argv + argc);
  return shardkit::cli::run_app(app, args, {.out = std::cout, .err = std::cerr, .termination_log = log});
}
