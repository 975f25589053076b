#include "net/program_output.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/file.hpp"

namespace shardkit {
namespace {

constexpr int kPollMs = 50;

Error failure(const char* how) {
  return Error(ErrorCode::denied, fmt::format("the program that should print credentials {}", how));
}

/// A shell in a process group of its own, killed with all in it unless it has ended.
class Shell {
 public:
  Shell(const std::string& command, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    // What this process does about signals is not for its children.
    sigset_t blocked;
    sigset_t defaults;
    sigemptyset(&blocked);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const std::array<const char*, 4> words{"sh", "-c", command.c_str(), nullptr};
    const int error =
        posix_spawn(&pid_, "/bin/sh", &actions, &attributes, const_cast<char* const*>(words.data()), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) throw system_error(error, "start", "/bin/sh");
  }
  ~Shell() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    wait();
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// Its exit status, as waitpid has it.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
};

}  // namespace

std::string program_output(const std::string& command, std::size_t limit, Seconds time, const std::stop_token& stop) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error(errno, "make", "a pipe");
  const File reading(ends[0], "pipe");
  File writing(ends[1], "pipe");
  Shell shell(command, writing.fd());
  { const File closed = std::move(writing); }
  const Seconds deadline = system_clock().monotonic() + time;
  std::string output;
  for (std::array<char, 4096> block{};;) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while looking for credentials");
    if (system_clock().monotonic() > deadline) throw failure("takes too long");
    pollfd ready{reading.fd(), POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) <= 0) continue;
    const ssize_t got = ::read(reading.fd(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.append(block.data(), static_cast<std::size_t>(got));
    if (output.size() > limit) throw failure("prints too much");
  }
  if (shell.wait() != 0) throw failure("ends with an error");
  return output;
}

}  // namespace shardkit
