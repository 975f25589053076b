#include "io/run_file.hpp"

#include <chrono>
#include <filesystem>
#include <optional>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> run_files(const TempDir& dir) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(dir.path())) paths.push_back(entry.path());
  return paths;
}

std::vector<Run> live(const TempDir& dir, LockReach reach = LockReach::everyone, std::chrono::seconds from_now = {}) {
  return live_runs(dir.path(), reach, system::system_clock().now() + from_now);
}

/// Leaves the file of a process that was killed.
void leave_dead_run(const TempDir& dir, const char* plan) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto files = posix_file_system();
    RunFile run(*files, dir.path());
    run.follow(plan);
    ::raise(SIGKILL);
  }
  REQUIRE(child > 0);
  ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("a run is known to others, with its plan, until it ends") {
  const TempDir dir;
  const auto files = posix_file_system();
  std::optional<RunFile> one(std::in_place, *files, dir.path());
  RunFile other(*files, dir.path());
  CHECK(other.others().at(0).plan.empty());
  one->follow("plan a");
  const Run run = other.others().at(0);
  CHECK(run.plan == "plan a");
  CHECK(run.process == static_cast<std::uint64_t>(::getpid()));
  CHECK_FALSE(run.host.empty());
  CHECK(one->others().size() == 1);
  one.reset();
  CHECK(other.others().empty());
  CHECK(run_files(dir).size() == 1);
}

TEST_CASE("a killed run is dead at once where locks reach everyone, and the next one can remove its file") {
  const TempDir dir;
  leave_dead_run(dir, "a");
  CHECK(run_files(dir).size() == 1);
  CHECK(live(dir).empty());
  const auto files = posix_file_system();
  RunFile next(*files, dir.path());
  CHECK(run_files(dir).size() == 2);
  next.remove_dead();
  CHECK(run_files(dir).size() == 1);
  CHECK(next.others().empty());
}

TEST_CASE("where locks may not reach, a run lives as long as its signs of life are recent") {
  const TempDir dir;
  leave_dead_run(dir, "a");
  CHECK(live(dir, LockReach::perhaps_not).at(0).plan == "a");
  CHECK(live(dir, LockReach::perhaps_not, kRunSilence / 2).size() == 1);
  CHECK(live(dir, LockReach::perhaps_not, kRunSilence + std::chrono::seconds(2)).empty());
}

TEST_CASE("a damaged run file is a live run of a plan of its own, as long as it is locked") {
  const TempDir dir;
  const auto files = posix_file_system();
  {
    RunFile run(*files, dir.path());
    run.follow("a");
    const std::string path = run_files(dir).front();
    const std::string text = read_file(path);
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      write_file(path, damaged);
      CHECK(live(dir).at(0).plan == "unknown");
      write_file(path, text.substr(0, at));
      CHECK(live(dir).at(0).plan == "unknown");
    }
  }
  CHECK(live(dir).empty());
}

TEST_CASE("a run whose file others removed knows that") {
  const TempDir dir;
  const auto files = posix_file_system();
  const RunFile run(*files, dir.path());
  run.require();
  fs::remove(run_files(dir).front());
  CHECK_THROWS_WITH_AS(run.require(), doctest::Contains("run the same command again"), Error);
}
