#include "io/read_engine.hpp"

#include <filesystem>
#include <functional>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/error.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;

namespace {

/// 10,001 bytes in which every position is recognisable; no multiple of any alignment.
std::string pattern() {
  std::string text;
  for (unsigned i = 0; i < 10001; ++i) text += static_cast<char>(i % 251);
  return text;
}

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("no error came");
  return ErrorCode::usage;
}

void check_reads(const ReadFile& file, const std::string& expected) {
  AlignedBuffer buffer;
  CHECK(file.size() == expected.size());
  for (const std::uint64_t offset : {0U, 1U, 511U, 512U, 4096U, 9999U, 10000U}) {
    for (const std::size_t length : {1U, 2U, 512U, 4096U, 20000U}) {
      CHECK(as_text(file.read(offset, length, buffer)) == expected.substr(offset, length));
    }
  }
  CHECK(file.read(expected.size(), 10, buffer).empty());
  CHECK(file.read(1U << 30U, 10, buffer).empty());
}

}  // namespace

TEST_CASE("buffered reads return the asked bytes at every offset, cut at the end") {
  const TempDir dir;
  write_file(dir.path("data"), pattern());
  for (const bool random : {false, true}) {
    const auto engine = make_read_engine("pread", {.direct = false, .random = random});
    CHECK(engine->name() == "pread");
    check_reads(*engine->open(dir.path("data")), pattern());
  }
}

TEST_CASE("direct reads return the same bytes although offsets, lengths and the tail are unaligned") {
  const TempDir dir;
  write_file(dir.path("data"), pattern());
  std::unique_ptr<ReadFile> file;
  try {
    file = make_read_engine("pread", {.direct = true})->open(dir.path("data"));
  } catch (const Error& error) {
    MESSAGE("SKIPPED: ", error.what());
    return;
  }
  check_reads(*file, pattern());
}

TEST_CASE("direct reads of a file in memory are refused, not imitated") {
  const std::string path = "/dev/shm/shardkit-direct-" + std::to_string(::getpid());
  write_file(path, pattern());
  CHECK(code_of([&] { make_read_engine("pread", {.direct = true})->open(path); }) == ErrorCode::unsupported);
  std::filesystem::remove(path);
}

TEST_CASE("an engine that is not there is refused by name") {
  CHECK(code_of([] { make_read_engine("uring", {}); }) == ErrorCode::unsupported);
  CHECK(code_of([] { make_read_engine("", {}); }) == ErrorCode::unsupported);
}

TEST_CASE("a file that shrinks under the reader is an error that says where it ended") {
  const TempDir dir;
  for (const bool direct : {false, true}) {
    write_file(dir.path("data"), pattern());
    std::unique_ptr<ReadFile> file;
    try {
      file = make_read_engine("pread", {.direct = direct})->open(dir.path("data"));
    } catch (const Error& error) {
      MESSAGE("SKIPPED: ", error.what());
      continue;
    }
    std::filesystem::resize_file(dir.path("data"), 5000);
    AlignedBuffer buffer;
    CHECK(as_text(file->read(0, 5000, buffer)) == pattern().substr(0, 5000));
    try {
      file->read(4000, 3000, buffer);
      FAIL("read what is not there");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::io);
      CHECK(error.offset() == 5000);
      CHECK(error.path() == dir.path("data"));
    }
  }
}

TEST_CASE("missing files are errors for every kind of engine") {
  for (const bool direct : {false, true}) {
    CHECK(code_of([&] { make_read_engine("pread", {.direct = direct})->open("/no/such/file"); }) ==
          ErrorCode::not_found);
  }
}

TEST_CASE("aligned buffers start on a page and keep their memory when less is asked") {
  AlignedBuffer buffer;
  const MutableBytes first = buffer.get(10000);
  CHECK(reinterpret_cast<std::uintptr_t>(first.data()) % AlignedBuffer::kAlignment == 0);
  CHECK(buffer.get(10).data() == first.data());
  CHECK(buffer.get(10).size() == 10);
  CHECK(buffer.get(0).empty());
}
