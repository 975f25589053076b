#include <doctest/doctest.h>

#include "staging/stage_copier.hpp"

using namespace shardkit;
using namespace shardkit::staging;

namespace {

constexpr std::uint64_t kPlenty = 1ULL << 40U;

void took(RangeSize& size, int times, double first_byte) {
  for (int i = 0; i < times; ++i) size.took(first_byte, 1.0);
}

}  // namespace

TEST_CASE("requests whose first byte takes long grow, up to four times") {
  RangeSize size(100);
  took(size, 8, 0.01);
  CHECK(size.bytes(kPlenty, 1) == 100);
  took(size, 8, 0.1);
  CHECK(size.bytes(kPlenty, 1) == 200);
  took(size, 80, 0.1);
  CHECK(size.bytes(kPlenty, 1) == 400);
}

TEST_CASE("a slow answer now and then is no reason") {
  RangeSize size(100);
  for (int i = 0; i < 20; ++i) {
    took(size, 7, 0.1);
    took(size, 1, 0.01);
  }
  CHECK(size.bytes(kPlenty, 1) == 100);
}

TEST_CASE("near the end every request under way has its share") {
  RangeSize size(100);
  took(size, 80, 0.1);
  CHECK(size.bytes(1200, 4) == 300);
  CHECK(size.bytes(1200, 64) == 100);
  CHECK(size.bytes(0, 4) == 100);
}

TEST_CASE("who is asked for fewer requests goes back to where he began") {
  RangeSize size(100);
  took(size, 80, 0.1);
  size.throttled();
  CHECK(size.bytes(kPlenty, 1) == 100);
}
