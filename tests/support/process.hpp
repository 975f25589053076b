#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace shardkit_test {

/// How a program ended: its exit code, 128 + signal when one killed it.
struct Exit {
  int code = 0;
  std::string output;  ///< standard output and standard error as they came, or what a terminal would have shown
};

/// A program that runs beside the test. Its two output streams end in one pipe or, with Terminal::yes, in a
/// pseudo-terminal of 100 columns. Killed by the destructor if it still runs.
class Process {
 public:
  enum class Terminal { no, yes };

  /// `environment` holds additions, "NAME=value".
  explicit Process(const std::vector<std::string>& command, Terminal terminal = Terminal::no,
                   const std::vector<std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const;
  /// Reads until the output so far contains `text`; false when the program ended without saying it.
  bool wait_for(const std::string& text);
  /// Reads to the end and waits. A program that is silent for 60 s is killed: code 137.
  Exit finish();

 private:
  bool read_some();

  pid_t pid_ = -1;
  int fd_ = -1;
  std::string output_;
};

}  // namespace shardkit_test
