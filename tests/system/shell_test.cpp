#include "system/shell.hpp"

#include <csignal>
#include <optional>

#include <doctest/doctest.h>
#include <sys/wait.h>

using namespace shardkit::system;

TEST_CASE("the exit status of a command is known, also in a process whose parent ignored SIGCHLD") {
  for (const auto handler : {SIG_DFL, SIG_IGN}) {
    std::signal(SIGCHLD, handler);
    Shell failing("exit 7", -1, -1);
    CHECK(WEXITSTATUS(failing.wait()) == 7);

    std::signal(SIGCHLD, handler);
    Shell polled("exit 8", -1, -1);
    std::optional<int> status;
    while (!(status = polled.try_wait())) {
    }
    CHECK(WEXITSTATUS(*status) == 8);
  }
  std::signal(SIGCHLD, SIG_DFL);
}
