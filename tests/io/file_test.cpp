#include "io/file.hpp"

#include <array>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "io/temporary_folder.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit_test;

TEST_CASE("reads at any offset, short only at the end") {
  const TempDir dir;
  write_file(dir.path("x"), "0123456789");
  FileSource source(dir.path("x"));
  CHECK(source.size() == 10);
  std::array<std::byte, 4> buffer{};
  CHECK(source.read_at(3, buffer) == 4);
  CHECK(as_text(buffer) == "3456");
  CHECK(source.read_at(8, buffer) == 2);
  CHECK(source.read_at(10, buffer) == 0);
  CHECK(source.read_at(99, buffer) == 0);
}

TEST_CASE("what cannot be opened is named") {
  const TempDir dir;
  try {
    File::open_read(dir.path("none"));
    FAIL("opened");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::not_found);
    CHECK(error.path() == dir.path("none"));
  }
}

TEST_CASE("a folder read as a file is an error, not an empty file") {
  const TempDir dir;
  CHECK_THROWS_AS(read_text_file(dir.path()), Error);
}

TEST_CASE("a text file beyond its limit is refused") {
  const TempDir dir;
  write_file(dir.path("x"), std::string(100'000, 'x'));
  CHECK(read_text_file(dir.path("x"), 100'000).size() == 100'000);
  CHECK_THROWS_AS(read_text_file(dir.path("x"), 99'999), Error);
}

TEST_CASE("a folder for temporary files that does not exist is named") {
  const TempDir dir;
  const std::string none = dir.path("none");
  const Environment variable("TMPDIR", none.c_str());
  const Failure failure = failure_of([] { temporary_folder(); });
  CHECK(failure == ErrorCode::not_found);
  CHECK(failure.says(none));
}
