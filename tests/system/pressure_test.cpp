#include <doctest/doctest.h>

#include "support/recorded_tree.hpp"
#include "system/memory.hpp"

using namespace shardkit;
using namespace shardkit::system;

TEST_CASE("pressure is read from its totals, not from its averages") {
  RecordedTree tree;
  tree.add("proc/pressure/io",
           "some avg10=99.00 avg60=0.19 avg300=3.92 total=113679539\nfull avg10=99.00 avg60=0.17 avg300=3.68 "
           "total=99965064\n");
  const auto pressure = read_pressures(tree, "/proc/pressure/").io;
  REQUIRE(pressure);
  CHECK(pressure->some_seconds == doctest::Approx(113.679539));
  CHECK(pressure->full_seconds == doctest::Approx(99.965064));
}

TEST_CASE("kernels before 5.13 have no line for all tasks of cpu") {
  RecordedTree tree;
  tree.add("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5000000");
  CHECK(read_pressures(tree, "/proc/pressure/").cpu->some_seconds == doctest::Approx(5));
  CHECK(read_pressures(tree, "/proc/pressure/").cpu->full_seconds == 0);
}

TEST_CASE("a kernel without pressure, or one that refuses it, tells none") {
  RecordedTree tree;
  CHECK_FALSE(read_pressures(tree, "/proc/pressure/").io);
  tree.add("proc/pressure/io", "");
  CHECK_FALSE(read_pressures(tree, "/proc/pressure/").io);
}
