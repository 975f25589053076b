#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"
#include "system/network_storage.hpp"
#include "system/storage.hpp"

using namespace shardkit;
using namespace shardkit::system;

namespace {

constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;

Mount mount_at(const std::string& path, const Probe& probe) { return *mount_of(path, probe); }

}  // namespace

TEST_CASE("NFS: options, and what its client counted for this mount alone") {
  const RecordedTree tree = RecordedTree::machine("nfs");
  const NfsFacts nfs = read_nfs(mount_at("/data", tree), tree);
  CHECK(nfs.version == "4.2");
  CHECK(nfs.connections == 1);
  CHECK(nfs.read_size == 1048576);
  CHECK(nfs.recovery == "hard");
  CHECK(nfs.caches_attributes);
  REQUIRE(nfs.counters);
  CHECK(nfs.counters->operations == 120000);
  CHECK(nfs.counters->retransmissions == 451);
  CHECK(nfs.counters->timeouts == 12);
  CHECK(nfs.read_round_trip == doctest::Approx(0.012));
  CHECK(storage_of("/data", tree).read_ahead == 128 * 1024);
}

TEST_CASE("NFS: counters as they are, to take differences of") {
  const RecordedTree tree = RecordedTree::machine("nfs");
  const auto counters = read_nfs_counters(mount_at("/data", tree), tree);
  REQUIRE(counters);
  CHECK(counters->operations == 120000);
  CHECK(counters->retransmissions == 451);
  CHECK(counters->round_trip_seconds == doctest::Approx(1208.008));
  CHECK(counters->reads == 100000);
  CHECK(counters->read_bytes == 104857600000);
  CHECK(counters->read_round_trip_seconds == doctest::Approx(1200));
  CHECK_FALSE(read_nfs_counters(mount_at("/", tree), tree));
}

TEST_CASE("NFS mounted otherwise") {
  const Mount mount{"0:1", "/", "/d", "nfs", "s:/d", {"rw", "vers=3", "soft", "noac", "nconnect=16", "proto=udp"}};
  const NfsFacts nfs = read_nfs(mount, RecordedTree());
  CHECK(nfs.connections == 16);
  CHECK(nfs.recovery == "soft");
  CHECK_FALSE(nfs.caches_attributes);
  CHECK_FALSE(nfs.read_round_trip);
  CHECK_FALSE(nfs.counters);
}

TEST_CASE("Lustre: stripes of a file, tunables of the right mount, the least of all targets") {
  const RecordedTree tree = RecordedTree::machine("lustre");
  const LustreFacts facts = read_lustre(mount_at("/scratch", tree), "/scratch/train/a.tar", tree);
  CHECK(facts.stripe_count == 1);
  CHECK(facts.stripe_size == 1 << 20);
  CHECK(facts.read_requests_in_flight == 8);
  CHECK(facts.pages_per_request == 1024);
  CHECK(facts.checksums == 1);
  CHECK(facts.read_ahead == kGi);
  CHECK(facts.read_ahead_per_file == 256 << 20);
}

TEST_CASE("Lustre: the last component of a progressive layout counts; a folder is known by its first file") {
  const RecordedTree tree = RecordedTree::machine("lustre");
  const Mount mount = mount_at("/scratch", tree);
  const LustreFacts file = read_lustre(mount, "/scratch/train/b.tar", tree);
  CHECK(file.stripe_count == 4);
  CHECK(file.stripe_size == 4 << 20);
  CHECK(file.components == 2);
  CHECK(read_lustre(mount, "/scratch/train", tree).striped == "/scratch/train/a.tar");
  CHECK_FALSE(read_lustre(mount, "/scratch/other", tree).stripe_count);
}

TEST_CASE("bytes that are no layout of Lustre say nothing") {
  CHECK_FALSE(parse_lustre_layout(""));
  CHECK_FALSE(parse_lustre_layout("\xd0\x0b\xd1\x0b"));
  CHECK_FALSE(parse_lustre_layout(std::string(64, 'x')));
  const std::string lies("\xd0\x0b\xd6\x0b\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0", 18);  // 65535 components in 18 bytes
  CHECK_FALSE(parse_lustre_layout(lies));
}

TEST_CASE("JuiceFS: the cache by its control files") {
  const RecordedTree tree = RecordedTree::machine("juicefs");
  const FuseFacts facts = read_fuse(mount_at("/jfs", tree), tree);
  CHECK(facts.client == "JuiceFS");
  CHECK(facts.cache_folders == std::vector<std::string>{"/nvme0/jfs", "/nvme1/jfs"});
  CHECK(facts.cache_limit == 100 * kGi);
  CHECK(facts.cached == 100 * kGi);
  CHECK(facts.cache_hit_ratio == doctest::Approx(0.75));
}

TEST_CASE("JuiceFS: the cache by its command line where an ordinary user may not read them") {
  using namespace std::string_literals;
  RecordedTree tree = RecordedTree::machine("juicefs");
  tree.without("/jfs");
  tree.add("/proc/900/cmdline",
           "juicefs\0mount\0redis://x\0/jfs\0-o\0cache-dir=/c,ro\0--cache-size\0"
           "50G\0"s);
  const FuseFacts facts = read_fuse(mount_at("/jfs", tree), tree);
  CHECK(facts.cache_folders == std::vector<std::string>{"/c"});
  CHECK(facts.cache_limit == 50'000'000'000);
  CHECK_FALSE(facts.cached);
}

TEST_CASE("JuiceFS: a control file that is damaged is passed over") {
  RecordedTree tree = RecordedTree::machine("juicefs");
  for (const char* text : {"", "{", "[]", R"({"Chunk": 3})", R"({"Chunk": {"CacheDir": 1, "CacheSize": "x"}})"}) {
    tree.add("/jfs/.config", text);
    CHECK(read_fuse(mount_at("/jfs", tree), tree).cache_folders.empty());
  }
}

TEST_CASE("FUSE clients are known by the type of their mount, or its source") {
  const auto client = [](const char* type, const char* source) {
    return read_fuse({"0:1", "/", "/m", type, source, {}}, RecordedTree()).client;
  };
  CHECK(client("fuse.s3fs", "s3fs") == "s3fs");
  CHECK(client("fuse.sshfs", "user@ceph:/x") == "SSHFS");
  CHECK(client("fuse.gcsfuse", "bucket") == "gcsfuse");
  CHECK(client("fuse", "mountpoint-s3") == "Mountpoint for S3");
  CHECK(client("fuse.alluxio-fuse", "x") == "Alluxio");
  CHECK(client("fuse.else", "x") == "fuse.else");
}
