#include "system/program_output.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"
#include "system/probe.hpp"
#include "system/shell.hpp"

namespace shardkit::system {
namespace {

constexpr std::chrono::milliseconds kPause{5};
constexpr std::size_t kShownErrors = 300;  // bytes

/// A file in memory: unlike a pipe it neither blocks the program nor is kept open by children that stay.
class Output {
 public:
  Output() : fd_(::memfd_create("output", MFD_CLOEXEC)) {
    if (fd_ < 0) throw system_error(errno, "create", "a file in memory");
  }
  ~Output() { ::close(fd_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  int fd() const { return fd_; }

  std::size_t size() const {
    struct stat info {};
    return ::fstat(fd_, &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
  }

  /// The first `most` bytes.
  std::string begin(std::size_t most) const { return read(0, std::min(most, size())); }
  /// The last `most` bytes.
  std::string end(std::size_t most) const {
    const std::size_t whole = size();
    const std::size_t length = std::min(most, whole);
    return read(whole - length, length);
  }

 private:
  std::string read(std::size_t offset, std::size_t length) const {
    std::string text(length, '\0');
    const ssize_t got = ::pread(fd_, text.data(), text.size(), static_cast<off_t>(offset));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

  int fd_;
};

Error failure(const std::string& what, const std::string& how) {
  return Error(ErrorCode::denied, fmt::format("{} {}", what, how));
}

int wait_for(Shell& shell, const std::string& what, const ProgramLimits& limits, const std::stop_token& stop,
             const Output& output, const Output& errors) {
  const Seconds deadline = system_clock().monotonic() + limits.time;
  while (true) {
    if (const auto status = shell.try_wait()) return *status;
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, fmt::format("interrupted while {} ran", what));
    if (system_clock().monotonic() > deadline)
      throw failure(what, fmt::format("takes longer than {} s", limits.time.count()));
    if (std::max(output.size(), errors.size()) > limits.bytes) throw failure(what, "prints too much");
    std::this_thread::sleep_for(kPause);
  }
}

/// The first and the last line with a text: of a usage message the first matters, of a stack trace the last.
std::string first_and_last_line(const Output& errors) {
  const std::string begin = errors.begin(kShownErrors);
  const std::string end = errors.end(kShownErrors);
  const std::string_view first_lines = trimmed(begin);
  const std::string_view last_lines = trimmed(end);
  const std::string_view first = trimmed(first_lines.substr(0, first_lines.find('\n')));
  const std::string_view last = trimmed(last_lines.substr(last_lines.rfind('\n') + 1));  // npos + 1 is 0
  const bool is_one = trimmed(errors.end(errors.size())).find('\n') == std::string::npos;
  if (is_one || first.empty() || last.empty()) return std::string(first.empty() ? last : first);
  return fmt::format("{} ... {}", first, last);
}

/// "ended with exit code 3: Unable to locate the token", with what it printed.
std::string how_it_ended(int status, const Output& errors) {
  const std::string printed = first_and_last_line(errors);
  return fmt::format("{} {}{}{}", WIFSIGNALED(status) ? "was ended by signal" : "ended with exit code",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), printed.empty() ? "" : ": ",
                     printed);
}

}  // namespace

std::string program_output(const std::string& what, const std::string& command, const ProgramLimits& limits,
                           const std::stop_token& stop) {
  const Output output;
  const Output errors;
  Shell shell(command, output.fd(), errors.fd());
  const int status = wait_for(shell, what, limits, stop, output, errors);
  if (status != 0) throw failure(what, how_it_ended(status, errors));
  if (output.size() > limits.bytes) throw failure(what, "prints too much");
  return output.end(limits.bytes);
}

}  // namespace shardkit::system
