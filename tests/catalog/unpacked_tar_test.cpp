#include "catalog/unpacked_tar.hpp"

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/compressed.hpp"
#include "support/files.hpp"
#include "support/tar_builder.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit::io;
using shardkit::test::TarBuilder;

namespace {

struct Fixture {
  TempDir dir;
  std::unique_ptr<FileSystem> files = posix_file_system();
  Context context;

  std::string packed(const std::string& bytes, const char* filter = "gzip") const {
    const std::string path = dir.path("x.tar.gz");
    write_file(path, compressed(bytes, filter));
    std::filesystem::create_directories(dir.path("scratch"));
    return path;
  }
  UnpackedTar unpacked(const std::string& path) {
    return {std::make_unique<FileSource>(path), path, dir.path("scratch"), *files, context};
  }
  Error failure(const std::string& path) {
    try {
      const UnpackedTar tar = unpacked(path);
    } catch (const Error& error) {
      CHECK(std::filesystem::is_empty(dir.path("scratch")));
      return error;
    }
    FAIL("unpacked as if nothing were wrong");
    return {ErrorCode::usage, ""};
  }
};

const TarBuilder kTar = TarBuilder().sample("a", std::string(700'000, 'i'), "1").sample("b", "j", "2").end();

}  // namespace

TEST_CASE("the tar lies on disk as it was before it was compressed, until the object goes") {
  for (const char* filter : {"gzip", "zstd", "xz", "bzip2"}) {
    CAPTURE(filter);
    Fixture f;
    const std::string path = f.packed(kTar.bytes(), filter);
    {
      const UnpackedTar tar = f.unpacked(path);
      CHECK(tar.bytes() == kTar.bytes().size());
      CHECK(read_file(tar.path()) == kTar.bytes());
    }
    CHECK(std::filesystem::is_empty(f.dir.path("scratch")));
  }
}

TEST_CASE("frames without data in front of zstd and lz4 are passed over") {
  const std::string frame("\x5f\x2a\x4d\x18\x04\0\0\0size", 12);
  const std::string large = std::string("\x50\x2a\x4d\x18\0\0\x10\0", 8) + std::string(1U << 20U, 'x');
  for (const char* filter : {"zstd", "lz4"}) {
    for (const std::string& frames : {frame, frame + large + frame}) {
      CAPTURE(filter);
      Fixture f;
      const std::string path = f.packed(kTar.bytes(), filter);
      write_file(path, frames + read_file(path));
      CHECK(read_file(f.unpacked(path).path()) == kTar.bytes());
    }
  }
}

TEST_CASE("a compressed file that is cut or damaged is refused with the place") {
  Fixture f;
  const std::string path = f.packed(kTar.bytes());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const Error cut = f.failure(path);
  CHECK(cut.code() == ErrorCode::corrupt);
  CHECK(cut.path() == path);
  CHECK(cut.offset().has_value());
}

TEST_CASE("what is no tar inside is refused at once") {
  Fixture f;
  CHECK(f.failure(f.packed(std::string(3'000'000, 'x'))).code() == ErrorCode::corrupt);
}

TEST_CASE("a small file that unpacks to zeros without end is followed 8 MiB far and refused") {
  Fixture f;
  const std::string path = f.packed(std::string(100U << 20U, '\0'));
  CHECK(std::filesystem::file_size(path) < 200'000);
  const Error error = f.failure(path);
  CHECK(error.code() == ErrorCode::corrupt);
  CHECK(std::string(error.what()).find("unpacks to zeros") != std::string::npos);
  CHECK(f.context.progress().bytes < 10U << 20U);
}

TEST_CASE("zeros behind the archive are not followed either, and an empty tar is a tar") {
  Fixture f;
  const std::string path = f.packed(kTar.bytes() + std::string(100U << 20U, '\0'));
  const UnpackedTar tar = f.unpacked(path);
  CHECK(tar.bytes() < 10U << 20U);
  CHECK(f.unpacked(f.packed(std::string(10'240, '\0'))).bytes() == 10'240);
}

TEST_CASE("a member that claims a hundred times the packed bytes and more is a bomb, refused before a byte of it") {
  Fixture f;
  const std::string claim = std::string("\x80\0\0\0\0", 5) + std::string("\0\0\0\x80\0\0\0", 7);  // 2 GiB
  const Error error = f.failure(
      f.packed(TarBuilder().sample("a", "i", "1").member({.name = "b.jpg", .size_field = claim}, "x").bytes() +
               std::string(20U << 20U, '\0')));
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK(error.offset() == 2048U);
  CHECK(std::string(error.what()).find("'b.jpg' at byte 2048 of its content has size 2.00 GiB") != std::string::npos);
}

TEST_CASE("data that libarchive would hand to another program to unpack is taken as it is") {
  Fixture f;
  const std::string path = f.dir.path("x.tar.gz");
  std::filesystem::create_directories(f.dir.path("scratch"));
  write_file(path, "LRZI" + std::string(4096, 'x'));
  CHECK(std::string(f.failure(path).what()).find("not a tar header") != std::string::npos);
}

TEST_CASE("what would fill the disk is refused with what it is of") {
  Fixture f;
  try {
    require_space_to_unpack(f.dir.path(), std::uint64_t{1} << 60U, "7 compressed inputs");
    FAIL("there is an exbibyte");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::no_space);
    CHECK(std::string(error.what()).starts_with("7 compressed inputs cannot be unpacked: "));
  }
}

TEST_CASE("to salvage, what comes before the damage is unpacked, but nothing of a file that is damaged at its start") {
  Fixture f;
  std::string noise(700'000, 'i');
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>(i * i * 2654435761U >> 11U);
  const std::string whole = TarBuilder().sample("a", noise, "1").sample("b", noise, "2").end().bytes();
  const std::string path = f.packed(whole);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const auto unpack = [&] {
    return UnpackedTar(std::make_unique<io::FileSource>(path), path, f.dir.path("scratch"), *f.files, f.context, true)
        .bytes();
  };
  CHECK(unpack() > 0);
  CHECK(unpack() < whole.size());
  std::filesystem::resize_file(path, 20);
  CHECK_THROWS_AS(unpack(), Error);
}
