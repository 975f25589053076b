// What a whole node did: processors and memory.

#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"
#include "system/cpu.hpp"
#include "system/memory.hpp"

using namespace shardkit;
using namespace shardkit::system;

TEST_CASE("processors are busy unless they idle or wait; guests are not counted twice") {
  RecordedTree tree;
  tree.add("proc/stat",
           "cpu  100 20 30 1000 50 1 2 7 100 0\ncpu0 50 10 15 500 25 0 1 3 50 0\ncpu1 50 10 15 500 25 1 1 4 50 0\n"
           "intr 5\nprocs_running 3\nprocs_blocked 4\n");
  const auto times = read_cpu_times(tree);
  REQUIRE(times);
  CHECK(times->processors == 2);
  CHECK(times->busy_seconds == doctest::Approx(1.6));
  CHECK(times->total_seconds == doctest::Approx(12.1));
  CHECK(times->stolen_seconds == doctest::Approx(0.07));
  CHECK(times->blocked == 4);
}

TEST_CASE("without its first line /proc/stat tells nothing") {
  RecordedTree tree;
  CHECK_FALSE(read_cpu_times(tree));
  tree.add("proc/stat", "intr 5\n");
  CHECK_FALSE(read_cpu_times(tree));
}

TEST_CASE("memory in use, and what the kernel did for want of it") {
  RecordedTree tree;
  CHECK_FALSE(read_memory_use(tree));
  tree.add("proc/meminfo",
           "MemTotal: 1000 kB\nMemAvailable: 400 kB\nBuffers: 10 kB\nCached: 200 kB\nSwapCached: 5 kB\n");
  CHECK_FALSE(read_memory_use(tree)->major_faults);
  tree.add("proc/vmstat", "pswpin 3\npswpout 4\npgfault 100\npgmajfault 9\n");
  const auto use = read_memory_use(tree);
  REQUIRE(use);
  CHECK(use->total == 1000 * 1024);
  CHECK(use->available == 400 * 1024);
  CHECK(use->page_cache == 210 * 1024);
  CHECK(use->major_faults == 9);
  CHECK(use->swapped_pages == 7);
}
