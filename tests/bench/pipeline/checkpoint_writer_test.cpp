#include <filesystem>

#include <doctest/doctest.h>

#include "bench/pipeline/step_loop.hpp"
#include "support/errors.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::io;
using shardkit_test::failure_of;

TEST_CASE("a checkpoint is written whole, and nothing of it stays") {
  const TempDir dir;
  const auto files = posix_file_system();
  for (const std::uint64_t bytes : {1ULL, 1000ULL, (8ULL << 20U) + 5}) {
    CheckpointWriter writer(*files, dir.path(), bytes);
    writer.write({});
    writer.write({});
    CHECK(writer.count() == 2);
    CHECK(writer.bytes() == bytes);
    CHECK(writer.longest() <= writer.seconds());
    CHECK(writer.longest() * 2 >= writer.seconds());
  }
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("a stop breaks it off, and it does not count") {
  const TempDir dir;
  std::stop_source stop;
  stop.request_stop();
  const auto files = posix_file_system();
  CheckpointWriter writer(*files, dir.path(), 1000);
  writer.write(stop.get_token());
  CHECK(writer.count() == 0);
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("a folder that is not there is an error before anything is written") {
  const auto files = posix_file_system();
  CHECK(failure_of([&] { CheckpointWriter(*files, "/nowhere", 1000); }) == ErrorCode::not_found);
}
