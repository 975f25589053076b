#include "system/shell.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"

namespace shardkit::system {
namespace {

void connect(posix_spawn_file_actions_t& actions, int descriptor, int target) {
  if (descriptor < 0) {
    posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_RDWR, 0);
  } else {
    posix_spawn_file_actions_adddup2(&actions, descriptor, target);
  }
}

/// Otherwise waitpid(2) waits for all children and then knows none.
void keep_exit_statuses() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) std::signal(SIGCHLD, SIG_DFL);
}

}  // namespace

Shell::Shell(const std::string& command, int output, int errors) {
  keep_exit_statuses();
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  connect(actions, -1, STDIN_FILENO);
  connect(actions, output, STDOUT_FILENO);
  connect(actions, errors, STDERR_FILENO);
  // Signal settings of this process must not apply to its children.
  sigset_t blocked;
  sigset_t defaults;
  sigemptyset(&blocked);
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&defaults, signal);
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

Shell::~Shell() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

int Shell::wait() { return *status(0); }

std::optional<int> Shell::try_wait() { return status(WNOHANG); }

std::optional<int> Shell::status(int flags) {
  int status = 0;
  pid_t ended = -1;
  while ((ended = ::waitpid(pid_, &status, flags)) < 0 && errno == EINTR) {
  }
  if (ended == 0) return std::nullopt;
  const pid_t waited_for = std::exchange(pid_, -1);
  if (ended < 0) throw system_error(errno, "wait for", fmt::format("process {}", waited_for));
  return status;
}

void Shell::signal(int number) const { ::kill(-pid_, number); }

}  // namespace shardkit::system
