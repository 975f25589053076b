#include <array>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/page_cache.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;

namespace {

fiemap_extent row(std::uint64_t offset, std::uint64_t length, std::uint32_t flags = 0) {
  fiemap_extent row{};
  row.fe_logical = offset;
  row.fe_length = length;
  row.fe_flags = flags;
  return row;
}

FileExtents extents_at(const std::string& path) { return file_extents(File::open_read(path)); }

}  // namespace

TEST_CASE("what lies between the rows of FIEMAP is hole, and their flags say what else touches no disk") {
  const std::array rows{row(0, 4096), row(8192, 4096, FIEMAP_EXTENT_UNWRITTEN),
                        row(12288, 131072, FIEMAP_EXTENT_ENCODED)};
  const FileExtents found = extents_of(rows, 0, 143360);
  CHECK(found.holes == 4096);
  CHECK(found.unwritten == 4096);
  CHECK(found.sparse() == 8192);
  CHECK(found.compressed == 131072);
  CHECK(extents_of(rows, 0, 10000).unwritten == 10000 - 8192);  // a block may reach beyond the end of the file
  CHECK(extents_of(rows, 9000, 20000).holes == 0);
  CHECK(extents_of(rows, 9000, 20000).unwritten == 12288 - 9000);
}

TEST_CASE("holes are found, before data, behind it and alone") {
  const TempDir dir;
  write_file(dir.path("sparse"), std::string(65536, 'x'));
  CHECK(extents_at(dir.path("sparse")).sparse() == 0);
  std::filesystem::resize_file(dir.path("sparse"), 65536 * 4);
  CHECK(extents_at(dir.path("sparse")).sparse() == 65536 * 3);
  write_file(dir.path("hole"), "");
  CHECK(extents_at(dir.path("hole")).sparse() == 0);
  std::filesystem::resize_file(dir.path("hole"), 65536);
  CHECK(extents_at(dir.path("hole")).sparse() == 65536);
}

TEST_CASE("a file of many extents is seen whole") {
  const TempDir dir;
  const std::string path = dir.path("comb");
  write_file(path, "");
  const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC), path);
  constexpr int kTeeth = 600;
  for (int i = 0; i < kTeeth; ++i) REQUIRE(::pwrite(file.fd(), "x", 1, i * 131072) == 1);
  CHECK(file_extents(file).sparse() > kTeeth * 60000ULL);
  CHECK(file_extents(file).sparse() < (kTeeth - 1) * 131072ULL);
}

TEST_CASE("what is allocated but was never written is no data") {
  const TempDir dir;
  const std::string path = dir.path("unwritten");
  write_file(path, std::string(65536, 'x'));
  const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC), path);
  if (::fallocate(file.fd(), 0, 65536, 65536) != 0) {
    MESSAGE("SKIPPED: this file system has no fallocate");
    return;
  }
  CHECK(file_extents(file).sparse() == 65536);
  REQUIRE(::pwrite(file.fd(), std::string(65536, 'y').data(), 65536, 65536) == 65536);
  CHECK(file_extents(file).sparse() == 0);
}
