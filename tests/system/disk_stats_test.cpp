#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"
#include "system/block_device.hpp"

using namespace shardkit;
using namespace shardkit::system;

TEST_CASE("counters of a device are read by its name") {
  RecordedTree tree;
  tree.add("proc/diskstats",
           " 259       0 nvme0n1 10 1 80 5 20 2 160 7 0 9 12 0 0 0 0 0 0\n"
           " 259       1 nvme0n1p1 1000 0 2000000 4500 7 0 56 3 2 4000 9000 0 0 0 0 0 0\n");
  const auto counters = read_disk_counters("nvme0n1p1", tree);
  REQUIRE(counters);
  CHECK(counters->reads == 1000);
  CHECK(counters->read_bytes == 2000000ULL * 512);
  CHECK(counters->read_wait_seconds == doctest::Approx(4.5));
  CHECK(counters->queue_seconds == doctest::Approx(9.0));
  CHECK(counters->writes == 7);
  CHECK(counters->written_bytes == 56ULL * 512);
  CHECK(counters->write_wait_seconds == doctest::Approx(0.003));
  CHECK(counters->busy_seconds == doctest::Approx(4.0));
}

TEST_CASE("a device without counters, no device, no /proc") {
  RecordedTree tree;
  CHECK_FALSE(read_disk_counters("sda", tree));
  tree.add("proc/diskstats", " 8 0 sda 1 2\n");
  CHECK_FALSE(read_disk_counters("sda", tree));
  CHECK_FALSE(read_disk_counters("", tree));
}
