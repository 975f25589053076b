#include "system/shell.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
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

}  // namespace

Shell::Shell(const std::string& command, int output, int errors) {
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
  wait();
}

int Shell::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

std::optional<int> Shell::try_wait() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return status;
}

void Shell::signal(int number) const { ::kill(-pid_, number); }

}  // namespace shardkit::system
