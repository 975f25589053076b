#include "core/bytes.hpp"

#include <array>

#include <doctest/doctest.h>

using namespace shardkit;

TEST_CASE("a memory source reads what is there and no more") {
  MemorySource source(as_bytes("shardkit"));
  CHECK(source.size() == 8);
  std::array<std::byte, 5> buffer{};
  CHECK(source.read_at(0, buffer) == 5);
  CHECK(as_text(buffer) == "shard");
  CHECK(source.read_at(5, buffer) == 3);
  CHECK(as_text(Bytes(buffer).first(3)) == "kit");
  CHECK(source.read_at(8, buffer) == 0);
  CHECK(source.read_at(1000, buffer) == 0);
  CHECK(source.read_at(0, {}) == 0);
}
