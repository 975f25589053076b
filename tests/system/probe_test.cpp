#include "system/probe.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "support/recorded_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::system;

TEST_CASE("the living machine: texts lose white space at their end, what is not there is empty") {
  const TempDir dir;
  std::ofstream(dir.path("text")) << "one\ntwo \n\n";
  CHECK(live_probe().text(dir.path("text")) == "one\ntwo");
  CHECK_FALSE(live_probe().text(dir.path("absent")));
  CHECK_FALSE(live_probe().text(dir.path()));
  CHECK(live_probe().text("/proc/self/status"));
}

TEST_CASE("a FIFO without a writer keeps nobody waiting") {
  const TempDir dir;
  REQUIRE(::mkfifo(dir.path("fifo").c_str(), 0600) == 0);
  CHECK(live_probe().text(dir.path("fifo")) == "");
  CHECK(live_probe().stat(dir.path("fifo"))->kind == PathFacts::Kind::other);
}

TEST_CASE("the living machine: folders in order, links, kinds, space") {
  const TempDir dir;
  std::ofstream(dir.path("b")) << "12345";
  std::filesystem::create_directory(dir.path("a"));
  std::filesystem::create_symlink("b", dir.path("link"));
  const Probe& probe = live_probe();
  CHECK(probe.names(dir.path()) == std::vector<std::string>{"a", "b", "link"});
  CHECK(probe.names(dir.path("absent")).empty());
  CHECK(probe.resolve(dir.path("link")) == probe.resolve(dir.path("b")));
  CHECK_FALSE(probe.resolve(dir.path("absent")));
  CHECK(errno == ENOENT);
  CHECK(probe.stat(dir.path("link"))->size == 5);
  CHECK(probe.stat(dir.path("a"))->kind == PathFacts::Kind::folder);
  CHECK(probe.stat("/dev/null")->kind == PathFacts::Kind::other);
  const auto space = probe.space(dir.path());
  REQUIRE(space);
  CHECK(space->total_bytes >= space->free_bytes);
  CHECK_FALSE(probe.attribute(dir.path("b"), "user.absent"));
  if (::setxattr(dir.path("b").c_str(), "user.test", "x\0y", 3, 0) == 0) {  // tmpfs of old kernels knows none
    CHECK(probe.attribute(dir.path("b"), "user.test") == std::string("x\0y", 3));
  }
}

TEST_CASE("refused system calls are asked for without side effects") {
  for (const SystemCall call : {SystemCall::io_uring_setup, SystemCall::cachestat}) {
    const int error = live_probe().try_call(call);
    CHECK((error == EFAULT || error == EBADF || error == EPERM || error == ENOSYS || error == EACCES));
  }
}

TEST_CASE("a recorded tree follows links and '..' as the kernel does, puts numbers in and takes paths away") {
  RecordedTree tree;
  tree.record(
      "# comment\n"
      "/sys/devices/a/disk/part/uevent:\n  MAJOR=1\n  DEVNAME=part\n"
      "/sys/devices/a/disk/queue/rotational: 0\n"
      "/sys/dev/block/1:2 -> ../../devices/a/disk/part\n"
      "/cpu/cpu{8-10}/siblings: {n-8},{n},{n+8}\n"
      "answer statfs /dev/shm: magic=1021994 total=64 free=32\n");
  CHECK(tree.text("/sys/dev/block/1:2/uevent") == "MAJOR=1\nDEVNAME=part");
  CHECK(tree.text("/sys/dev/block/1:2/../queue/rotational") == "0");
  CHECK(tree.resolve("/sys/dev/block/1:2") == "/sys/devices/a/disk/part");
  CHECK_FALSE(tree.resolve("/sys/dev/block/9:9"));
  CHECK(tree.names("/sys/dev/block/1:2/..") == std::vector<std::string>{"part", "queue"});
  CHECK(tree.text("/cpu/cpu9/siblings") == "1,9,17");
  CHECK(tree.space("/dev/shm")->free_bytes == 32);
  CHECK_FALSE(tree.without("/sys").text("/sys/dev/block/1:2/uevent"));
  CHECK(tree.text("/cpu/cpu9/siblings"));
  CHECK_THROWS(tree.record("no line at all\n"));
  CHECK_THROWS(RecordedTree::machine("absent"));
}
