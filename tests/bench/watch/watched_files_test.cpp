#include <doctest/doctest.h>
#include <unistd.h>

#include "bench/watch/watched_files.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::bench;

TEST_CASE("a file, a folder's files at any depth, nothing") {
  const TempDir dir;
  write_file(dir.path("a"), "x");
  write_file(dir.path("b/c/d"), "y");
  CHECK(WatchedFiles(dir.path("a")).count() == 1);
  CHECK(WatchedFiles(dir.path("")).count() == 2);
  CHECK(WatchedFiles(dir.path("absent")).count() == 0);
  CHECK_FALSE(WatchedFiles(dir.path("absent")).look());
  CHECK_FALSE(WatchedFiles().look());
}

TEST_CASE("of many files 64 are taken, evenly") {
  const TempDir dir;
  for (int i = 0; i < 200; ++i) write_file(dir.path(std::to_string(i)), "x");
  CHECK(WatchedFiles(dir.path("")).count() == 64);
}

TEST_CASE("files larger than all may be together are left out") {
  const TempDir dir;
  write_file(dir.path("large"), "");
  REQUIRE(::truncate(dir.path("large").c_str(), (off_t{4} << 30U) + 1) == 0);
  CHECK(WatchedFiles(dir.path("large")).count() == 0);
  write_file(dir.path("small"), "x");
  CHECK(WatchedFiles(dir.path("")).count() == 1);
}

TEST_CASE("of files too large together as many are taken as may be") {
  const TempDir dir;
  for (int i = 0; i < 8; ++i) {
    write_file(dir.path(std::to_string(i)), "");
    REQUIRE(::truncate(dir.path(std::to_string(i)).c_str(), off_t{1} << 30U) == 0);
  }
  CHECK(WatchedFiles(dir.path("")).count() == 4);
}

TEST_CASE("what was just written is in the page cache, unless the system does not tell") {
  const TempDir dir;
  write_file(dir.path("a"), std::string(100'000, 'x'));
  const auto share = WatchedFiles(dir.path("")).look();
  if (!share) {
    MESSAGE("SKIPPED: this kernel or file system does not report what is cached");
    return;
  }
  CHECK(*share == 1);
}
