#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "io/file_system.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;

TEST_CASE("a patch file is written in any order, and keeps what an earlier one wrote") {
  const TempDir dir;
  const auto files = posix_file_system();
  files->open_patch(dir.path("x"))->write_at(4, as_bytes("efgh"));
  const auto file = files->open_patch(dir.path("x"));
  file->write_at(0, as_bytes("abcd"));
  file->sync();
  CHECK(read_file(dir.path("x")) == "abcdefgh");
  file->resize(3);
  CHECK(read_file(dir.path("x")) == "abc");
}

TEST_CASE("a patch file has one writer; a name that passed to another file meanwhile is that file's") {
  const TempDir dir;
  const auto files = posix_file_system();
  auto first = files->open_patch(dir.path("x"));
  CHECK(files->open_patch(dir.path("x")) == nullptr);
  files->rename(dir.path("x"), dir.path("final"));
  const auto second = files->open_patch(dir.path("x"));
  REQUIRE(second != nullptr);
  second->write_at(0, as_bytes("new"));
  CHECK(read_file(dir.path("final")).empty());
}

TEST_CASE("a patch file is never a link's target") {
  const TempDir dir;
  write_file(dir.path("elsewhere"), "precious");
  std::filesystem::create_symlink(dir.path("elsewhere"), dir.path("x"));
  CHECK_THROWS_AS(posix_file_system()->open_patch(dir.path("x")), Error);
  CHECK(read_file(dir.path("elsewhere")) == "precious");
}

TEST_CASE("several append to one file, each write in one piece") {
  const TempDir dir;
  const auto files = posix_file_system();
  const auto one = files->open_append(dir.path("log"));
  const auto two = files->open_append(dir.path("log"));
  one->write(as_bytes("1\n"));
  two->write(as_bytes("2\n"));
  one->write(as_bytes("3\n"));
  CHECK(read_file(dir.path("log")) == "1\n2\n3\n");
}
