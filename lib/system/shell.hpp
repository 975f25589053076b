#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace shardkit::system {

/// A command of /bin/sh in its own process group, without standard input. The destructor kills the group unless the
/// shell was waited for. For one thread.
class Shell {
 public:
  /// Writes to the descriptors `output` and `errors`; -1: to nothing. If this process inherited that SIGCHLD is
  /// ignored, as some init programs do, ends that, because the system would keep no exit status. Throws Error.
  Shell(const std::string& command, int output, int errors);
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// Its exit status, as of waitpid(2). Throws Error if the system does not tell it.
  int wait();
  /// The same, empty while it runs.
  std::optional<int> try_wait();
  /// Sends a signal to the whole group.
  void signal(int number) const;

 private:
  std::optional<int> status(int flags);

  pid_t pid_ = -1;
};

}  // namespace shardkit::system
