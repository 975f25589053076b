#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/recorded_tree.hpp"
#include "system/network_storage.hpp"

using namespace shardkit::system;

namespace {

using Pids = std::vector<std::uint64_t>;

/// Two FUSE mounts, /data with device 0:41 and /other with 0:42, beside a disk.
RecordedTree two_mounts() {
  RecordedTree tree;
  tree.add("/proc/self/mountinfo",
           "20 1 254:0 / / rw - ext4 /dev/vda rw\n"
           "30 20 0:30 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n"
           "40 20 0:41 / /data rw - fuse.rclone s3:set rw\n"
           "41 20 0:42 / /other rw - fuse.juicefs JuiceFS:other rw\n");
  return tree;
}

void add_server(RecordedTree& tree, int pid, const std::string& mount_point, int connection) {
  tree.link(fmt::format("/proc/{}/fd/0", pid), "/dev/null");
  tree.link(fmt::format("/proc/{}/fd/7", pid), "/dev/fuse");
  tree.add(fmt::format("/proc/{}/cmdline", pid), std::string("mount") + '\0' + mount_point + '\0');
  if (connection > 0) {
    tree.add(fmt::format("/proc/{}/fdinfo/7", pid), fmt::format("pos:\t0\nfuse_connection:\t{}\n", connection));
  }
}

}  // namespace

TEST_CASE("the kernel names the mount that a process serves") {
  RecordedTree tree = two_mounts();
  add_server(tree, 70, "set", 41);
  add_server(tree, 71, "/data", 42);  // whatever its command line says
  CHECK(fuse_servers("/data", tree) == Pids{70});
  CHECK(fuse_servers("/other", tree) == Pids{71});
}

TEST_CASE("on an older kernel the command line names the mount point") {
  RecordedTree tree = two_mounts();
  add_server(tree, 70, "/data", 0);
  add_server(tree, 71, "/data2", 0);
  CHECK(fuse_servers("/data", tree) == Pids{70});
  CHECK(fuse_servers("/other", tree).empty());
}

TEST_CASE("on an older kernel the only server serves the only mount") {
  RecordedTree tree;
  tree.add("/proc/self/mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n40 20 0:41 / /data rw - fuse.s3fs s3fs rw\n");
  add_server(tree, 70, "bucket", 0);
  CHECK(fuse_servers("/data", tree) == Pids{70});
  RecordedTree two = two_mounts();
  add_server(two, 70, "bucket", 0);
  CHECK(fuse_servers("/data", two).empty());
}

TEST_CASE("a disk, a machine without /proc, and a server of another container have no process") {
  RecordedTree tree = two_mounts();
  add_server(tree, 70, "/data", 41);
  CHECK(fuse_servers("/", tree).empty());
  CHECK(fuse_servers("/data", RecordedTree()).empty());
  CHECK(fuse_servers("/data", two_mounts()).empty());
}
