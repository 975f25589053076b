#include "support/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardkit_test {
namespace {

constexpr int kSilenceMs = 60'000;

/// Ends in exec; only the child comes here.
[[noreturn]] void become(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                         int out) {
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

/// Where to read, and what the child writes to.
std::pair<int, int> open_channel(Process::Terminal terminal) {
  std::array<int, 2> ends{};
  winsize size{.ws_row = 25, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  const bool opened = terminal == Process::Terminal::yes ? openpty(&ends[0], &ends[1], nullptr, nullptr, &size) == 0
                                                         : pipe(ends.data()) == 0;
  if (!opened) throw std::system_error(errno, std::generic_category(), "no pipe or terminal for a child");
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  return {ends[0], ends[1]};
}

}  // namespace

Process::Process(const std::vector<std::string>& command, Terminal terminal,
                 const std::vector<std::string>& environment) {
  const auto [mine, theirs] = open_channel(terminal);
  pid_ = fork();
  if (pid_ == 0) become(command, environment, theirs);
  close(theirs);
  fd_ = mine;
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(fd_);
}

void Process::send(int signal) const { kill(pid_, signal); }

bool Process::read_some() {
  pollfd ready{fd_, POLLIN, 0};
  if (poll(&ready, 1, kSilenceMs) == 0) {
    kill(pid_, SIGKILL);
    return false;
  }
  std::array<char, 4096> buffer{};
  const ssize_t count = read(fd_, buffer.data(), buffer.size());
  if (count <= 0) return false;  // a terminal whose child has gone answers EIO
  output_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

bool Process::wait_for(const std::string& text) {
  while (output_.find(text) == std::string::npos) {
    if (!read_some()) return false;
  }
  return true;
}

Exit Process::finish() {
  while (read_some()) {
  }
  int status = 0;
  if (waitpid(std::exchange(pid_, -1), &status, 0) < 0) throw std::system_error(errno, std::generic_category(), "wait");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output_};
}

}  // namespace shardkit_test
