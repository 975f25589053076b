#include <filesystem>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "cli/fake_app.hpp"
#include "cli/messages.hpp"
#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit_test;
using shardkit::cli::write_termination_message;

namespace {

template <shardkit::ErrorCode code>
FakeResult fail(const FakeOptions&, shardkit::Context&) {
  throw shardkit::Error(code, "it went wrong", "/data/x.tar", 512);
}

/// A file that is there already, as Kubernetes mounts it.
class Log {
 public:
  Log() { write_file(path(), "what an earlier command left, which may be longer than the message that follows it"); }
  std::string path() const { return dir_.path("termination-log"); }
  std::string text() const { return read_file(path()); }

 private:
  TempDir dir_;
};

std::string left_by(Behavior behavior, const std::vector<std::string>& args) {
  const Log log;
  run_fake(behavior, args, log.path());
  return log.text();
}

constexpr auto kCorrupt = fail<shardkit::ErrorCode::corrupt>;

}  // namespace

TEST_CASE("a command that fails leaves its error, and a resumable one how to go on") {
  const std::string error = "fake: error: it went wrong (in '/data/x.tar') (at offset 512)\n";
  CHECK(left_by(kCorrupt, {"work", "x"}) == error + "fake: run the same command again to continue\n");
  CHECK(left_by(kCorrupt, {"cache", "ls", "x"}) == error);
}

TEST_CASE("the message is text in --log json too, and is left by --soft-fail too") {
  CHECK(left_by(kCorrupt, {"cache", "ls", "x", "--log", "json"}).starts_with("fake: error: it went wrong"));
  CHECK(left_by(kCorrupt, {"work", "x", "--soft-fail"}).starts_with("fake: error: it went wrong"));
}

TEST_CASE("a command that is stopped leaves that") {
  CHECK(left_by(fail<shardkit::ErrorCode::cancelled>, {"work", "x"}) ==
        "fake: stopped by SIGINT\nfake: run the same command again to continue\n");
}

TEST_CASE("a wrong command line is left, without the advice to repeat it") {
  CHECK(left_by(succeed, {"work"}) == "fake: error: missing SRC\n");
  CHECK(left_by(succeed, {"wrok"}) == "fake: error: wrok: unknown verb; did you mean work?\n");
}

TEST_CASE("a success leaves the file as it is") {
  CHECK(left_by(succeed, {"work", "x"}).starts_with("what an earlier"));
}

TEST_CASE("nothing is created, and only a regular file is written to") {
  const TempDir dir;
  CHECK(run_fake(kCorrupt, {"work", "x"}, dir.path("absent")).exit_code == 4);
  CHECK_FALSE(std::filesystem::exists(dir.path("absent")));

  write_file(dir.path("file"), "kept");
  std::filesystem::create_symlink("file", dir.path("link"));
  CHECK(run_fake(kCorrupt, {"work", "x"}, dir.path("link")).exit_code == 4);
  CHECK(read_file(dir.path("file")) == "kept");

  REQUIRE(::mkfifo(dir.path("pipe").c_str(), 0600) == 0);
  CHECK(run_fake(kCorrupt, {"work", "x"}, dir.path("pipe")).exit_code == 4);
  CHECK(run_fake(kCorrupt, {"work", "x"}, dir.path()).exit_code == 4);
}

TEST_CASE("a message has 4096 bytes at most: the error is cut between characters, how to go on stays whole") {
  const Log log;
  std::string error(4090, 'x');
  for (int i = 0; i < 100; ++i) error += "\xe2\x82\xac";  // three bytes each
  write_termination_message(log.path(), error, "");
  CHECK(log.text() == error.substr(0, 4093) + "\n");
  write_termination_message(log.path(), error, "go on");
  CHECK(log.text() == error.substr(0, 4089) + "\ngo on\n");
}

TEST_CASE("bytes that are not UTF-8 are replaced") {
  const Log log;
  write_termination_message(log.path(), "a\xff\xe2\x82z", "");
  CHECK(log.text() == "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\n");
}
