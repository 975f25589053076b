#include "io/page_cache.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;

namespace {

constexpr std::size_t kSize = 1'000'000;

/// A file whose cache state can be changed; without one the caller skips, loudly.
std::optional<File> cacheable_file(const TempDir& dir) {
  write_file(dir.path("data"), std::string(kSize, 'x'));
  File file = File::open_read(dir.path("data"));
  if (lives_in_memory(file) || !cached_bytes(file)) {
    MESSAGE("SKIPPED: the temporary folder's file system cannot be cold; set TMPDIR to a disk");
    return std::nullopt;
  }
  return file;
}

ErrorCode code_of_drop(const File& file) {
  try {
    drop_from_cache(file);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("dropped, although that is impossible");
  return ErrorCode::usage;
}

}  // namespace

TEST_CASE("a file just written is cached, becomes cold although it was dirty, and warm again") {
  const TempDir dir;
  const auto file = cacheable_file(dir);
  if (!file) return;
  CHECK(cached_bytes(*file) == kSize);
  drop_from_cache(*file);
  CHECK(cached_bytes(*file) == 0);
  warm_cache(*file);
  CHECK(cached_bytes(*file) == kSize);
}

TEST_CASE("warming stops at its limit") {
  const TempDir dir;
  write_file(dir.path("data"), std::string(kSize, 'x'));
  const File file = File::open_read(dir.path("data"));
  int blocks = 0;
  CHECK_FALSE(warm_cache(file, [&] { return ++blocks <= 2; }));
  CHECK(blocks == 3);
  CHECK(warm_cache(file));
}

TEST_CASE("an empty file has nothing to cache") {
  const TempDir dir;
  write_file(dir.path("empty"), "");
  CHECK(cached_bytes(File::open_read(dir.path("empty"))) == 0);
}

TEST_CASE("pages that someone maps and uses stay, and that is an error, not a cold file") {
  const TempDir dir;
  const auto file = cacheable_file(dir);
  if (!file) return;
  void* const map = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED | MAP_POPULATE, file->fd(), 0);
  REQUIRE(map != MAP_FAILED);
  CHECK(code_of_drop(*file) == ErrorCode::unsupported);
  ::munmap(map, kSize);
  drop_from_cache(*file);
  CHECK(cached_bytes(*file) == 0);
}

TEST_CASE("tmpfs is recognized and refuses to be cold") {
  const std::string path = "/dev/shm/shardkit-test-" + std::to_string(::getpid());
  write_file(path, "in memory");
  {
    const File file = File::open_read(path);
    if (lives_in_memory(file)) {
      CHECK(code_of_drop(file) == ErrorCode::unsupported);
    } else {
      MESSAGE("SKIPPED: /dev/shm is no tmpfs here");
    }
  }
  std::filesystem::remove(path);
}

TEST_CASE("a user who neither owns a file nor may write it learns nothing about its residency") {
  if (::geteuid() != 0) {
    MESSAGE("SKIPPED: needs root to become somebody else");
    return;
  }
  const TempDir dir;
  write_file(dir.path("data"), std::string(kSize, 'x'));
  const File file = File::open_read(dir.path("data"));
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    ::_exit(cached_bytes(file) ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}
