#include <doctest/doctest.h>

#include "dataset/sharding/shard_cutter.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

TEST_CASE("shuffled shards need a thousand samples, or all where there are fewer") {
  CHECK(shuffle_buffer_for({true, 500, 100'000, 1'000'000}).samples == 1000);
  CHECK(shuffle_buffer_for({true, 500, 100'000, 1'000'000}).bytes == 10'000);
  CHECK(shuffle_buffer_for({true, 500, 300, 3'000}).samples == 300);
}

TEST_CASE("shards in runs of one class need ten classes") {
  CHECK(shuffle_buffer_for({false, 1300, 1'280'000, 1'280'000'000}).samples == 13'000);
  CHECK(shuffle_buffer_for({false, 1300, 1'280'000, 1'280'000'000}).bytes == 13'000'000);
  CHECK(shuffle_buffer_for({false, 1300, 2'000, 2'000}).samples == 2'000);
}

TEST_CASE("nothing needs no buffer") { CHECK(shuffle_buffer_for({}).samples == 0); }
