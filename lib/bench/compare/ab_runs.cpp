#include "bench/compare/ab_runs.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "bench/results/result_file.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/prng.hpp"
#include "io/file.hpp"
#include "io/temporary_folder.hpp"
#include "system/shell.hpp"

namespace shardkit::bench {
namespace {

namespace fs = std::filesystem;

/// A folder for the result and the output of one command at a time.
class WorkFolder {
 public:
  WorkFolder() : path_(io::temporary_folder() + "/shardkit-compare-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw system_error(errno, "make", path_);
  }
  ~WorkFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  std::string result() const { return path_ + "/result.json"; }
  std::string output() const { return path_ + "/output"; }

 private:
  std::string path_;
};

/// The end of what a command printed, for an error.
std::string end_of_output(const std::string& path) {
  constexpr std::size_t kShown = 1000;
  std::string text = io::read_text_file(path);
  while (text.ends_with('\n')) text.pop_back();
  if (text.size() > kShown) text = "..." + text.substr(text.size() - kShown);
  std::string line;  // a message has no line ends
  for (const char c : text) line += c == '\n' ? " | " : std::string(1, c);
  return line.empty() ? "It printed nothing" : "The end of its output: " + line;
}

/// Waits for the command; a stop ends its processes, at first politely.
int wait_for(system::Shell& shell, Context& context) {
  constexpr std::chrono::milliseconds kPause{10};
  constexpr int kPauses = 100;  // 1 s: the process itself ends 2 s after a signal
  for (int polite = 0;; std::this_thread::sleep_for(kPause)) {
    if (const auto status = shell.try_wait()) {
      context.throw_if_stopped();
      return *status;
    }
    if (!context.stop_token().stop_requested()) continue;
    if (polite == 0) shell.signal(SIGTERM);
    if (++polite > kPauses) context.throw_if_stopped();  // the group is killed
  }
}

std::string status_text(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("failed with exit code {}", WEXITSTATUS(status));
}

/// The result of one command, and its name in messages.
struct CommandResult {
  std::string name;
  nlohmann::json envelope;
};

/// Runs one command. Exit codes 3 and 1 may have a result: a finding, or a verdict that others disturbed.
CommandResult run_command(char side, const std::string& command, std::uint64_t pair, Context& context) {
  const WorkFolder folder;
  int status = 0;
  {
    const io::File output(::open(folder.output().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600), folder.output());
    if (output.fd() < 0) throw system_error(errno, "create", folder.output());
    const std::string set = fmt::format("export {}={}\n", kResultVariable, shell_quoted(folder.result()));
    system::Shell shell(set + command, output.fd(), output.fd());
    status = wait_for(shell, context);
  }
  const bool wrote = fs::exists(folder.result());
  const std::string name = fmt::format("{}: '{}' of pair {}", side, command, pair);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code != 0 && !(wrote && (code == 3 || code == 1))) {
    throw Error(ErrorCode::conflict, At{}, "{} {}. Run it alone to find out why. {}", name, status_text(status),
                end_of_output(folder.output()));
  }
  if (!wrote) {
    throw Error(ErrorCode::conflict, At{},
                "{} wrote no result to ${}. Verbs of iobench that measure do so by themselves; other programs must "
                "write one there. {}",
                name, kResultVariable, end_of_output(folder.output()));
  }
  context.progress().items.fetch_add(1, std::memory_order_relaxed);
  return {name, read_result_file(folder.result())};
}

/// Runs both commands and adds their results once both have one.
void run_pair(const CompareOptions& options, std::uint64_t pair, bool base_first, Context& context,
              AbMeasurements& ab) {
  std::optional<CommandResult> base;
  std::optional<CommandResult> changed;
  for (const bool is_base : {base_first, !base_first}) {
    context.throw_if_stopped();
    (is_base ? base : changed) =
        run_command(is_base ? 'A' : 'B', is_base ? *options.base : options.changed, pair, context);
  }
  add_run(base->name, base->envelope, ab.base);
  add_run(changed->name, changed->envelope, ab.changed);
  ab.runs.order += (pair == 1 ? "" : " ") + std::string(base_first ? "AB" : "BA");
  ab.runs.pairs = pair;
}

}  // namespace

AbMeasurements measure_ab(const CompareOptions& options, Context& context) {
  AbMeasurements ab;
  Prng order(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
  context.progress().start("running commands", 2 * options.repeat, 0, "runs");
  try {
    while (ab.runs.pairs < options.repeat) run_pair(options, ab.runs.pairs + 1, order.below(2) == 0, context, ab);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || ab.runs.pairs == 0) throw;
  }
  settle(ab.base);
  settle(ab.changed);
  return ab;
}

}  // namespace shardkit::bench
