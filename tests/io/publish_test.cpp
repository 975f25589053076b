#include "io/publish.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/forgetful_file_system.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;

TEST_CASE("a file appears when it is committed, and not before") {
  const TempDir dir;
  const auto files = posix_file_system();
  AtomicFile file(*files, dir.path("x"));
  file.write(as_bytes("new"));
  CHECK_FALSE(std::filesystem::exists(dir.path("x")));
  file.commit();
  CHECK(read_file(dir.path("x")) == "new");
  CHECK(tree_content(dir.path()).size() == 1);
}

TEST_CASE("without commit nothing is left") {
  const TempDir dir;
  const auto files = posix_file_system();
  { AtomicFile(*files, dir.path("x")).write(as_bytes("half")); }
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("a file that cannot be created is reported by its own name, not by the temporary's") {
  const TempDir dir;
  const auto files = posix_file_system();
  const std::string path = dir.path("none/x.json");
  const auto failure = shardkit_test::failure_of([&] { AtomicFile(*files, path); });
  CHECK(failure == ErrorCode::not_found);
  CHECK(failure.says("'" + path + "'"));
  CHECK_FALSE(failure.says(".tmp"));
}

TEST_CASE("a file that a user named does not take the place of a link, a folder, a pipe, a device or data") {
  const TempDir dir;
  CHECK(published_path(dir.path("new.json")) == dir.path("new.json"));
  write_file(dir.path("real.json"), "old");
  std::filesystem::create_symlink("real.json", dir.path("link.json"));
  publish(*posix_file_system(), published_path(dir.path("link.json")), as_bytes("new"));
  CHECK(std::filesystem::is_symlink(dir.path("link.json")));
  CHECK(read_file(dir.path("real.json")) == "new");

  const auto refused = [](const std::string& path) { return shardkit_test::failure_of([&] { published_path(path); }); };
  CHECK(refused(dir.path()) == ErrorCode::usage);
  CHECK(refused(dir.path()).says("is a folder; give a file in it"));
  REQUIRE(::mkfifo(dir.path("pipe").c_str(), 0600) == 0);
  CHECK(refused(dir.path("pipe")).says("is a pipe or a device; give a file"));
  CHECK(refused("/dev/null") == ErrorCode::usage);
  write_file(dir.path("shard.tar"), std::string("a.jpg\0\0", 7));
  CHECK(refused(dir.path("shard.tar")).says("contains data"));
}

TEST_CASE("small pieces are gathered and in order with large ones") {
  const TempDir dir;
  ForgetfulFileSystem files;
  AtomicFile file(files, dir.path("x"));
  const std::string large(1U << 20U, 'l');
  std::string expected;
  const std::uint64_t before = files.steps();
  for (int i = 0; i < 1000; ++i) {
    file.write(as_bytes("line\n"));
    expected += "line\n";
  }
  CHECK(files.steps() == before);
  file.write(as_bytes(large));
  file.write(as_bytes("end"));
  file.flush();
  CHECK(read_file(file.temp_path()) == expected + large + "end");
  file.commit();
  CHECK(read_file(dir.path("x")) == expected + large + "end");
}

TEST_CASE("commit replaces, commit_new leaves the first writer's file") {
  const TempDir dir;
  const auto files = posix_file_system();
  publish(*files, dir.path("x"), as_bytes("one"));
  publish(*files, dir.path("x"), as_bytes("two"));
  CHECK(read_file(dir.path("x")) == "two");
  AtomicFile late(*files, dir.path("x"));
  late.write(as_bytes("three"));
  CHECK_FALSE(late.commit_new());
  CHECK(read_file(dir.path("x")) == "two");
}

TEST_CASE("a temporary is hidden, never ends in .tar and is never the same twice") {
  const std::string one = temp_name("/a/s-000000.tar");
  CHECK(one.starts_with("/a/.s-000000.tar."));
  CHECK_FALSE(one.ends_with(".tar"));
  CHECK(temp_name("/a/s-000000.tar") != one);
}

TEST_CASE("programs of two containers, with one host name and one pid, never choose the same temporary") {
  const TempDir dir;
  const auto first_name = [&](const std::string& note) {
    const pid_t runtime = ::fork();
    if (runtime == 0) {
      if (::unshare(CLONE_NEWPID) != 0) ::_exit(1);
      const pid_t container = ::fork();
      if (container == 0) {
        write_file(dir.path(note), temp_name("x"));
        ::_exit(::getpid() == 1 ? 0 : 1);
      }
      int status = 1;
      ::waitpid(container, &status, 0);
      ::_exit(status == 0 ? 0 : 1);
    }
    int status = 1;
    ::waitpid(runtime, &status, 0);
    return status == 0;
  };
  if (!first_name("one") || !first_name("two")) {
    MESSAGE("SKIPPED: this user may not make pid namespaces");
    return;
  }
  CHECK(read_file(dir.path("one")) != read_file(dir.path("two")));
}

TEST_CASE("temporaries of a killed process are removed, those of a living one stay") {
  const TempDir dir;
  const auto files = posix_file_system();
  const AtomicFile living(*files, dir.path("living"));
  const pid_t child = ::fork();
  if (child == 0) {
    const auto mine = posix_file_system();
    new AtomicFile(*mine, dir.path("dead"));  // leaked on purpose: the process ends as if it were killed
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  CHECK(tree_content(dir.path()).size() == 2);
  CHECK(remove_stale_temps(*files, dir.path()) == 1);
  CHECK(std::filesystem::exists(living.temp_path()));
}

TEST_CASE("files that are no temporaries of ours stay, whatever their name") {
  const TempDir dir;
  const auto files = posix_file_system();
  for (const char* name : {".x.tmp", "x.host-1-1.tmp", ".x.host-1.tmp", ".x.host-a-b.tmp", ".tmp", ".a.b"}) {
    write_file(dir.path(name), "");
  }
  CHECK(remove_stale_temps(*files, dir.path()) == 0);
  CHECK(tree_content(dir.path()).size() == 6);
}

TEST_CASE("a power cut at any moment leaves the old file or the new one, whole") {
  for (std::uint64_t moment = 1;; ++moment) {
    const TempDir dir;
    ForgetfulFileSystem files;
    publish(files, dir.path("x"), as_bytes("old"));
    files.fail_at(moment, ErrorCode::io);
    try {
      publish(files, dir.path("x"), as_bytes("new content"));
    } catch (const Error&) {
    }
    const std::string left = files.after_power_cut()[dir.path("x")];
    CAPTURE(moment);
    CHECK((left == "old" || left == "new content"));
    if (!files.failed()) {
      CHECK(left == "new content");
      CHECK(moment > 4);
      return;
    }
  }
}

TEST_CASE("paths join with one slash and split at the last") {
  CHECK(join_path("a", "b") == "a/b");
  CHECK(join_path("a/", "b") == "a/b");
  CHECK(join_path("", "b") == "b");
  CHECK(parent_folder("a/b") == "a");
  CHECK(parent_folder("/b") == "/");
  CHECK(parent_folder("b") == ".");
}
