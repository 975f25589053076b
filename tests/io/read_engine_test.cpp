#include "io/read_engine.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/file.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;

namespace {

constexpr std::size_t kMost = 20000;

/// 10,001 bytes in which every position is recognizable; no multiple of any alignment.
std::string pattern(unsigned length = 10001) {
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += static_cast<char>(i % 251);
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

/// One read by itself.
std::string read_one(ReadLane& lane, const std::shared_ptr<const ReadFile>& file, std::uint64_t offset,
                     std::size_t length) {
  lane.submit({file.get(), offset, length, 17});
  CHECK(lane.under_way() == 1);
  const ReadCompletion done = lane.wait();
  CHECK(lane.under_way() == 0);
  CHECK(done.tag == 17);
  CHECK(done.offset == offset);
  CHECK(done.kernel_reads >= 1);
  CHECK(done.finished >= done.started);
  return std::string(as_text(done.bytes));
}

void check_reads(const ReadEngine& engine, const std::string& path, const std::string& expected) {
  const auto file = engine.open(path);
  const auto lane = engine.make_lane(kMost);
  CHECK(file->size() == expected.size());
  for (const std::uint64_t offset : {0U, 1U, 511U, 512U, 4096U, 9999U, 10000U}) {
    for (const std::size_t length : {1U, 2U, 512U, 4096U, 10001U}) {
      const std::size_t within = std::min<std::size_t>(length, expected.size() - offset);
      CHECK(read_one(*lane, file, offset, within) == expected.substr(offset, within));
    }
  }
  CHECK(code_of([&] { lane->submit({file.get(), expected.size(), 1, 0}); }) == ErrorCode::io);
  CHECK(code_of([&] { lane->submit({file.get(), 1ULL << 40U, 10, 0}); }) == ErrorCode::io);
}

/// Calls `test` for every engine of these kinds, through the cache and directly, that this machine has.
void for_each_engine(const std::string& path, const std::function<void(const ReadEngine&)>& test,
                     const std::vector<EngineKind>& kinds = {EngineKind::pread, EngineKind::mmap, EngineKind::uring}) {
  for (const EngineKind kind : kinds) {
    for (const bool direct : {false, true}) {
      if (kind == EngineKind::mmap && direct) continue;
      CAPTURE(enum_name(kind));
      CAPTURE(direct);
      std::unique_ptr<ReadEngine> engine;
      try {
        engine =
            make_read_engine(kind, {.direct = direct, .random = direct, .depth = engine_takes_depth(kind) ? 4U : 1U});
        engine->open(path);
      } catch (const Error& error) {
        MESSAGE("SKIPPED: ", error.what());
        continue;
      }
      test(*engine);
    }
  }
}

}  // namespace

TEST_CASE("every engine returns the asked bytes, whatever their alignment, up to the end") {
  const TempDir dir;
  write_file(dir.path("data"), pattern());
  for_each_engine(dir.path("data"),
                  [&](const ReadEngine& engine) { check_reads(engine, dir.path("data"), pattern()); });
}

TEST_CASE("uring has as many reads in flight as its depth, and each delivers its own bytes") {
  const TempDir dir;
  const std::string whole = pattern(300000);
  write_file(dir.path("data"), whole);
  for_each_engine(dir.path("data"), [&](const ReadEngine& engine) {
    const auto file = engine.open(dir.path("data"));
    const auto lane = engine.make_lane(kMost);
    std::map<std::uint64_t, bool> seen;
    std::uint64_t next = 0;
    while (seen.size() < 100) {
      while (lane->under_way() < engine.depth() && next < 100) {
        lane->submit({file.get(), next * 2999, 2999, next});
        ++next;
      }
      const ReadCompletion done = lane->wait();
      CHECK(as_text(done.bytes) == whole.substr(done.tag * 2999, 2999));
      CHECK(seen.emplace(done.tag, true).second);
    }
    lane->submit({file.get(), 0, 1000, 0});  // what nobody waits for does not outlive the lane
  });
}

TEST_CASE("a file that shrinks under the reader is an error that says where it ended") {
  const TempDir dir;
  const auto test_cut_at = [&](std::uint64_t cut, const std::vector<EngineKind>& kinds) {
    write_file(dir.path("data"), pattern());
    const auto test = [&](const ReadEngine& engine) {
      write_file(dir.path("data"), pattern());
      const auto file = engine.open(dir.path("data"));
      const auto lane = engine.make_lane(kMost);
      std::filesystem::resize_file(dir.path("data"), cut);
      CHECK(read_one(*lane, file, 0, 4096) == pattern().substr(0, 4096));
      lane->submit({file.get(), 4000, 6001, 0});
      try {
        lane->wait();
        FAIL("read what is not there");
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::io);
        CHECK(error.offset() == cut);
        CHECK(error.path() == dir.path("data"));
      }
    };
    for_each_engine(dir.path("data"), test, kinds);
  };
  test_cut_at(9000, {EngineKind::pread, EngineKind::mmap, EngineKind::uring});  // in the last page
  test_cut_at(5000, {EngineKind::pread, EngineKind::uring});                    // behind it a mapping ends in SIGBUS
}

