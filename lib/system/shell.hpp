#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace shardkit::system {

/// A command of /bin/sh in its own process group, without standard input. The destructor kills the group unless the
/// shell was waited for. For one thread.
class Shell {
 public:
  /// Writes to the descriptors `output` and `errors`; -1: to nothing. Throws
  /// Error.
  Shell(const std::string& command, int output, int errors);
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// Its exit status, as of waitpid(2).
  int wait();
  /// The same, empty while it runs.
  std::optional<int> try_wait();
  /// Sends a signal to the whole group.
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
};

}  // namespace shardkit::system