TEST_CASE("a failed read names path and offset") {
  const TempDir dir;
  for (const EngineKind kind : {EngineKind::pread, EngineKind::uring}) {  // a folder opens, but gives no bytes
    std::unique_ptr<ReadEngine> engine;
    try {
      engine = make_read_engine(kind, {});
    } catch (const Error& error) {
      MESSAGE("SKIPPED: ", error.what());
      continue;
    }
    const auto lane = engine->make_lane(kMost);
    const ReadFile folder(File::open_read(dir.path()));
    lane->submit({&folder, 8, 8, 0});
    try {
      lane->wait();
      FAIL("a folder was read");
    } catch (const Error& error) {
      CHECK(error.path() == dir.path());
      CHECK(error.offset() == 8);
      CHECK(std::string(error.what()).find("at byte 8") != std::string::npos);
    }
  }
}

TEST_CASE("direct reads of a file in memory are refused, not imitated") {
  const std::string path = "/dev/shm/shardkit-direct-" + std::to_string(::getpid());
  write_file(path, pattern());
  CHECK(code_of([&] { make_read_engine(EngineKind::pread, {.direct = true})->open(path); }) == ErrorCode::unsupported);
  std::filesystem::remove(path);
}

TEST_CASE("an engine that cannot do what is asked is refused") {
  CHECK(code_of([] { make_read_engine(EngineKind::mmap, {.direct = true}); }) == ErrorCode::unsupported);
  CHECK(code_of([] { make_read_engine(EngineKind::pread, {.depth = 2}); }) == ErrorCode::unsupported);
}

TEST_CASE("missing files are errors for every kind of engine") {
  const TempDir dir;
  write_file(dir.path("data"), pattern());
  for_each_engine(dir.path("data"), [](const ReadEngine& engine) {
    CHECK(code_of([&] { engine.open("/no/such/file"); }) == ErrorCode::not_found);
  });
}

TEST_CASE("what cannot be mapped is refused, with the engine that reads it") {
  CHECK(code_of([] { make_read_engine(EngineKind::mmap, {})->open("/dev/shm"); }) == ErrorCode::unsupported);
}

TEST_CASE("the window of a read fits into the memory for it, in steps of disks and in pages of 4 to 64 KiB") {
  const TempDir dir;
  write_file(dir.path("data"), std::string(300'000, 'x'));
  for (std::uint32_t step = 1; step <= 65536; step *= 2) {
    const ReadFile file(File::open_read(dir.path("data")), step);
    for (const std::uint64_t offset : {0, 1, 511, 4095, 4096, 65535, 65536, 200'001}) {
      for (const std::size_t length : {1, 512, 4096, 65536, 90'000}) {
        const ReadWindow window = file.window(offset, length);
        REQUIRE(window.begin % step == 0);
        REQUIRE(window.length % step == 0);
        REQUIRE(window.begin + window.skip == offset);
        REQUIRE(window.skip + window.wanted <= window.length);
        REQUIRE(window.length <= window_bytes(length, step));
      }
    }
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
